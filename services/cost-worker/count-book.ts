import { nextLocalMonth, startOfLocalMonth } from '../domain/civil-time.ts'
import type { Energy } from '../domain/quantity.ts'
import type { TariffDirection } from '../domain/tariff/tariff.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { rowsOfSpan, type Tenant } from '../platform/clickhouse/meter-cost-reads.ts'
import type { MeterCostRow } from '../platform/clickhouse/meter-cost-row.ts'
import type { HeldPricing } from '../platform/pricing-book.ts'
import { byCount, type LaneRecord, settleCounted } from './settle.ts'

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
 * What the accumulators of a location and direction hold after the record at `last`, the last one in their order of those that begin
 * before `until`. Of later months nothing is known.
 */
type Count = { readonly counts: Map<number, Energy>; readonly last: LaneRecord; readonly until: number }

/**
 * Accumulators of tiers. They are rebuilt from the stored rows where a record is not the next in their order, and then the rows behind
 * it, up to the end of the months it touches, are costed again as if everything had come in order.
 */
export type CountBook = {
  readonly settle: (
    groups: readonly CountedGroup[],
  ) => Promise<{ readonly rows: readonly MeterCostRow[]; readonly failed: readonly FailedGroup[] }>
  /** Forget all: what is stored may differ from what was settled here. */
  readonly drop: () => void
  readonly dropLocation: (locationId: string) => void
}

const most = 100_000

const keyOf = ({ locationId, direction }: CountedGroup): string => `${locationId}/${direction}`

const monthsOf = ({ held, records }: CountedGroup): { readonly from: number; readonly to: number } => {
  const zone = held.snapshot.timeZone
  const starts = records.map(({ record }) => record.start)
  const ends = records.map(({ record }) => record.end)
  return { from: startOfLocalMonth(zone, Math.min(...starts)), to: nextLocalMonth(zone, Math.max(...ends)) }
}

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

/** Make an empty book over the stored rows. */
export const countBook = (db: ClickHouse): CountBook => {
  const held = new Map<string, Count>()

  const isNext = (group: CountedGroup, sorted: readonly LaneRecord[]): boolean => {
    const known = held.get(keyOf(group))
    const first = sorted[0]
    if (known === undefined || first === undefined || byCount(known.last, first) >= 0) return false
    return sorted.every(({ record }) => record.end <= known.until && record.start < known.until)
  }

  const remember = (group: CountedGroup, counts: Map<number, Energy>, until: number, last: LaneRecord | undefined): void => {
    held.delete(keyOf(group))
    if (last !== undefined) held.set(keyOf(group), { counts, last, until })
    for (const key of held.keys()) {
      if (held.size <= most) return
      held.delete(key)
    }
  }

  const settleNext = (group: CountedGroup, sorted: readonly LaneRecord[], { counts, until }: Count): readonly MeterCostRow[] => {
    const rows = sorted.map(entry => settleCounted(entry, group.held, counts))
    remember(group, counts, until, sorted.at(-1))
    return rows
  }

  /** Cost new and stored records in one order; stored ones before the first new one only count. */
  const settleAmong = (group: CountedGroup, sorted: readonly LaneRecord[], stored: readonly MeterCostRow[]): readonly MeterCostRow[] => {
    const renewed = new Set(sorted.map(({ record }) => record.recordId))
    const cause = newest(sorted)
    const others = stored.filter(row => !renewed.has(row.recordId)).map(row => entryOf(row, cause))
    const places = [...sorted, ...stored.filter(row => renewed.has(row.recordId)).map(row => entryOf(row, cause))].sort(byCount)
    const first = places[0]
    const counts = new Map<number, Energy>()
    const all = [...others, ...sorted].sort(byCount)
    const rows: MeterCostRow[] = []
    for (const entry of all) {
      const row = settleCounted(entry, group.held, counts)
      if (first !== undefined && byCount(entry, first) >= 0) rows.push(row)
    }
    remember(group, counts, monthsOf(group).to, all.at(-1))
    return rows
  }

  const readStored = async (groups: readonly CountedGroup[]): Promise<ReadonlyMap<string, readonly MeterCostRow[]>> => {
    const stored = new Map<string, MeterCostRow[]>()
    const worlds = Map.groupBy(groups, ({ tenant, direction }) => `${tenant.accountId}/${tenant.liveMode}/${direction}`)
    for (const world of worlds.values()) {
      const [{ tenant, direction }] = world as [CountedGroup]
      const spans = world.map(monthsOf)
      const span = { from: Math.min(...spans.map(({ from }) => from)), to: Math.max(...spans.map(({ to }) => to)) }
      const filter = { locationIds: world.map(({ locationId }) => locationId), tariffDirection: direction }
      for await (const rows of rowsOfSpan(db, tenant, filter, span)) {
        for (const row of rows) {
          const key = `${row.locationId}/${row.tariffDirection}`
          const known = stored.get(key)
          if (known === undefined) stored.set(key, [row])
          else known.push(row)
        }
      }
    }
    return stored
  }

  return {
    settle: async groups => {
      const sorted = groups.map(group => ({ group, records: group.records.toSorted(byCount) }))
      const late = sorted.filter(({ group, records }) => !isNext(group, records))
      const stored = late.length === 0 ? new Map<string, never>() : await readStored(late.map(({ group }) => group))
      const isLate = new Set(late)
      const rows: MeterCostRow[] = []
      const failed: FailedGroup[] = []
      for (const one of sorted) {
        const known = isLate.has(one) ? undefined : held.get(keyOf(one.group))
        try {
          const settled =
            known === undefined
              ? settleAmong(one.group, one.records, stored.get(keyOf(one.group)) ?? [])
              : settleNext(one.group, one.records, known)
          for (const row of settled) rows.push(row)
        } catch (error) {
          held.delete(keyOf(one.group))
          failed.push({ group: one.group, reason: String(error) })
        }
      }
      return { rows, failed }
    },
    drop: () => held.clear(),
    dropLocation: locationId => {
      for (const direction of ['IMPORT', 'EXPORT', 'LOCAL']) held.delete(`${locationId}/${direction}`)
    },
  }
}
