import { objectNameText } from '../contract/file-reading.ts'
import { type FileReading, isRefusedRow, type ObjectName, type ReadRow, type RefusedRow } from '../domain/reading.ts'

/** Rows that are sent together and acknowledged together. */
export type ReadingBatch = {
  /** Last line of which the batch has rows. */
  readonly lastLine: number
  /** Number of readings. */
  readonly count: number
  /** Interval records in the order of the submission. */
  readonly intervals: readonly FileReading[]
  /** Readings by register and session. */
  readonly registers: ReadonlyMap<string, readonly FileReading[]>
  /** Rows that are refused before they are sent. */
  readonly refused: readonly RefusedRow[]
  /** Times of the readings of each meter: by location, then by device. */
  readonly times: ReadonlyMap<string, ReadonlyMap<string, TimeRange>>
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

/** Number of readings of a submission. The service takes at most 10,000. */
export const batchReadings = 5_000
const maxBatchReadings = 10_000
/** Readings of a batch with several registers. Each register of a batch is a submission with a receipt: large batches need few. */
const registerBatchReadings = 80_000
/** Refused rows of a batch. */
const maxRefused = 10_000

const meterOf = ({ location, device }: FileReading): string =>
  device === null ? objectNameText(location) : `${objectNameText(location)}\n${objectNameText(device)}`

/** Key of an object. An id and an equal reference share it: their batches are then sent one after the other. */
const keyOf = (name: ObjectName | null): string => (name === null ? '' : 'id' in name ? name.id : name.reference)

const registerOf = (reading: FileReading): string =>
  [
    meterOf(reading),
    reading.sessionReferenceId,
    reading.units,
    reading.directions?.energyFlowDirection,
    reading.directions?.tariffDirection,
  ].join('\n')

const isSameRegister = (one: FileReading, other: FileReading): boolean =>
  one.location === other.location &&
  one.device === other.device &&
  one.sessionReferenceId === other.sessionReferenceId &&
  one.units === other.units &&
  one.directions === other.directions

/** Start a batch. */
export const startBatch = (): BatchBuilder => {
  const intervals: FileReading[] = []
  const registers = new Map<string, FileReading[]>()
  /** Readings of the register of the last row: most rows are of the same register as the row before. */
  let register: FileReading[] = []
  const refused: RefusedRow[] = []
  const times = new Map<string, Map<string, TimeRange>>()
  let lastLine = 0
  let count = 0
  /** Readings of the largest submission. */
  let largest = 0
  const noteTime = (reading: FileReading): void => {
    const { location, device, start: first, end: last } = reading
    // Two look-ups are faster than a joined key, which is a new text for each row.
    const meters = times.get(keyOf(location))
    const range = meters?.get(keyOf(device))
    if (meters === undefined) times.set(keyOf(location), new Map([[keyOf(device), { first, last }]]))
    else if (range === undefined) meters.set(keyOf(device), { first, last })
    else {
      range.first = Math.min(range.first, first)
      range.last = Math.max(range.last, last)
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
      largest = Math.max(largest, intervals.push(row))
      return
    }
    const [before] = register
    if (before === undefined || !isSameRegister(before, row)) {
      const key = registerOf(row)
      register = registers.get(key) ?? []
      registers.set(key, register)
    }
    largest = Math.max(largest, register.push(row))
  }
  return {
    add,
    isFull: nextLine =>
      largest === maxBatchReadings ||
      (nextLine !== lastLine &&
        (largest >= batchReadings || count >= registerBatchReadings || refused.length >= maxRefused)),
    isEmpty: () => lastLine === 0,
    build: () => ({ lastLine, count, intervals, registers, refused, times }),
  }
}

/**
 * Return whether two batches have readings of a meter at the same time. They are sent one after the other, so that the later
 * row of a file wins.
 */
export const areBatchesRelated = (one: ReadingBatch, other: ReadingBatch): boolean => {
  const [few, many] = one.times.size < other.times.size ? [one, other] : [other, one]
  for (const [location, meters] of few.times) {
    const others = many.times.get(location)
    if (others === undefined) continue
    for (const [device, { first, last }] of meters) {
      const range = others.get(device)
      if (range !== undefined && range.first < last && first < range.last) return true
    }
  }
  return false
}
