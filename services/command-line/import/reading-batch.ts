import { objectNameText } from '../../contract/interchange/file-reading.ts'
import { type FileReading, isRefusedRow, type ReadRow, type RefusedRow } from '../../domain/interchange/reading.ts'

/** Rows that are sent together and acknowledged together. */
export type ReadingBatch = {
  /** Last line of which the batch has rows. */
  readonly lastLine: number
  /** Interval records in the order of the submission. */
  readonly intervals: readonly FileReading[]
  /** Readings by register and session. */
  readonly registers: ReadonlyMap<string, readonly FileReading[]>
  /** Rows that are refused before they are sent. */
  readonly refused: readonly RefusedRow[]
  /** Times of the readings by meter. */
  readonly times: ReadonlyMap<string, TimeRange>
}

/** First and last time of the readings of a meter. Instants in ms. */
type TimeRange = { first: number; last: number }

export type BatchBuilder = {
  readonly add: (row: ReadRow) => void
  /** Return whether the batch is full. A line is never split, so that an import can continue at the next line. */
  readonly isFull: (nextLine: number) => boolean
  readonly isEmpty: () => boolean
  readonly build: () => ReadingBatch
}

/** Number of readings of a batch. A submission has at most 10,000. */
export const batchReadings = 5_000
const maxBatchReadings = 10_000
/** Refused rows of a batch. */
const maxRefused = 10_000

const meterOf = ({ location, device }: FileReading): string =>
  device === null ? objectNameText(location) : `${objectNameText(location)}\n${objectNameText(device)}`

const registerOf = (reading: FileReading): string =>
  [
    meterOf(reading),
    reading.sessionReferenceId,
    reading.units,
    reading.directions?.energyFlowDirection,
    reading.directions?.tariffDirection,
  ].join('\n')

/** Start a batch. */
export const startBatch = (): BatchBuilder => {
  const intervals: FileReading[] = []
  const registers = new Map<string, FileReading[]>()
  const refused: RefusedRow[] = []
  const times = new Map<string, TimeRange>()
  let lastLine = 0
  let count = 0
  const noteTime = (reading: FileReading): void => {
    const meter = meterOf(reading)
    const range = times.get(meter)
    if (range === undefined) times.set(meter, { first: reading.start, last: reading.end })
    else {
      range.first = Math.min(range.first, reading.start)
      range.last = Math.max(range.last, reading.end)
    }
  }
  const add = (row: ReadRow): void => {
    lastLine = row.line
    if (isRefusedRow(row)) {
      refused.push(row)
      return
    }
    count += 1
    noteTime(row)
    if (!row.isRegister) {
      intervals.push(row)
      return
    }
    const register = registers.get(registerOf(row))
    if (register === undefined) registers.set(registerOf(row), [row])
    else register.push(row)
  }
  return {
    add,
    isFull: nextLine =>
      count === maxBatchReadings || ((count >= batchReadings || refused.length >= maxRefused) && nextLine !== lastLine),
    isEmpty: () => lastLine === 0,
    build: () => ({ lastLine, intervals, registers, refused, times }),
  }
}

/**
 * Return whether two batches have readings of a meter at the same time. They are sent one after the other, so that the later
 * row of a file wins.
 */
export const areBatchesRelated = (one: ReadingBatch, other: ReadingBatch): boolean => {
  const [few, many] = one.times.size < other.times.size ? [one, other] : [other, one]
  for (const [meter, { first, last }] of few.times) {
    const range = many.times.get(meter)
    if (range !== undefined && range.first < last && first < range.last) return true
  }
  return false
}
