import type { ClickHouse, NativeRows } from '../../services/platform/clickhouse/clickhouse.ts'
import type { Lane, Log, TopicName } from '../../services/platform/log/log.ts'
import type { HeldPricing, PricingBook } from '../../services/platform/pricing-book.ts'

/** What stands in for a call; `go` makes the call itself, whenever and as often as it is wanted. */
export type Gate<Call> = (call: Call, go: () => Promise<void>) => Promise<void>

/**
 * Where a worker's calls of the stores can be held, failed or repeated; a gate that is not set lets all through. `unpriceable`: locations
 * whose prices throw when they are looked up.
 */
export type Gates = {
  readonly unpriceable: Set<string>
  insert: Gate<NativeRows> | null
  commit: Gate<{ readonly lane: Lane; readonly next: number }> | null
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
    const kept = { ...rows, bytes: Buffer.from(rows.bytes) }
    return gate.insert === null ? clickHouse.insert(rows) : gate.insert(rows, () => clickHouse.insert(kept))
  },
})

const gatedLane = (lane: Lane, gate: Gates): Lane => ({
  ...lane,
  commit: next => (gate.commit === null ? lane.commit(next) : gate.commit({ lane, next }, () => lane.commit(next))),
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
  subscribe: (topic, group, assigned) => log.subscribe(topic, group, lane => assigned(gatedLane(lane, gate))),
})

const spoilt = (held: HeldPricing): HeldPricing => {
  const { snapshot } = held
  const spoil = (prices: HeldPricing['snapshot']['directions']['IMPORT']) => ({
    ...prices,
    get eras(): never {
      throw new TypeError('the prices of the location are broken')
    },
  })
  const { IMPORT, EXPORT, LOCAL } = snapshot.directions
  return { ...held, snapshot: { ...snapshot, directions: { IMPORT: spoil(IMPORT), EXPORT: spoil(EXPORT), LOCAL: spoil(LOCAL) } } }
}

/** The book with the prices of some locations broken. */
export const gatedPricing = (book: PricingBook, gate: Gates): PricingBook => {
  const { unpriceable } = gate
  const gather =
    (of: PricingBook['gather']): PricingBook['gather'] =>
    async asks => {
      await gate.gather?.({ locationIds: asks.map(({ locationId }) => locationId) }, async () => undefined)
      const found = await of(asks)
      return new Map([...found].map(([id, held]) => [id, unpriceable.has(id) ? spoilt(held) : held]))
    }
  return { ...book, gather: gather(book.gather), gatherNewest: gather(book.gatherNewest) }
}
