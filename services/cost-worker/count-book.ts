import { nextLocalMonth, startOfLocalMonth } from '../domain/civil-time.ts'
import { costRecord } from '../domain/cost/cost-record.ts'
import type { Energy } from '../domain/quantity.ts'
import { type CountedRecord, countInOrder } from '../domain/tariff/count-order.ts'
import type { TariffDirection } from '../domain/tariff/tariff.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { rowsOfSpan, type Span, type Tenant } from '../platform/clickhouse/meter-cost-reads.ts'
import type { MeterCostRow } from '../platform/clickhouse/meter-cost-row.ts'
import type { HeldPricing } from '../platform/pricing-book.ts'
import { byCount, type LaneRecord, rowOf, settleCounted } from './settle.ts'

/** Records of one location and direction that move its accumulators, each identity once. */
export type CountedGroup = {
  readonly tenant: Tenant
  readonly locationId: string
  readonly direction: TariffDirection
  readonly held: HeldPricing
  readonly records: readonly LaneRecord[]
}

/** A group at which the pure code threw. */
export type FailedGroup = { readonly group: CountedGroup; readonly reason: string }

/**
 * What the accumulators of a location and direction hold after `last`, the last record that begins before `until`. They are known of
 * the last month before `until`, which begins at `from`. `starts`: contract starts within it. `crossed`: the latest counting start that
 * a record lies across (-Infinity: none); one that begins at or before it might have its place before that record.
 */
type Count = {
  readonly counts: Map<number, Energy>
  readonly last: LaneRecord
  readonly from: number
  readonly until: number
  readonly starts: readonly number[]
  readonly crossed: number
}

/**
 * Accumulators of tiers. They are rebuilt from the stored rows where a record is not the next in their order, and then the rows behind
 * it, up to the end of the months it touches, are costed again as if everything had come in order.
 */
export type CountBook = {
  readonly settle: (
    groups: readonly CountedGroup[],
    stored: Promise<void>,
  ) => Promise<{ readonly rows: readonly MeterCostRow[]; readonly failed: readonly FailedGroup[] }>
  /** Forget all: what is stored may differ from what was settled here. */
  readonly drop: () => void
  readonly dropLocation: (locationId: string) => void
}

const most = 100_000

const keyOf = ({ locationId, direction }: Pick<CountedGroup, 'locationId' | 'direction'>): string => `${locationId}/${direction}`

type Extent = { readonly start: number; readonly end: number }

/** The local months that some records touch. */
const monthsOf = ({ held }: CountedGroup, extents: readonly Extent[]): Span => {
  const zone = held.snapshot.timeZone
  let [start, end] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const extent of extents) {
    start = Math.min(start, extent.start)
    end = Math.max(end, extent.end)
  }
  return { from: startOfLocalMonth(zone, start), to: nextLocalMonth(zone, end) }
}

const ownMonths = (group: CountedGroup): Span =>
  monthsOf(
    group,
    group.records.map(({ record }) => record),
  )

/** Whether a row is among those that `rowsOfSpan` gives for a span. */
const touches = ({ start, end }: Extent, { from, to }: Span): boolean => start < to && (end > from || start >= from)

const contractStarts = ({ held, direction }: CountedGroup, { from, to }: Span): readonly number[] =>
  held.snapshot.directions[direction].eras
    .flatMap(era => [era.commodityStart, era.nonCommodityStart])
    .filter((start, index, all) => start > from && start < to && all.indexOf(start) === index)

/** A stored row as the record it came from, to be costed because of `cause`. */
const entryOf = (row: MeterCostRow, cause: bigint): LaneRecord => ({
  record: { ...row, energy: row.energySubmitted ?? row.energy, confidence: row.recordConfidence },
  part: row,
  version: row.version > cause ? row.version : cause,
  sourceVersion: row.sourceVersion,
  origin: null,
})

/** The highest version among some records. */
const newest = (entries: readonly LaneRecord[]): bigint => {
  let highest = 0n
  for (const { version } of entries) if (version > highest) highest = version
  return highest
}

type Entry = CountedRecord & { readonly entry: LaneRecord }

/** The accumulators' order of new and stored records, a stored one of a new one's identity left out. */
const orderOf = ({ held, records }: CountedGroup, stored: readonly MeterCostRow[]) => {
  const renewed = new Set(records.map(({ record }) => record.recordId))
  const cause = newest(records)
  const others = stored.filter(row => !renewed.has(row.recordId)).map(row => entryOf(row, cause))
  const entries = [...records, ...others].map(
    (entry): Entry => ({ entry, place: entry.record, moves: costRecord(held.snapshot, entry.record).moves }),
  )
  return { entries, ...countInOrder(entries) }
}

/** New records, and all that come behind one in some accumulator. */
const changedBy = (isNew: (entry: Entry) => boolean, entries: readonly Entry[], orders: Iterable<readonly Entry[]>): ReadonlySet<Entry> => {
  const changed = new Set(entries.filter(isNew))
  for (const order of orders) {
    const first = order.findIndex(isNew)
    for (const entry of first < 0 ? [] : order.slice(first)) changed.add(entry)
  }
  return changed
}

