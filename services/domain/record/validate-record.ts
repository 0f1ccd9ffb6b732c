import { dayMs } from '../interval.ts'
import { divideHalfEven, readDecimal } from '../quantity.ts'
import { accepted, type Refusal, type Result, refused } from '../refusal.ts'
import type { TariffDirection } from '../tariff/tariff.ts'
import { type EnergyFlowDirection, fullConfidence } from './record.ts'

/** Maximum length of a record, and of the interval between two register readings, in ms. */
export const maxRecordMs: number = 366 * dayMs
/** 2000-01-01T00:00:00Z, the earliest instant of a record. */
export const earliestRecordAt = 946_684_800_000
/** Maximum time from now to the end of a record, in ms. */
export const maxAheadMs: number = 7 * dayMs

/**
 * Return the reason to refuse the interval of a record that arrives at `at` (ms); null if the interval is valid.
 * An interval without length is an impulse. Refuses an end before the start, a length above 366 days, a start before
 * 2000-01-01 and an end more than 7 days after `at`.
 * Source: docs/rules/metering.md #intervals.
 */
export const refuseInterval = (start: number, end: number, at: number): Refusal | null => {
  if (end >= start && end - start <= maxRecordMs && start >= earliestRecordAt && end <= at + maxAheadMs) return null
  return explainInterval(start, end)
}

const explainInterval = (start: number, end: number): Refusal => {
  if (end < start) return refused('end_before_start', 'end_time must not be before start_time', 'end_time').refusal
  if (end - start > maxRecordMs) {
    return refused('interval_too_long', 'end_time must be at most 366 days after start_time', 'end_time').refusal
  }
  if (start < earliestRecordAt)
    return refused('time_out_of_range', 'start_time must not be before 2000-01-01T00:00:00Z', 'start_time').refusal
  return refused('time_out_of_range', 'end_time must be at most 7 days ahead', 'end_time').refusal
}

/**
 * Return the default tariff direction of a record: IMPORT for INBOUND, EXPORT for OUTBOUND.
 * Source: docs/rules/metering.md #directions.
 */
export const defaultTariffDirection = (flow: EnergyFlowDirection): TariffDirection =>
  flow === 'INBOUND' ? 'IMPORT' : 'EXPORT'

/**
 * Return the reason to refuse a pair of directions; null if it is valid. Valid pairs are energy that is bought, sold,
 * used from own generation or supplied from storage.
 * Refuses INBOUND with EXPORT and OUTBOUND with LOCAL.
 * Source: docs/rules/metering.md #directions.
 */
export const refuseDirections = (flow: EnergyFlowDirection, tariffDirection: TariffDirection): Refusal | null => {
  if (flow === 'INBOUND' && tariffDirection === 'EXPORT') {
    const advice =
      'tariff_direction EXPORT cannot stand with energy_flow_direction INBOUND; set energy_flow_direction to OUTBOUND'
    return refused('direction_pair_refused', advice, 'tariff_direction').refusal
  }
  if (flow === 'OUTBOUND' && tariffDirection === 'LOCAL') {
    const advice =
      'tariff_direction LOCAL cannot stand with energy_flow_direction OUTBOUND; set energy_flow_direction to INBOUND'
    return refused('direction_pair_refused', advice, 'tariff_direction').refusal
  }
  return null
}

const parsingScale = 40
const millionthDivisor = 10n ** 34n
const fullAtParsingScale = 10n ** 40n

/**
 * Read a confidence from its decimal text, in 1e-6, rounded half to even.
 * Values below 1 stay below 1, because they mark an estimate. Values above 0 stay above 0. Refuses values outside 0 < c
 * ≤ 1.
 * Source: docs/rules/metering.md #estimates.
 */
export const readConfidence = (text: string): Result<number> => {
  const read = readDecimal(text, { scale: parsingScale, min: 1n, max: fullAtParsingScale }, 'confidence')
  if (!read.ok) {
    if (read.refusal.code !== 'value_out_of_range') return read
    return refused('value_out_of_range', 'confidence must be above 0 and at most 1', 'confidence')
  }
  if (read.value === fullAtParsingScale) return accepted(fullConfidence)
  const millionths = Number(divideHalfEven(read.value, millionthDivisor))
  return accepted(Math.min(Math.max(millionths, 1), fullConfidence - 1))
}
