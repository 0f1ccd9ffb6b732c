import { seededRandom } from '../random.ts'

/** Record with a random energy. `value` is the text of the number as the service writes it. */
export type DecimalRecord = {
  readonly record_reference_id: string
  readonly value: string
  readonly start_time: string
  readonly end_time: string
}

const minuteMs = 60_000
const start = Date.UTC(2026, 0, 1)

const withoutTrailingZeros = (digits: string): string => {
  const last = digits.split('').findLastIndex(digit => digit !== '0')
  return digits.slice(0, last + 1)
}

/**
 * Generate records of one minute each with random energies in Wh: up to 11 digits before the point and 6 after it.
 * A binary fraction cannot keep 17 digits.
 */
export const generateDecimalRecords = (count: number, seed = 1): readonly DecimalRecord[] => {
  const random = seededRandom(seed)
  const digits = (length: number): string => Array.from({ length }, () => random.below(10)).join('')
  return Array.from({ length: count }, (_, index): DecimalRecord => {
    const whole = `${1 + random.below(9)}${digits(random.below(11))}`
    const fraction = withoutTrailingZeros(digits(random.below(7)))
    const at = start + index * minuteMs
    return {
      record_reference_id: `decimal ${index}`,
      value: fraction === '' ? whole : `${whole}.${fraction}`,
      start_time: new Date(at).toISOString(),
      end_time: new Date(at + minuteMs).toISOString(),
    }
  })
}
