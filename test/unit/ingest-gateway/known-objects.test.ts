import { createHash } from 'node:crypto'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { knownObjects, type UncertainIds } from '../../../services/ingest-gateway/known-objects.ts'
import { Failure } from '../../../services/platform/failure.ts'

const tenant = { accountId: 'acc_1', liveMode: true }
const other = { accountId: 'acc_2', liveMode: true }

/** A registry that can lose objects and go away. */
const registry = () => {
  const activeIds = new Set(['loc_1', 'dev_1'])
  const state = { isAway: false, isSilent: false, request: 0 }
  const known = knownObjects(
    async (of, { locations, devices }: UncertainIds) => {
      state.request += 1
      if (state.isSilent) await new Promise<never>(() => undefined)
      if (state.isAway) throw new Failure('postgres_away', 'PostgreSQL is unavailable.', { retriable: true })
      const found = [...locations, ...devices].filter(id => activeIds.has(id) && of.accountId === tenant.accountId)
      return new Map(found.map(id => [id, null]))
    },
    () => 5,
    3,
  )
  const ask = (
    at: number,
    locations: readonly string[] = ['loc_1'],
    devices: readonly string[] = ['dev_1'],
    of = tenant,
  ) => known.resolve(of, { locations: new Set(locations), devices: new Set(devices) }, at)
  return { living: activeIds, state, known, ask }
}

