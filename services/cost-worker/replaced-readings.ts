import { changesOf } from '../domain/record/correction.ts'
import { groupByTenant } from '../domain/tenant.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { type MeterReadingRow, registerKey } from '../platform/clickhouse/readings/meter-readings.ts'
import {
  placeKey,
  type ReplacedReadingRow,
  type StoredValue,
  storedValues,
} from '../platform/clickhouse/readings/replaced-readings.ts'
import type { NewestReadings, ReadingToStore } from './cost-readings.ts'

/** Return whether a reading is later than all stored values of its register. Then no stored value has its place. */
const isNewest = (row: MeterReadingRow, newest: NewestReadings): boolean => {
  const last = newest.get(registerKey(row))?.readings.at(-1)
  return last !== undefined && row.time > last.time
}

/**
 * Find the readings of a step that replace a reading of the same place with another value, as corrections of records do.
 * `newest`: the newest readings before the step.
 * The result depends on the readings that were stored before. Therefore store it before the readings of the step.
 * Source: docs/rules/metering.md #receipts.
 */
export const findReplacedReadings = async (
  db: ClickHouse,
  arrived: readonly ReadingToStore[],
  newest: NewestReadings,
): Promise<readonly ReplacedReadingRow[]> => {
  const rows: ReplacedReadingRow[] = []
  for (const [tenant, own] of groupByTenant(arrived.map(({ row }) => row))) {
    const places = Map.groupBy(own, placeKey)
    const possible = [...places.values()].flatMap(([first]) =>
      first === undefined || isNewest(first, newest) ? [] : [first],
    )
    const stored = await storedValues(db, tenant, possible)
    for (const [key, received] of places)
      for (const { after } of changesOf(stored.get(key) ?? null, received, haveEqualValues)) rows.push(...rowOf(after))
  }
  return rows
}

/** A withdrawn reading has no value, so a later value replaces nothing. */
const haveEqualValues = (before: StoredValue, after: StoredValue): boolean =>
  before.value === null || before.value === after.value

/** A reading without a batch has no receipt, so it is no row. */
const rowOf = ({ accountId, liveMode, batchId, recordNumber, locationId, deviceId }: MeterReadingRow) =>
  batchId === null ? [] : [{ accountId, liveMode, batchId, recordNumber, locationId, deviceId }]
