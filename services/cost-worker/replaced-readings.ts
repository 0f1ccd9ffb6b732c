import { changesOf } from '../domain/record/correction.ts'
import { groupByTenant } from '../domain/tenant.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import type { EarlierValueRow } from '../platform/clickhouse/readings/earlier-values.ts'
import { type MeterReadingRow, registerKey } from '../platform/clickhouse/readings/meter-readings.ts'
import {
  placeKey,
  type ReplacedReadingRow,
  type StoredValue,
  storedValues,
} from '../platform/clickhouse/readings/replaced-readings.ts'
import { isOfImport } from '../platform/ids/batch-id.ts'
import type { NewestReadings, ReadingToStore } from './cost-readings.ts'

/** Return whether a reading is later than all stored values of its register. Then no stored value has its place. */
const isNewest = (row: MeterReadingRow, newest: NewestReadings): boolean => {
  const last = newest.get(registerKey(row))?.readings.at(-1)
  return last !== undefined && row.time > last.time
}

/** Readings of a step that replace stored readings: with another value, and those of imports with any value. */
export type ReplacedReadings = {
  readonly replaced: readonly ReplacedReadingRow[]
  readonly earlier: readonly EarlierValueRow[]
}

/**
 * Find the readings of a step that replace a reading of the same place with another value, as corrections of records do.
 * Find also the stored members that readings of imports replace, for an undo.
 * `newest`: the newest readings before the step.
 * The result depends on the readings that were stored before. Therefore store it before the readings of the step.
 * Source: docs/rules/metering.md #receipts.
 */
export const findReplacedReadings = async (
  db: ClickHouse,
  arrived: readonly ReadingToStore[],
  newest: NewestReadings,
): Promise<ReplacedReadings> => {
  const replaced: ReplacedReadingRow[] = []
  const earlier: EarlierValueRow[] = []
  for (const [tenant, own] of groupByTenant(arrived.map(({ row }) => row))) {
    const places = Map.groupBy(own, placeKey)
    const possible = [...places.values()].flatMap(([first]) =>
      first === undefined || isNewest(first, newest) ? [] : [first],
    )
    const stored = await storedValues(db, tenant, possible)
    for (const [key, received] of places)
      for (const { before, after } of changesOf<StoredValue, MeterReadingRow>(
        stored.get(key) ?? null,
        received,
        () => false,
      )) {
        if (!haveEqualValues(before, after)) replaced.push(...rowOf(after))
        earlier.push(...earlierValueOf(before, after))
      }
  }
  return { replaced, earlier }
}

/** A withdrawn reading has no value, so a later value replaces nothing. */
const haveEqualValues = (before: StoredValue, after: StoredValue): boolean =>
  before.value === null || before.value === after.value

/** Return the reading that a reading of an import replaced, for its undo. A chunk that the log has twice replaces nothing. */
const earlierValueOf = (stored: StoredValue, after: MeterReadingRow): readonly EarlierValueRow[] => {
  const { accountId, liveMode, locationId, deviceId, time, recordId, isRestart, batchId, sourceVersion } = after
  if (batchId === null || batchId === stored.batchId || !isOfImport(batchId)) return []
  const { value, sessionReferenceId, recordReferenceId } = stored
  return [
    {
      accountId,
      liveMode,
      locationId,
      start: time,
      recordId,
      isRestart,
      batchId,
      deviceId,
      batchBefore: stored.batchId,
      before: { value, confidence: 0, sessionReferenceId, recordReferenceId },
      sourceVersion,
      receivedAt: after.receivedAt,
    },
  ]
}

/** A reading without a batch has no receipt, so it is no row. */
const rowOf = ({ accountId, liveMode, batchId, recordNumber, locationId, deviceId }: MeterReadingRow) =>
  batchId === null ? [] : [{ accountId, liveMode, batchId, recordNumber, locationId, deviceId }]
