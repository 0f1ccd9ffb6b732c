import { isCorrection, type SubmittedValues, valueChanges } from '../domain/record/correction.ts'
import { type FreeSpans, freeAfter, isFree, occupy } from '../domain/record/free-spans.ts'
import { type MeterRecord, noOptions } from '../domain/record/record.ts'
import { groupByTenant, tenantKey } from '../domain/tenant.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { insertRows } from '../platform/clickhouse/insert-rows.ts'
import {
  correctionColumns,
  type MeterCorrectionRow,
  submittedValues,
} from '../platform/clickhouse/meter-cost/corrections.ts'
import { locationsOfDevices, locationsThemselves } from '../platform/clickhouse/meter-cost/meter-object-reads.ts'
import { type EarlierValueRow, earlierValueColumns } from '../platform/clickhouse/readings/earlier-values.ts'
import { startTimeSlices } from '../platform/concurrency/time-slices.ts'
import { isOfImport } from '../platform/ids/batch-id.ts'
import { deterministicId } from '../platform/ids/new-id.ts'
import type { RecordToCost } from './record-to-cost.ts'

type Records = ReadonlyMap<string, readonly RecordToCost[]>

/** Corrections by the digits of their record's id. For records of an import, also equal values that were stored. */
export type Corrections = ReadonlyMap<string, readonly MeterCorrectionRow[]>

/**
 * Finds the records of a step that replace stored values. A record in a free span of its object is new, so most records
 * need no query.
 */
export type CorrectionFinder = {
  /** Find the corrections of a step. `stored` resolves when the rows of the steps before are stored. */
  readonly find: (records: Records, stored: Promise<void>) => Promise<Corrections>
  /** Drop all known objects if they are too many. Call it between two steps: the rows of a step must be known to its end. */
  readonly trim: () => void
  /**
   * Occupy the time of a record if its object is known and the time is free; then the record is new. Otherwise return
   * false.
   */
  readonly occupyIfFree: (record: ObjectTime) => boolean
  /** Drop all known objects: the rows of the last step were not stored. */
  readonly drop: () => void
}

/** Known objects and free spans, after which all are dropped. An object takes about 300 bytes, a further span 16. */
const maxKnown = { objects: 300_000, spans: 3_000_000 }
/** Objects per statement: the engine parses their ids in some 60 ms. */
const objectsOfStatement = 8_000

/** Spans without records of an object, in each flow. */
type Free = readonly FreeSpans[]

/** Objects by id. `spanCount`: their spans beyond the first of each flow. */
type KnownObjects = { readonly freeOf: Map<string, Free>; spanCount: number }

/** Object, flow and time of a record. */
export type ObjectTime = Pick<
  MeterRecord,
  'locationId' | 'deviceId' | 'energyFlowDirection' | 'tariffDirection' | 'start' | 'end'
>

const flowOf = ({ energyFlowDirection, tariffDirection }: ObjectTime): number =>
  energyFlowDirection === 'INBOUND' ? (tariffDirection === 'IMPORT' ? 0 : 1) : tariffDirection === 'EXPORT' ? 2 : 3
const flows = 4

/** Device of a record, or its location. Ids are unique over all accounts. */
const objectOf = ({ deviceId, locationId }: ObjectTime): string => deviceId ?? locationId

/** Return the objects of records, by account and mode. The value of an object is true for a device. */
const objectsOf = (entries: readonly RecordToCost[]) =>
  groupByTenant(entries.map(({ record, part: { accountId, liveMode } }) => ({ accountId, liveMode, record }))).map(
    ([tenant, own]) => ({
      tenant,
      objects: new Map(own.map(({ record }) => [objectOf(record), record.deviceId !== null] as const)),
    }),
  )

const groupsOf = <T>(all: readonly T[]): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(all.length / objectsOfStatement) }, (_, group) =>
    all.slice(group * objectsOfStatement, (group + 1) * objectsOfStatement),
  )

/** Add objects to the known ones. Time after the last record of an object is free. */
const loadObjects = async (
  db: ClickHouse,
  known: KnownObjects,
  { tenant, objects }: ReturnType<typeof objectsOf>[number],
): Promise<void> => {
  const found = new Map<string, number>()
  for (const isDevice of [true, false]) {
    const ids = [...objects].flatMap(([id, ofDevice]) => (ofDevice === isDevice ? [id] : []))
    const read = isDevice ? locationsOfDevices : locationsThemselves
    for (const group of groupsOf(ids))
      for (const { deviceId, locationId, lastEnd } of await read(db, tenant, group)) {
        const object = deviceId ?? locationId
        found.set(object, Math.max(lastEnd, found.get(object) ?? Number.NEGATIVE_INFINITY))
      }
  }
  for (const object of objects.keys()) {
    const lastEnd = found.get(object) ?? Number.NEGATIVE_INFINITY
    // Slow work of another location can have added later records of the same device meanwhile.
    const free = known.freeOf.get(object)
    if (free === undefined)
      known.freeOf.set(
        object,
        Array.from({ length: flows }, () => freeAfter(lastEnd)),
      )
    else for (const spans of free) occupy(spans, { start: Number.NEGATIVE_INFINITY, end: lastEnd })
  }
}

const spansOf = (known: KnownObjects, record: ObjectTime): FreeSpans | undefined =>
  known.freeOf.get(objectOf(record))?.[flowOf(record)]

