import { type Interval, overlaps } from '../interval.ts'
import type { Energy } from '../quantity.ts'
import { defaultMaxPower, isPlausible, type RegisterRule } from './reading-rules.ts'
import { fullConfidence, type MeterRecord } from './record.ts'

/**
 * Doubts about stored records. implausible_energy: a mean power above 10 MW. overlapping_records: actuals of one series
 * with different lengths share time.
 */
export const warningCodes = ['implausible_energy', 'overlapping_records'] as const

export type WarningCode = (typeof warningCodes)[number]

/** Warning about records of a submission: their count, and the numbers of the first 100, ascending. */
export type SubmissionWarning = {
  readonly code: WarningCode
  readonly records: number
  readonly recordNumbers: readonly number[]
}

/** Place of the first overlap of stored records; `start` in ms. */
export type RecordOverlap = Pick<MeterRecord, 'locationId' | 'deviceId' | 'start'>

/** Maximum number of record numbers of a warning. */
export const maxWarnedNumbers = 100

/** Energy (1e-6 Wh) of 10 MW in 1 ms, rounded down. */
const plausibleEnergyPerMs = Number(defaultMaxPower / 3_600_000n)

/**
 * Return whether a record needs a mean power above 10 MW that its object does not allow. An impulse has no power.
 * Source: docs/rules/metering.md #warnings.
 */
export const isImplausible = (
  rule: Pick<RegisterRule, 'maxPower'> | null,
  { start, end, energy }: Interval & { readonly energy: Energy | number },
): boolean => {
  const ms = end - start
  // The comparison of numbers is faster, and lets no implausible record pass.
  if (ms === 0 || Number(energy) <= ms * plausibleEnergyPerMs) return false
  const maxPower = rule?.maxPower ?? defaultMaxPower
  return !isPlausible(BigInt(energy), ms, maxPower > defaultMaxPower ? maxPower : defaultMaxPower)
}

/** Return whether a record can overlap others: an actual with energy and length. */
export const isActual = ({
  start,
  end,
  energy,
  confidence,
}: Interval & { readonly energy: Energy | number; readonly confidence: number }): boolean =>
  end > start && confidence === fullConfidence && Number(energy) > 0

/** Return whether two records of a series share time and differ in length. */
const doOverlap = (a: Interval, b: Interval): boolean => a.end - a.start !== b.end - b.start && overlaps(a, b)

/**
 * Return the actuals of one series, in any order, that share time with an actual of another length. Each is compared
 * with the one that ends last among those that start before it.
 * Law: the result is empty if and only if no two of them share time and differ in length.
 */
export const overlappingRecords = <Row extends Interval>(actuals: readonly Row[]): readonly Row[] => {
  const found = new Set<Row>()
  let [last, ...rest] = actuals.toSorted((a, b) => a.start - b.start)
  if (last === undefined) return []
  for (const row of rest) {
    if (doOverlap(last, row)) found.add(last).add(row)
    if (row.end > last.end) last = row
  }
  return [...found]
}

/** Record as the search sees it. */
export type SearchedRecord = Interval &
  Pick<
    MeterRecord,
    | ('locationId' | 'deviceId' | 'energyFlowDirection' | 'tariffDirection')
    | ('sessionReferenceId' | 'energy' | 'confidence')
  >

const seriesOf = (record: SearchedRecord): string => {
  const { locationId, deviceId, energyFlowDirection, tariffDirection, sessionReferenceId: session } = record
  return `${locationId} ${deviceId} ${energyFlowDirection} ${tariffDirection}${session === null ? '' : ` ${session}`}`
}

/** Compare the series of two records. It takes less time than writing a series. */
const areOfOneSeries = (a: SearchedRecord, b: SearchedRecord): boolean =>
  a.deviceId === b.deviceId &&
  a.sessionReferenceId === b.sessionReferenceId &&
  a.energyFlowDirection === b.energyFlowDirection &&
  a.tariffDirection === b.tariffDirection &&
  a.locationId === b.locationId

/** Search for overlaps in rows by ascending start. */
export type OverlapSearch = {
  readonly add: (record: SearchedRecord) => void
  /** Return the first overlap; null if there is none. */
  readonly first: () => RecordOverlap | null
}

/** Create a search. A series has one location, device, pair of directions and session. */
export const overlapSearch = (): OverlapSearch => {
  const lastOfSeries = new Map<string, SearchedRecord>()
  let found: RecordOverlap | null = null
  let previous: SearchedRecord | null = null
  let series = ''
  return {
    add: record => {
      if (found !== null || !isActual(record)) return
      if (previous === null || !areOfOneSeries(previous, record)) series = seriesOf(record)
      previous = record
      const last = lastOfSeries.get(series)
      const { locationId, deviceId, start } = record
      if (last !== undefined && doOverlap(last, record)) found = { locationId, deviceId, start }
      if (last === undefined || record.end > last.end) lastOfSeries.set(series, record)
    },
    first: () => found,
  }
}
