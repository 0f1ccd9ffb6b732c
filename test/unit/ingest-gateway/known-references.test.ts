import { describe, expect, it } from 'vitest'
import type { FindReferences, OwnReference } from '../../../services/domain/reference.ts'
import { knownReferences } from '../../../services/ingest-gateway/known-references.ts'
import { Failure } from '../../../services/platform/failure.ts'

const tenant = { accountId: 'acc_a', liveMode: true }
const depot: OwnReference = { kinds: ['location'], reference: 'depot-7' }

/** A memory before a store whose objects, mood and clock the test sets. */
const openMemory = ({ maxReferences }: { readonly maxReferences?: number } = {}) => {
  const store = {
    objects: new Map([['depot-7', 'loc_1']]),
    searches: 0,
    isAway: false,
    now: 0,
    hold: Promise.resolve(),
  }
  const find: FindReferences = async (_, wanted) => {
    store.searches += 1
    const location = new Map(
      wanted.flatMap(({ reference }) => {
        const id = store.objects.get(reference)
        return id === undefined ? [] : [[reference, id] as const]
      }),
    )
    await store.hold
    if (store.isAway) throw new Failure('store_away', 'PostgreSQL is unavailable.', { retriable: true })
    return { location, device: new Map(), customer: new Map() }
  }
  const known = knownReferences(find, {
    elapsed: () => store.now,
    ...(maxReferences === undefined ? {} : { maxReferences }),
  })
  const idOf = async (reference = 'depot-7', of = tenant) =>
    (await known.find(of, [{ ...depot, reference }])).location.get(reference) ?? null
  return { store, known, idOf }
}

describe('the memory of own references', () => {
  it('asks once for all references of a submission, and not again for 5 s', async () => {
    const { store, known } = openMemory()
    const wanted = Array.from({ length: 5_000 }, (_, index) => ({ ...depot, reference: `depot-${index}` }))
    store.objects = new Map(wanted.map(({ reference }) => [reference, `loc_${reference}`]))
    expect((await known.find(tenant, wanted)).location.size).toBe(5_000)
    store.now = 4_999
    expect((await known.find(tenant, wanted)).location.size).toBe(5_000)
    expect(store.searches).toBe(1)
  })

  it('returns a change of another process after 5 s: moved, deleted, created again', async () => {
    const { store, idOf } = openMemory()
    expect(await idOf()).toBe('loc_1')
    store.objects.set('depot-7', 'loc_2')
    expect(await idOf()).toBe('loc_1')
    store.now = 5_001
    expect(await idOf()).toBe('loc_2')
    store.objects.clear()
    store.now = 10_002
    expect(await idOf()).toBeNull()
    store.objects.set('depot-7', 'loc_3')
    expect(await idOf()).toBe('loc_3')
  })

  it('returns a change of its own process at once, also during a search', async () => {
    const { store, known, idOf } = openMemory()
    expect(await idOf()).toBe('loc_1')
    store.objects.set('depot-7', 'loc_2')
    known.forget(tenant)
    expect(await idOf()).toBe('loc_2')
    known.forget(tenant)
    const { promise, resolve } = Promise.withResolvers<void>()
    store.hold = promise
    const before = idOf()
    store.objects.set('depot-7', 'loc_3')
    known.forget(tenant)
    resolve()
    // The search began before the change. It can return the old id, which must not be cached.
    expect(await before).toBe('loc_2')
    expect(await idOf()).toBe('loc_3')
  })

  it('keeps tenants apart', async () => {
    const { store, known, idOf } = openMemory()
    await idOf()
    await idOf('depot-7', { ...tenant, liveMode: false })
    expect(store.searches).toBe(2)
    known.forget({ ...tenant, liveMode: false })
    await idOf()
    expect(store.searches).toBe(2)
  })

  it('stays valid for an hour while the store is unavailable', async () => {
    const { store, idOf } = openMemory()
    await idOf()
    store.isAway = true
    store.now = 3_599_000
    expect(await idOf()).toBe('loc_1')
    expect(store.searches).toBe(2)
    // Within a second of a failure the store is left alone.
    expect(await idOf()).toBe('loc_1')
    expect(store.searches).toBe(2)
    await expect(idOf('depot-8')).rejects.toThrow('PostgreSQL is unavailable.')
    store.now = 3_600_001
    await expect(idOf()).rejects.toThrow('PostgreSQL is unavailable.')
  })

  it('begins again above its bound', async () => {
    const { store, idOf } = openMemory({ maxReferences: 2 })
    for (const name of ['depot-1', 'depot-2', 'depot-3']) store.objects.set(name, name)
    for (const name of ['depot-1', 'depot-2', 'depot-3']) expect(await idOf(name)).toBe(name)
    const before = store.searches
    expect(await idOf('depot-3')).toBe('depot-3')
    expect(store.searches).toBe(before + 1)
  })
})
