import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import type { MeterCostRow } from '../platform/clickhouse/meter-cost-row.ts'
import type { PricingAsk, PricingBook } from '../platform/pricing-book.ts'
import { type CountBook, type CountedGroup, countBook } from './count-book.ts'
import type { PoisonRecord } from './dead-letter.ts'
import { isCounted, type LaneRecord, settleAlone } from './settle.ts'

export type Settled = { readonly rows: readonly MeterCostRow[]; readonly poison: readonly PoisonRecord[] }

/** Settles the records of steps, one step after the other. */
export type Settler = {
  /** `stored` settles once the rows of the step before are stored: rows are read after it. */
  readonly settle: (records: ReadonlyMap<string, readonly LaneRecord[]>, stored: Promise<void>) => Promise<Settled>
  /** Forget what was gathered: the last step did not reach the store. */
  readonly drop: () => void
  /** A location's prices changed: its accumulators are counted anew. */
  readonly dropLocation: CountBook['dropLocation']
}

const asksOf = (records: ReadonlyMap<string, readonly LaneRecord[]>): readonly PricingAsk[] =>
  [...records].map(([locationId, entries]) => {
    const { accountId, liveMode } = (entries[0] as LaneRecord).part
    let from = Number.POSITIVE_INFINITY
    for (const { record } of entries) if (record.start < from) from = record.start
    return { accountId, liveMode, locationId, from }
  })

/** Make a settler on the stored rows and the book of prices. */
export const createSettler = (db: ClickHouse, pricing: PricingBook): Settler => {
  const counts = countBook(db)

  const settleGroups = async (
    groups: readonly CountedGroup[],
    stored: Promise<void>,
    settled: { rows: MeterCostRow[]; poison: PoisonRecord[] },
  ): Promise<void> => {
    if (groups.length === 0) return
    const { rows, failed } = await counts.settle(groups, stored)
    for (const row of rows) settled.rows.push(row)
    for (const { group, reason } of failed) {
      for (const entry of group.records) settled.poison.push({ entry, code: 'cost_failed', reason })
    }
  }

  return {
    settle: async (records, stored) => {
      const settled: { rows: MeterCostRow[]; poison: PoisonRecord[] } = { rows: [], poison: [] }
      const pricings = await pricing.gather(asksOf(records))
      const groups = new Map<string, CountedGroup & { readonly records: LaneRecord[] }>()
      for (const [locationId, entries] of records) {
        const held = pricings.get(locationId)
        for (const entry of entries) {
          if (held === undefined) {
            settled.poison.push({ entry, code: 'location_unknown', reason: `${locationId} is not in the registry` })
          } else if (isCounted(held, entry)) {
            const { accountId, liveMode } = entry.part
            const direction = entry.record.tariffDirection
            const key = `${locationId}/${direction}`
            const group = groups.get(key)
            if (group === undefined) groups.set(key, { tenant: { accountId, liveMode }, locationId, direction, held, records: [entry] })
            else group.records.push(entry)
          } else {
            try {
              settled.rows.push(settleAlone(entry, held))
            } catch (error) {
              settled.poison.push({ entry, code: 'cost_failed', reason: String(error) })
            }
          }
        }
      }
      await settleGroups([...groups.values()], stored, settled)
      return settled
    },
    drop: counts.drop,
    dropLocation: counts.dropLocation,
  }
}
