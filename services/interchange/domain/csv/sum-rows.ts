import { type FileReading, isRefusedRow, type ReadRow } from '../reading.ts'
import { sumNumberTexts } from './number-text.ts'
import { seriesOf } from './row-members.ts'

/** Row that waits for the rows of other registers. `values` are its values by register. */
type Entry = { row: ReadRow; readonly key: string | null; readonly values: Map<string, string> }

/** Adds the readings of a meter that differ in their register alone. */
export type RowSums = {
  readonly add: (rows: readonly ReadRow[]) => void
  /** Return the rows that are complete, in file order, and forget them. */
  readonly take: () => readonly ReadRow[]
  /** Complete all rows: the file has ended. */
  readonly end: () => void
}

/** Readings that wait: a year of steps of 5 minutes can be between two registers of a file. */
const maxWaiting = 220_000

const keyOf = (reading: FileReading): string =>
  [
    seriesOf({ ...reading, part: '' }),
    reading.sessionReferenceId ?? '',
    reading.recordReferenceId ?? '',
    reading.units,
    reading.start,
    reading.end,
  ].join('\n')

/** Return the lower one of two confidences. Null is a confidence of 1. */
const lowerConfidence = (one: string | null, other: string | null): string | null =>
  Number(one ?? 1) <= Number(other ?? 1) ? one : other

/**
 * Add the readings of equal times and directions with different texts in the column of the registers. A reading whose
 * register came before stays a row of its own, and is a repetition. Law: a sum leaves at the place of its first row, and a
 * row that is further away from it than the rows that wait is not added.
 * Source: docs/rules/imports.md #mixed-files.
 */
export const rowSums = (): RowSums => {
  const waiting = new Map<string, Entry>()
  let queue: Entry[] = []
  let hasEnded = false
  const addReading = (reading: FileReading): void => {
    const { part = '' } = reading
    const key = keyOf(reading)
    const first = waiting.get(key)
    if (first === undefined || first.values.has(part) || isRefusedRow(first.row)) {
      const entry: Entry = { row: reading, key, values: new Map([[part, reading.value]]) }
      if (first === undefined) waiting.set(key, entry)
      queue.push(entry)
      return
    }
    first.values.set(part, reading.value)
    const confidence = lowerConfidence(first.row.confidence, reading.confidence)
    first.row = { ...first.row, confidence, value: sumNumberTexts([...first.values.values()]) }
  }
  return {
    add: rows => {
      for (const row of rows) {
        if (isRefusedRow(row)) queue.push({ row, key: null, values: new Map() })
        else addReading(row)
      }
    },
    take: () => {
      if (!hasEnded && queue.length <= maxWaiting) return []
      const complete = hasEnded ? queue.length : queue.length - maxWaiting / 2
      const taken = queue.slice(0, complete)
      queue = queue.slice(complete)
      for (const entry of taken) if (entry.key !== null && waiting.get(entry.key) === entry) waiting.delete(entry.key)
      return taken.map(({ row }) => row)
    },
    end: () => {
      hasEnded = true
    },
  }
}
