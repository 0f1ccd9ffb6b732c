import type { ClickHouse, NativeRows } from '../../../services/platform/clickhouse/clickhouse.ts'
import type { Assignment, Log, TopicName } from '../../../services/platform/log/log.ts'
import type { CachedPricing, PricingCache } from '../../../services/platform/pricing-cache/pricing-cache.ts'

/** What stands in for a call; `go` makes the call itself, whenever and as often as it is wanted. */
export type Gate<Call> = (call: Call, go: () => Promise<void>) => Promise<void>

/**
 * Where a worker's calls of the stores can be held, failed or repeated; a gate that is not set lets all through. `unpriceable`: locations
 * whose prices throw when they are looked up.
 */
export type Gates = {
  readonly unpriceable: Set<string>
  insert: Gate<NativeRows> | null
  commit: Gate<{ readonly assignment: Assignment; readonly next: number }> | null
  append: Gate<{ readonly topic: TopicName }> | null
  /** Prices of a step are looked up. */
  gather: Gate<{ readonly locationIds: readonly string[] }> | null
}

export const gates = (): Gates => ({ unpriceable: new Set(), insert: null, commit: null, append: null, gather: null })

/** The engine with its inserts behind a gate. */
export const gatedClickHouse = (clickHouse: ClickHouse, gate: Gates): ClickHouse => ({
  ...clickHouse,
  insert: rows => {
    // The engine takes the bytes as they are now: a call that is held must not see what the caller writes into them later.
    const copy = { ...rows, bytes: Buffer.from(rows.bytes) }
    return gate.insert === null ? clickHouse.insert(rows) : gate.insert(rows, () => clickHouse.insert(copy))
  },
})

const gatedAssignment = (assignment: Assignment, gate: Gates): Assignment => ({
  ...assignment,
  commit: next =>
    gate.commit === null ? assignment.commit(next) : gate.commit({ assignment, next }, () => assignment.commit(next)),
})

/** The log with the commits of its readers, and what they append, behind a gate. */
export const gatedLog = (log: Log, gate: Gates): Log => ({
  ...log,
  append: async (topic, partition, message) => {
    if (gate.append === null) return log.append(topic, partition, message)
    let offset = -1
    await gate.append({ topic }, async () => {
      offset = await log.append(topic, partition, message)
    })
    if (offset < 0) throw new Error('a gate let a message vanish')
    return offset
  },
  subscribe: (topic, group, assigned) =>
    log.subscribe(topic, group, assignment => assigned(gatedAssignment(assignment, gate))),
})

const withBrokenPrices = (cachedPricing: CachedPricing): CachedPricing => {
  const { snapshot } = cachedPricing
  const breakPrices = (prices: CachedPricing['snapshot']['directions']['IMPORT']) => ({
    ...prices,
    get pricePeriods(): never {
      throw new TypeError('the prices of the location are broken')
    },
  })
  const { IMPORT, EXPORT, LOCAL } = snapshot.directions
  return {
    ...cachedPricing,
    snapshot: {
      ...snapshot,
      directions: { IMPORT: breakPrices(IMPORT), EXPORT: breakPrices(EXPORT), LOCAL: breakPrices(LOCAL) },
    },
  }
}

/** The book with the prices of some locations broken. */
export const gatedPricing = (cache: PricingCache, gate: Gates): PricingCache => {
  const { unpriceable } = gate
  const gather =
    (of: PricingCache['gather']): PricingCache['gather'] =>
    async requests => {
      await gate.gather?.({ locationIds: requests.map(({ locationId }) => locationId) }, async () => undefined)
      const found = await of(requests)
      return new Map(
        [...found].map(([id, cachedPricing]) => [
          id,
          unpriceable.has(id) ? withBrokenPrices(cachedPricing) : cachedPricing,
        ]),
      )
    }
  return { ...cache, gather: gather(cache.gather), gatherNewest: gather(cache.gatherNewest) }
}
