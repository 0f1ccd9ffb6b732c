import type { MeterBatchWire } from '../../contract/metering/meter-batch.ts'
import type { FileReading } from '../domain/reading.ts'

/** Doubt about stored records: the number of records, and the lines of the first 100 of them. */
export type ImportWarning = {
  readonly code: string
  readonly message: string
  readonly records: number
  readonly lines: readonly number[]
}

const maxLines = 100
const shownLines = 10

/** Return the warnings of a receipt with the lines of the records. `readings` are in the order of the submission. */
export const warningsOfReceipt = (
  { warnings = [] }: Pick<MeterBatchWire, 'warnings'>,
  readings: readonly Pick<FileReading, 'line'>[],
): readonly ImportWarning[] =>
  warnings.map(({ code, message, records = 0, record_nums: numbers = [] }) => ({
    code,
    message,
    records,
    lines: numbers.flatMap(recordNumber => readings[recordNumber - 1]?.line ?? []),
  }))

/** Return the warnings of several submissions by code, in their order. */
export const sumWarnings = (warnings: readonly ImportWarning[]): readonly ImportWarning[] =>
  [...Map.groupBy(warnings, ({ code }) => code).values()].flatMap(([first, ...rest]) => {
    if (first === undefined) return []
    const same = [first, ...rest]
    const records = same.reduce((sum, one) => sum + one.records, 0)
    return [{ ...first, records, lines: same.flatMap(({ lines }) => lines).slice(0, maxLines) }]
  })

/** Return the sentence of a warning for the terminal. */
export const warningLine = ({ code, message, records, lines }: ImportWarning): string => {
  const more = records > shownLines ? ', …' : ''
  const shown = `${records === 1 ? 'line' : 'lines'} ${lines.slice(0, shownLines).join(', ')}${more}`
  return `  Warning: ${records.toLocaleString('en')} stored record${records === 1 ? '' : 's'} (${shown}): ${code}: ${message}`
}