const occupySpans = (known: KnownObjects, spans: FreeSpans, record: ObjectTime): void => {
  known.spanCount -= spans.length / 2
  occupy(spans, record)
  known.spanCount += spans.length / 2
}

/**
 * Add to `possible` the records of a location that may be stored already, or that were sent more than once in the step.
 * Note the times of all records. Records of unknown objects go to `unknown`.
 */
const examine = (
  known: KnownObjects,
  entries: readonly RecordToCost[],
  possible: RecordToCost[],
  unknown: RecordToCost[],
): void => {
  for (const entry of entries) {
    const { record, superseded } = entry
    const spans = spansOf(known, record)
    if (spans === undefined) {
      unknown.push(entry)
      continue
    }
    if (superseded !== undefined || !isFree(spans, record)) possible.push(entry)
    occupySpans(known, spans, record)
  }
}

/** Return the records that may be stored already, or that were sent more than once in the step. */
const possibleCorrections = async (
  db: ClickHouse,
  known: KnownObjects,
  records: Records,
  stored: Promise<void>,
): Promise<readonly RecordToCost[]> => {
  const timeSlice = startTimeSlices()
  const possible: RecordToCost[] = []
  const unknown: RecordToCost[] = []
  for (const entries of records.values()) {
    if (timeSlice.isOver()) await timeSlice.pause()
    examine(known, entries, possible, unknown)
  }
  if (unknown.length === 0) return possible
  await stored
  for (const objects of objectsOf(unknown)) await loadObjects(db, known, objects)
  // Objects that were dropped meanwhile stay unknown: their records may be stored.
  examine(known, unknown, possible, possible)
  return possible
}

const valuesOf = ({ record, part, sourceVersion }: RecordToCost): SubmittedValues => ({
  energy: record.energy,
  confidence: record.confidence,
  sourceVersion,
  batchId: part.batchId,
  receivedAt: part.receivedAt,
})

const isImported = ({ batchId }: SubmittedValues): boolean => batchId !== null && isOfImport(batchId)

const rowsOf = (entry: RecordToCost, stored: SubmittedValues | undefined): readonly MeterCorrectionRow[] => {
  const { record, part, superseded = [] } = entry
  const { accountId, liveMode } = part
  const { recordId, locationId, deviceId, start, end } = record
  return valueChanges(stored ?? null, [...superseded, entry].map(valuesOf), isImported).map(({ before, after }) => ({
    accountId,
    liveMode,
    recordId,
    locationId,
    deviceId,
    start,
    end,
    before,
    after,
    id: deterministicId('meterCorrection', after.receivedAt, [recordId, String(after.sourceVersion)]),
  }))
}

/** Create a finder over the stored rows. */
export const correctionFinder = (db: ClickHouse): CorrectionFinder => {
  const known: KnownObjects = { freeOf: new Map(), spanCount: 0 }
  const drop = (): void => {
    known.freeOf.clear()
    known.spanCount = 0
  }
  return {
    find: async (records, stored) => {
      const possible = await possibleCorrections(db, known, records, stored)
      const corrections = new Map<string, readonly MeterCorrectionRow[]>()
      if (possible.length === 0) return corrections
      await stored
      for (const own of Map.groupBy(possible, ({ part }) => tenantKey(part)).values()) {
        const { accountId, liveMode } = (own[0] as RecordToCost).part
        const keys = own.map(({ record }) => record)
        const values = await submittedValues(db, { accountId, liveMode }, keys)
        for (const entry of own) {
          const rows = rowsOf(entry, values.get(entry.record.recordId))
          if (rows.length > 0) corrections.set(entry.record.recordId, rows)
        }
      }
      return corrections
    },
    trim: () => {
      if (known.freeOf.size > maxKnown.objects || known.spanCount > maxKnown.spans) drop()
    },
    occupyIfFree: record => {
      const spans = spansOf(known, record)
      if (spans === undefined || !isFree(spans, record)) return false
      occupySpans(known, spans, record)
      return true
    },
    drop,
  }
}

/** Return the value that a record of an import replaced, for its undo. A chunk that the log has twice replaces nothing. */
const earlierValueOf = ({ before, after, ...row }: MeterCorrectionRow): readonly EarlierValueRow[] => {
  const { accountId, liveMode, recordId, locationId, deviceId, start } = row
  const { batchId, sourceVersion, receivedAt } = after
  if (batchId === null || batchId === before.batchId || !isOfImport(batchId)) return []
  return [
    {
      accountId,
      liveMode,
      locationId,
      start,
      recordId,
      isRestart: false,
      batchId,
      deviceId,
      batchBefore: before.batchId,
      before: { value: before.energy, confidence: before.confidence, ...noOptions },
      sourceVersion,
      receivedAt,
    },
  ]
}

/** Store the corrections of some records. A repeat writes the same rows. Call it before the rows of the records are stored. */
export const storeCorrections = async (
  db: ClickHouse,
  corrections: Corrections,
  records: readonly { readonly recordId: string }[],
): Promise<void> => {
  if (corrections.size === 0) return
  const rows = records.flatMap(({ recordId }) => corrections.get(recordId) ?? [])
  await insertRows(db, 'meter_corrections', correctionColumns, rows.filter(isCorrection))
  await insertRows(db, 'meter_earlier_values', earlierValueColumns, rows.flatMap(earlierValueOf))
}
