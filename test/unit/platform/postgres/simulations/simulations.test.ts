import sql from 'sql-template-tag'
import { describe, expect, it } from 'vitest'
import {
  type ClaimedSimulation,
  claimSimulation,
  createSimulation,
  deleteExpiredSimulations,
  maxPendingSimulations,
  retrieveSimulation,
  type StoredSimulation,
  saveProgress,
} from '../../../../../services/platform/postgres/simulations/simulations.ts'
import { type Tenant, withTenant } from '../../../../../services/platform/postgres/transaction.ts'
import { useTestDatabase } from '../../../../support/registry/use-database.ts'
import { makeTenants } from '../../../../support/stores/postgres.ts'

const { database } = await useTestDatabase()
const at = Date.UTC(2026, 2, 1)
const dayMs = 86_400_000

const create = (tenant: Tenant, name: string, now = at) =>
  withTenant(database, tenant, transaction =>
    createSimulation(transaction, { request: `"${name}"`, requestHash: name, locationCount: 2 }, now),
  )

const created = async (tenant: Tenant, name: string, now = at): Promise<StoredSimulation> => {
  const stored = await create(tenant, name, now)
  if (stored === null) throw new Error('The simulation was not created.')
  return stored
}

const read = (tenant: Tenant, id: string, now = at) =>
  withTenant(database, tenant, transaction => retrieveSimulation(transaction, id, now))

/** Claim what is due until it is a simulation of a tenant. */
const claimed = async ({ accountId }: Tenant, durationMs = 60_000): Promise<ClaimedSimulation> => {
  for (;;) {
    const next = await claimSimulation(database.operator, durationMs)
    if (next === null) throw new Error('No simulation of the account is due.')
    if (next.accountId === accountId) return next
  }
}

const done = { doneCount: 2, nextDay: null, sums: '[]', status: 'DONE', refusal: null } as const

describe('a stored simulation', () => {
  it('is the same for an equal request until it is calculated', async () => {
    const { live } = await makeTenants(database)
    const [first, second] = await Promise.all(['same', 'same'].map(name => created(live, name)))
    // The oldest is claimed below.
    const other = await created(live, 'other', at + 1)
    expect(first?.id).toBe(second?.id)
    expect(other.id).not.toBe(first?.id)
    expect(first).toMatchObject({ request: '"same"', status: 'PENDING', doneCount: 0, nextDay: null, sums: null })
    await saveProgress(database.operator, await claimed(live), done)
    expect((await created(live, 'same')).id).not.toBe(first?.id)
  })

  it('is one of at most ten unfinished ones of an account and mode', async () => {
    const { live, test } = await makeTenants(database)
    const names = Array.from({ length: maxPendingSimulations }, (_, index) => `s${index}`)
    for (const name of names) await created(live, name)
    expect([await create(live, 'one more'), (await created(live, 's3')).request]).toEqual([null, '"s3"'])
    await created(test, 'of the other mode')
    const next = await claimed(live)
    expect(next.request).toBe('"s0"')
    await saveProgress(database.operator, next, { ...done, status: 'FAILED' })
    expect(await create(live, 'one more')).not.toBeNull()
  })

  it('takes progress from the process that has claimed it, and none after its end', async () => {
    const { live } = await makeTenants(database)
    const stored = await created(live, 'progress')
    const lost = await claimed(live, 0)
    const first = await claimed(live)
    expect([lost.attempts, first.attempts]).toEqual([1, 2])
    const part = { ...done, doneCount: 1, nextDay: 20_000, status: 'PENDING' } as const
    expect(await saveProgress(database.operator, lost, part)).toBe(false)
    expect(await saveProgress(database.operator, first, part)).toBe(true)
    expect(await saveProgress(database.operator, first, part)).toBe(false)
    const now = await read(live, stored.id)
    expect(now).toMatchObject({ doneCount: 1, nextDay: 20_000, sums: '[]', status: 'PENDING' })
    const second = await claimed(live)
    expect(second).toMatchObject({ doneCount: 1, nextDay: 20_000, sums: '[]', attempts: 1 })
    const refusal = { code: 'too_many_lines', message: 'Too many' } as const
    expect(await saveProgress(database.operator, second, { ...done, status: 'FAILED', refusal })).toBe(true)
    expect(await saveProgress(database.operator, second, done)).toBe(false)
    expect((await read(live, stored.id))?.refusal).toEqual(refusal)
  })

  it('can be read for 24 hours by its tenant', async () => {
    const { live, test } = await makeTenants(database)
    const { id } = await created(live, 'day')
    expect((await read(live, id, at + dayMs - 1))?.id).toBe(id)
    expect([await read(live, id, at + dayMs), await read(test, id)]).toEqual([null, null])
    await deleteExpiredSimulations(database.operator, at + dayMs - 1, 1_000)
    expect((await read(live, id))?.id).toBe(id)
    expect(await deleteExpiredSimulations(database.operator, at + dayMs, 1_000)).toBeGreaterThan(0)
    expect(await read(live, id)).toBeNull()
  })

  it('is claimed in turns of the accounts, the oldest of an account first and alone', async () => {
    await database.operator(sql`delete from simulations`)
    const [{ live: one, test }, { live: other }] = [await makeTenants(database), await makeTenants(database)]
    await created(one, 'first')
    await created(test, 'second', at + 5)
    await created(one, 'third', at + 10)
    await created(other, 'of the other account', at + 15)
    const claim = () => claimSimulation(database.operator, 60_000)
    const requests: (string | undefined)[] = []
    const part = { ...done, doneCount: 1, status: 'PENDING' } as const
    const turn = async (progress: Parameters<typeof saveProgress>[2]): Promise<void> => {
      const next = await claim()
      requests.push(next?.request)
      if (next !== null) await saveProgress(database.operator, next, progress)
    }
    for (const progress of [part, part, part, part, done, done]) await turn(progress)
    const [mine, others] = ['"first"', '"of the other account"']
    expect(requests).toEqual([mine, others, mine, others, mine, others])
    expect([(await claim())?.request, await claim()]).toEqual(['"second"', null])
  })
})
