import { describe, expect, it } from 'vitest'
import { accepted, refused } from '../../../../services/domain/refusal.ts'
import { sealWith } from '../../../../services/platform/access/seal.ts'
import { idempotencyKeys } from '../../../../services/platform/http/idempotency-store.ts'
import { createDevice, listDevices } from '../../../../services/platform/postgres/registry/devices.ts'
import { changeTenant, withTenant } from '../../../../services/platform/postgres/transaction.ts'
import { useTenants } from '../../../support/registry/use-database.ts'

const { database, live } = await useTenants()

const at = Date.UTC(2026, 0, 1)
const seal = sealWith('a secret of at least thirty-two characters', 'kept answers')
const answer = { status: 201, apiVersion: 'earlier', body: '{"id":"dev_1"}' } as const
const claimOf = (key: string, fingerprint = 'same') => ({ ...live, key, fingerprint, secretAnswer: false })

describe('an Idempotency-Key', () => {
  it('is stored with the change: after a crash before the answer, a retry gets the answer', async () => {
    const claim = claimOf('kept')
    const process = idempotencyKeys(database, seal)
    expect(await process.begin(claim, at)).toEqual({ state: 'new' })
    expect(await withTenant(database, live, transaction => process.finishWithin(transaction, claim, answer))).toBe(true)
    expect(await idempotencyKeys(database, seal).begin(claimOf('kept'), at + 1)).toEqual({ state: 'done', answer })
    await process.finish(claim, { ...answer, status: 200 }, at + 2)
    expect(await process.begin(claimOf('kept'), at + 3)).toEqual({ state: 'done', answer })
  })

  it('that another process has taken over rolls back the change of the first', async () => {
    const claim = claimOf('taken')
    const [slow, quick] = [idempotencyKeys(database, seal), idempotencyKeys(database, seal)]
    await slow.begin(claim, at)
    expect(await quick.begin(claimOf('taken'), at + 120_000)).toEqual({ state: 'new' })
    const made = await changeTenant(database, live, async transaction => {
      await createDevice(transaction, { referenceId: 'slow', displayName: null, register: null, metadata: {} }, at)
      return (await slow.finishWithin(transaction, claim, answer))
        ? accepted(null)
        : refused('idempotency_in_progress', 'taken over')
    })
    expect(made.ok).toBe(false)
    const page = await withTenant(database, live, transaction =>
      listDevices(transaction, { referenceId: 'slow' }, { limit: 1, startingAfter: null, endingBefore: null }),
    )
    expect(page).toMatchObject({ ok: true, value: { items: [] } })
  })

  it('belongs to one request at a time, and is free after its refusal', async () => {
    const claim = claimOf('free')
    const keys = idempotencyKeys(database, seal)
    await keys.begin(claim, at)
    expect(await keys.begin(claimOf('free'), at)).toEqual({ state: 'running' })
    expect(await keys.begin(claimOf('free', 'other'), at)).toEqual({ state: 'mismatch' })
    await keys.abandon(claim)
    expect(await keys.begin(claimOf('free', 'other'), at)).toEqual({ state: 'new' })
  })
})
