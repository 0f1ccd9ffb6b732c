import type { ClickHouse, NativeRows } from '../../../services/platform/clickhouse/clickhouse.ts'
import type { Assignment, Log, TopicName } from '../../../services/platform/log/log.ts'
import type { CachedPricing, PricingCache } from '../../../services/platform/pricing-cache/pricing-cache.ts'

/** Replacement of a call. `go` makes the real call; a gate may delay, omit or repeat it. */
export type Gate<Call> = (call: Call, go: () => Promise<void>) => Promise<void>

/**
 * Calls of a worker to the stores that a test can delay, fail or repeat. A gate that is null passes all calls.
 * `unpriceable`: locations whose prices throw when the worker reads them.
 */
export type Gates = {
  readonly unpriceable: Set<string>
  insert: Gate<NativeRows> | null
  commit: Gate<{ readonly assignment: Assignment; readonly next: number }> | null
  append: Gate<{ readonly topic: TopicName }> | null
  /** Called before the worker loads the prices of a step. */
  gather: Gate<{ readonly locationIds: readonly string[] }> | null
}

export const gates = (): Gates => ({ unpriceable: new Set(), insert: null, commit: null, append: null, gather: null })

/** Return a ClickHouse whose inserts go through a gate. */
export const gatedClickHouse = (clickHouse: ClickHouse, gate: Gates): ClickHouse => ({
  ...clickHouse,
  insert: rows => {
    // The caller reuses the buffer. A delayed insert must write the bytes of the original call.
    const copy = { ...rows, bytes: Buffer.from(rows.bytes) }
    return gate.insert === null ? clickHouse.insert(rows) : gate.insert(rows, () => clickHouse.insert(copy))
  },
})

const gatedAssignment = (assignment: Assignment, gate: Gates): Assignment => ({
  ...assignment,
  commit: next =>
    gate.commit === null ? assignment.commit(next) : gate.commit({ assignment, next }, () => assignment.commit(next)),
})

/** Return a log whose appends and commits go through a gate. */
export const gatedLog = (log: Log, gate: Gates): Log => ({
  ...log,
  append: async (topic, partition, message) => {
    if (gate.append === null) return log.append(topic, partition, message)
    let offset = -1
    await gate.append({ topic }, async () => {
      offset = await log.append(topic, partition, message)
    })
    if (offset < 0) throw new Error('The gate did not append the message.')
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
      throw new TypeError('The prices of the location are invalid.')
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

/** Return a pricing cache in which the prices of some locations throw. */
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