describe('known objects', () => {
  it('are not known before they were request for, and are then for 30 s', async () => {
    const { known, ask } = registry()
    expect(known.partitionOf(tenant, 'loc_1', 0)).toBeUndefined()
    await ask(0)
    expect([known.partitionOf(tenant, 'loc_1', 29_999), known.hasDevice(tenant, 'dev_1', 29_999)]).toEqual([5, true])
    expect([known.partitionOf(tenant, 'loc_1', 30_000), known.hasDevice(tenant, 'dev_1', 30_000)]).toEqual([
      undefined,
      false,
    ])
  })

  it("are another account's secret, and an account that guesses them changes nothing", async () => {
    const { known, ask } = registry()
    await ask(0)
    await ask(1, ['loc_1'], ['dev_1'], other)
    expect(known.partitionOf(other, 'loc_1', 1)).toBeUndefined()
    expect(known.partitionOf({ ...tenant, liveMode: false }, 'loc_1', 1)).toBeUndefined()
    expect(known.partitionOf(tenant, 'loc_1', 1)).toBe(5)
  })

  it('are gone within 60 s of their deletion', async () => {
    const { known, ask, living: activeIds } = registry()
    await ask(0)
    activeIds.delete('dev_1')
    await ask(30_000)
    expect(known.hasDevice(tenant, 'dev_1', 30_000)).toBe(false)
    expect(known.partitionOf(tenant, 'loc_1', 30_000)).toBe(5)
  })

  it('stay valid while the registry is unavailable; a deleted object stays deleted', async () => {
    const { known, ask, living: activeIds, state } = registry()
    await ask(0)
    activeIds.delete('dev_1')
    await ask(30_000)
    state.isAway = true
    await ask(90_000, ['loc_1'], [])
    expect(known.partitionOf(tenant, 'loc_1', 90_000)).toBe(5)
    await expect(ask(90_000, ['loc_1'], ['dev_1'])).rejects.toMatchObject({ code: 'postgres_away' })
    await expect(ask(90_000, ['loc_2'], [])).rejects.toMatchObject({ code: 'postgres_away' })
    await expect(ask(90_000, ['loc_1'], [], other)).rejects.toMatchObject({ code: 'postgres_away' })
  })

  describe('while the registry hangs', () => {
    afterEach(() => void vi.useRealTimers())

    const hanging = async () => {
      vi.useFakeTimers()
      const fixture = registry()
      await fixture.ask(0)
      fixture.state.isSilent = true
      return fixture
    }

    it('stay valid after 1 s without an answer, and delay no other request until 1 s after the timeout', async () => {
      const { known, ask, state, living: activeIds } = await hanging()
      const first = ask(30_000)
      await vi.advanceTimersByTimeAsync(1_000)
      await first
      expect(known.partitionOf(tenant, 'loc_1', 30_000)).toBe(5)
      await vi.advanceTimersByTimeAsync(1_000)
      await ask(32_000)
      expect([known.partitionOf(tenant, 'loc_1', 32_000), known.hasDevice(tenant, 'dev_1', 32_000)]).toEqual([5, true])
      await vi.advanceTimersByTimeAsync(3_999)
      await ask(35_999)
      expect(state.request).toBe(2)
      state.isSilent = false
      activeIds.delete('dev_1')
      await vi.advanceTimersByTimeAsync(1)
      await ask(37_000)
      expect([known.partitionOf(tenant, 'loc_1', 37_000), known.hasDevice(tenant, 'dev_1', 37_000)]).toEqual([5, false])
    })

    it('stay valid if they left the cache meanwhile, but not if they were deleted', async () => {
      const { known, ask, living: activeIds, state } = await hanging()
      for (const id of ['loc_2', 'loc_3', 'loc_4']) activeIds.add(id)
      const waiting = ask(30_000)
      state.isSilent = false
      activeIds.delete('dev_1')
      await ask(30_000, ['loc_2', 'loc_3', 'loc_4'], ['dev_1'])
      expect(known.partitionOf(tenant, 'loc_1', 0)).toBeUndefined()
      await vi.advanceTimersByTimeAsync(1_000)
      expect([...(await waiting).keys()]).toEqual(['loc_1'])
    })

    it('are not made up: others fail after 5 s', async () => {
      const { ask } = await hanging()
      const request = expect(ask(30_000, ['loc_2'], [])).rejects.toMatchObject({
        code: 'store_silent',
        retriable: true,
      })
      await vi.advanceTimersByTimeAsync(5_000)
      await request
    })
  })

  it('are returned to each caller, even if an older read without them ends later', async () => {
    const answers: ((activeIds: ReadonlyMap<string, null>) => void)[] = []
    const known = knownObjects(
      () => new Promise(resolve => answers.push(resolve)),
      () => 5,
    )
    const ids = { locations: new Set(['loc_1']), devices: new Set<string>() }
    const [older, newer] = [known.resolve(tenant, ids, 0), known.resolve(tenant, ids, 0)]
    answers[1]?.(new Map([['loc_1', null]]))
    answers[0]?.(new Map())
    expect([(await older).has('loc_1'), (await newer).get('loc_1')?.partition]).toEqual([false, 5])
  })

  it('are bounded: the ones found longest ago are forgotten', async () => {
    const { known, ask, living: activeIds } = registry()
    for (const id of ['loc_2', 'loc_3', 'loc_4']) activeIds.add(id)
    await ask(0)
    await ask(1, ['loc_2', 'loc_3', 'loc_4'], [])
    expect(known.partitionOf(tenant, 'loc_1', 1)).toBeUndefined()
    expect(known.partitionOf(tenant, 'loc_4', 1)).toBe(5)
  })

  it('are found by the bits of their ids, for any number of objects', async () => {
    const idsOf = (prefix: string) =>
      Array.from(
        { length: 3_000 },
        (_, index) => `${prefix}_${createHash('md5').update(`${index}`).digest('hex').slice(8)}`,
      )
    const [locations, devices] = [idsOf('loc'), idsOf('dev')]
    const known = knownObjects(
      async (_, ids) => new Map([...ids.locations, ...ids.devices].map(id => [id, null])),
      () => 5,
    )
    await known.resolve(tenant, { locations: new Set(locations), devices: new Set(devices) }, 0)
    const find = (id: string, at = 0, of = tenant) => {
      const digits = id.slice(4)
      const bits = Int32Array.from([0, 8, 16], from => Number.parseInt(digits.slice(from, from + 8), 16))
      return known.find(known.ownerOf(of), id.startsWith('dev'), bits, at)
    }
    for (const id of [...locations, ...devices]) expect(find(id)?.id).toBe(id)
    const [first = ''] = locations
    expect([find(first, 29_999)?.partition, find(first, 30_000), find(first, 0, other)]).toEqual([
      5,
      undefined,
      undefined,
    ])
    expect(find('loc_000000000000000000000000')).toBeUndefined()
    await known.resolve(tenant, { locations: new Set([first]), devices: new Set() }, 40_000)
    expect(find(first, 69_999)?.id).toBe(first)
  })

  it('are not found by their bits once they are deleted', async () => {
    const id = `loc_${'a'.repeat(24)}`
    const activeIds = new Map([[id, null]])
    const known = knownObjects(
      async () => activeIds,
      () => 5,
    )
    const bits = Int32Array.from([0xaaaaaaaa, 0xaaaaaaaa, 0xaaaaaaaa])
    const ids = { locations: new Set([id]), devices: new Set<string>() }
    await known.resolve(tenant, ids, 0)
    expect(known.find(known.ownerOf(tenant), false, bits, 1)?.id).toBe(id)
    activeIds.clear()
    await known.resolve(tenant, ids, 1)
    expect(known.find(known.ownerOf(tenant), false, bits, 1)).toBeUndefined()
  })
})
