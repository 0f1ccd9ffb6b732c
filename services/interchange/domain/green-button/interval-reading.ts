import { numberTextOf } from '../csv/number-text.ts'
import { directionsOf, type FileReading, type ObjectName, type ReadRow, refusedRow } from '../reading.ts'
import { type EspiValue, elements, member, textMember } from './espi.ts'
import type { ReadingMeaning } from './feed.ts'

const confidenceByQuality: Readonly<Record<string, string | null>> = {
  '0': null,
  '7': null,
  '14': null,
  '17': null,
  '18': null,
  '19': null,
  '8': '0.9',
  '9': '0.9',
  '11': '0.9',
  '13': '0.9',
  '15': '0.9',
  '16': '0.9',
  '10': '0.5',
  '12': '0.5',
}

/** Return the lowest confidence of the qualities of a reading; null is confidence 1, undefined an unknown quality. */
const confidenceOf = (reading: EspiValue): string | null | undefined => {
  let lowest: string | null = null
  for (const quality of elements(reading, 'ReadingQuality')) {
    const confidence = confidenceByQuality[textMember(quality, 'quality') ?? '0']
    if (confidence === undefined) return undefined
    if (confidence !== null && (lowest === null || confidence < lowest)) lowest = confidence
  }
  return lowest
}

/** Shift the decimal mark of an integer text by an exponent, exactly. */
const shifted = (text: string, exponent: number): string => {
  if (exponent >= 0) return numberTextOf(text + '0'.repeat(exponent), plainMarks) ?? text
  const digits = text.padStart(1 - exponent, '0')
  return numberTextOf(`${digits.slice(0, exponent)}.${digits.slice(exponent)}`, plainMarks) ?? text
}

const plainMarks = { decimal: '.', thousands: '' } as const
const epochText = /^-?\d{1,11}$/
const valueText = /^-?\d{1,18}$/

/** Meter whose readings are read. */
export type EspiMeter = {
  readonly location: ObjectName
  readonly device: ObjectName | null
  readonly meaning: ReadingMeaning
}

/**
 * Read one IntervalReading of an entry at a line. Start and duration are seconds. A reading without duration is refused,
 * unless it is a register. Negative net energy is sold energy.
 */
export const readIntervalReading = (reading: EspiValue, line: number, meter: EspiMeter): ReadRow => {
  const { isRegister, exponent, units, flow } = meter.meaning
  const period = member(reading, 'timePeriod')
  const [startText, durationText] = [textMember(period, 'start') ?? '', textMember(period, 'duration') ?? '0']
  if (!epochText.test(startText) || !epochText.test(durationText))
    return refusedRow(line, 'timePeriod', 'not_a_time', 'start and duration must be whole seconds.')
  const text = textMember(reading, 'value') ?? ''
  if (!valueText.test(text)) return refusedRow(line, 'value', 'not_a_number', 'value must be a whole number.')
  const [start, duration] = [Number(startText) * 1000, Number(durationText) * 1000]
  if (duration < 0) return refusedRow(line, 'duration', 'end_before_start', 'The duration must not be negative.')
  if (duration === 0 && !isRegister) return refusedRow(line, 'duration', 'zero_duration', 'The interval has no length.')
  const confidence = confidenceOf(reading)
  if (confidence === undefined) {
    return refusedRow(line, 'quality', 'field_invalid', 'The quality is not one of 0 and 7 to 19.')
  }
  const isNegative = text.startsWith('-')
  if (isNegative && flow !== 'NET')
    return refusedRow(line, 'value', 'value_out_of_range', 'Only net energy can be negative.')
  const isSold = flow === 'OUTBOUND' || isNegative
  const result: FileReading = {
    line,
    isRegister,
    isRestart: false,
    location: meter.location,
    device: meter.device,
    sessionReferenceId: null,
    recordReferenceId: null,
    units,
    confidence,
    directions: directionsOf(isSold ? 'EXPORT' : 'IMPORT') ?? null,
    value: shifted(isNegative ? text.slice(1) : text, exponent),
    ...(isRegister ? { start: start + duration, end: start + duration } : { start, end: start + duration }),
  }
  return result
}
