import { describe, expect, it } from 'vitest'
import {
  createSimulation,
  deleteExpiredSimulations,
  maxPendingSimulations,
  oldestPendingSimulations,
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

const done = { doneCount: 2, nextDay: null, sums: '[]', status: 'DONE', refusal: null } as const

describe('a stored simulation', () => {
  it('is the same for an equal request until it is calculated', async () => {
    const { live } = await makeTenants(database)
    const [first, second, other] = await Promise.all(['same', 'same', 'other'].map(name => created(live, name)))
    expect(first?.id).toBe(second?.id)
    expect(other?.id).not.toBe(first?.id)
    expect(first).toMatchObject({ request: '"same"', status: 'PENDING', doneCount: 0, nextDay: null, sums: null })
    await saveProgress(database.operator, first as StoredSimulation, done)
    expect((await created(live, 'same')).id).not.toBe(first?.id)
  })

  it('is one of at most ten unfinished ones of an account and mode', async () => {
    const { live, test } = await makeTenants(database)
    const names = Array.from({ length: maxPendingSimulations }, (_, index) => `s${index}`)
    for (const name of names) await created(live, name)
    expect([await create(live, 'one more'), (await created(live, 's3')).request]).toEqual([null, '"s3"'])
    await created(test, 'of the other mode')
    await saveProgress(database.operator, await created(live, 's4'), { ...done, status: 'FAILED' })
    expect(await create(live, 'one more')).not.toBeNull()
  })

  it('takes progress from the state that was read, and none after its end', async () => {
    const { live } = await makeTenants(database)
    const stored = await created(live, 'progress')
    const part = { ...done, doneCount: 1, nextDay: 20_000, status: 'PENDING' } as const
    expect(await saveProgress(database.operator, stored, part)).toBe(true)
    expect(await saveProgress(database.operator, stored, part)).toBe(false)
    const now = await read(live, stored.id)
    expect(now).toMatchObject({ doneCount: 1, nextDay: 20_000, sums: '[]', status: 'PENDING' })
    const refusal = { code: 'too_many_lines', message: 'Too many' } as const
    expect(await saveProgress(database.operator, { ...stored, ...part }, { ...done, status: 'FAILED', refusal })).toBe(
      true,
    )
    expect(await saveProgress(database.operator, { ...stored, ...part }, done)).toBe(false)
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

  it('is the oldest unfinished one of its account', async () => {
    const { live } = await makeTenants(database)
    const [first] = [await created(live, 'first'), await created(live, 'later', at + 5)]
    const due = await oldestPendingSimulations(database.operator, 1_000)
    expect(due.filter(({ accountId }) => accountId === live.accountId)).toEqual([{ ...live, id: first?.id }])
  })
})