/** What is known of the last month of a span once all of it is counted. */
const knownAfter = (group: CountedGroup, entries: readonly Entry[], counts: Map<number, Energy>, months: Span): Count | null => {
  const until = months.to
  let last: LaneRecord | null = null
  let crossed = Number.NEGATIVE_INFINITY
  for (const { entry, moves } of entries) {
    if (entry.record.start >= until) continue
    if (last === null || byCount(last, entry) < 0) last = entry
    for (const { countingStart } of moves) {
      if (countingStart > entry.record.start && countingStart < until) crossed = Math.max(crossed, countingStart)
    }
  }
  const from = startOfLocalMonth(group.held.snapshot.timeZone, until - 1)
  return last === null ? null : { counts, last, from, until, crossed, starts: contractStarts(group, { from, to: until }) }
}

/** Tell whether records, in order, come behind all that is counted, and none of them stands in two orders. */
const areNext = ({ last, from, until, starts, crossed }: Count, sorted: readonly LaneRecord[]): boolean => {
  const first = sorted[0]
  if (first === undefined || byCount(last, first) >= 0) return false
  return sorted.every(({ record: { start, end } }) => {
    if (start < from || start >= until || end > until || start <= crossed) return false
    return !starts.some(at => start < at && at < end)
  })
}

type Stored = ReadonlyMap<string, readonly MeterCostRow[]>

/** Read the rows of groups that touch spans. */
const readStored = async (db: ClickHouse, asks: readonly { readonly group: CountedGroup; readonly span: Span }[]): Promise<Stored> => {
  const spans = new Map(asks.map(({ group, span }) => [keyOf(group), span]))
  const stored = new Map<string, MeterCostRow[]>(asks.map(({ group }) => [keyOf(group), []]))
  const worlds = Map.groupBy(asks, ({ group: { tenant, direction } }) => `${tenant.accountId}/${tenant.liveMode}/${direction}`)
  for (const world of worlds.values()) {
    const [{ group }] = world as [(typeof asks)[number]]
    const span = { from: Math.min(...world.map(one => one.span.from)), to: Math.max(...world.map(one => one.span.to)) }
    const filter = { locationIds: world.map(one => one.group.locationId), tariffDirection: group.direction }
    for await (const rows of rowsOfSpan(db, group.tenant, filter, span)) {
      for (const row of rows) {
        const key = keyOf({ locationId: row.locationId, direction: row.tariffDirection })
        const own = spans.get(key)
        if (own !== undefined && touches(row, own)) stored.get(key)?.push(row)
      }
    }
  }
  return stored
}

/**
 * Read what counts beside new records: the rows of the months they touch, and where one of those reaches into other months, the rows of
 * these too, as it is written whole.
 */
const readBeside = async (db: ClickHouse, groups: readonly CountedGroup[]): Promise<Stored> => {
  if (groups.length === 0) return new Map()
  const asks = groups.map(group => ({ group, span: ownMonths(group) }))
  const stored = await readStored(db, asks)
  const wider = asks.flatMap(({ group, span }) => {
    const months = monthsOf(group, [...(stored.get(keyOf(group)) ?? []), ...group.records.map(({ record }) => record)])
    return months.from < span.from || months.to > span.to ? [{ group, span: months }] : []
  })
  return wider.length === 0 ? stored : new Map([...stored, ...(await readStored(db, wider))])
}

/** Make an empty book over the stored rows. */
export const countBook = (db: ClickHouse): CountBook => {
  const held = new Map<string, Count>()

  const remember = (group: CountedGroup, count: Count | null): void => {
    held.delete(keyOf(group))
    if (count !== null) held.set(keyOf(group), count)
    for (const key of held.keys()) {
      if (held.size <= most) return
      held.delete(key)
    }
  }

  const settleNext = (group: CountedGroup, sorted: readonly LaneRecord[], count: Count): readonly MeterCostRow[] => {
    const rows = sorted.map(entry => settleCounted(entry, group.held, count.counts))
    remember(group, { ...count, last: sorted.at(-1) ?? count.last })
    return rows
  }

  /** Cost new records and all whose counts they change. */
  const settleAmong = (group: CountedGroup, stored: readonly MeterCostRow[]): readonly MeterCostRow[] => {
    const { entries, before, total, orders } = orderOf(group, stored)
    const added = new Set(group.records)
    const changed = changedBy(({ entry }) => added.has(entry), entries, orders.values())
    const rows = [...changed].map(one => rowOf(one.entry, costRecord(group.held.snapshot, one.entry.record, before.get(one)), group.held))
    remember(group, knownAfter(group, entries, total, ownMonths(group)))
    return rows
  }

  return {
    settle: async (groups, storedBefore) => {
      const sorted = groups.map(group => {
        const records = group.records.toSorted(byCount)
        const known = held.get(keyOf(group))
        return { group, records, known: known !== undefined && areNext(known, records) ? known : null }
      })
      const unknown = sorted.filter(({ known }) => known === null).map(({ group }) => group)
      if (unknown.length > 0) await storedBefore
      const stored = await readBeside(db, unknown)
      const rows: MeterCostRow[] = []
      const failed: FailedGroup[] = []
      for (const { group, records, known } of sorted) {
        try {
          const settled = known === null ? settleAmong(group, stored.get(keyOf(group)) ?? []) : settleNext(group, records, known)
          for (const row of settled) rows.push(row)
        } catch (error) {
          held.delete(keyOf(group))
          failed.push({ group, reason: String(error) })
        }
      }
      return { rows, failed }
    },
    drop: () => held.clear(),
    dropLocation: locationId => {
      for (const direction of ['IMPORT', 'EXPORT', 'LOCAL'] as const) held.delete(keyOf({ locationId, direction }))
    },
  }
}
