import { hashTable } from './hash-table.ts'
import { meterMap } from './meter-map.ts'
import type { FileReading, ObjectName } from './reading.ts'

/** Readings of a file by their identity: meter, directions, references and times. */
export type FileIdentities = {
  /** Note a reading. Returns the line of the first reading with its identity; null if this is the first. */
  readonly note: (reading: FileReading) => number | null
  /** Line of the first reading that is not compared, because the memory is full; null if all are compared. */
  readonly uncomparedFrom: () => number | null
}

/**
 * Times in equal steps: `first + step × n`, n below `count`. Times of a file in descending order are negated, so that steps
 * are above zero. Lines are in equal steps too, unless `lines` has them.
 */
type Run = {
  readonly first: number
  readonly firstLine: number
  step: number
  count: number
  lineStep: number
  lines: number[] | null
}

/** Readings of a meter with equal directions and length, in ascending order. Their runs do not overlap. */
type Series = {
  readonly flow: string
  readonly tariff: string
  readonly isRegister: boolean
  readonly isRestart: boolean
  readonly length: number
  /** -1 if the times of the file descend. */
  sign: 1 | -1
  readonly runs: Run[]
}

/** Memory of a run, a series and a line in bytes, about. */
const [runBytes, seriesBytes, lineBytes] = [120, 250, 8]
/** Lengths and directions of a meter that have a series. */
const maxSeriesOfMeter = 8
/** A run of this count ends at a line out of step. A shorter one keeps its lines. */
const longRun = 8

/** Series of a meter, and the number of the meter in the file. */
type Meter = { readonly number: number; readonly all: Series[] }

const lengthOf = (name: ObjectName | null): number =>
  name === null ? 0 : 'id' in name ? name.id.length : name.reference.length

const flowOf = ({ directions }: FileReading): string => directions?.energyFlowDirection ?? 'INBOUND'
const tariffOf = ({ directions }: FileReading): string => directions?.tariffDirection ?? 'IMPORT'

/** Return the position of the last run that begins at or before a time; -1 if there is none. */
const runBefore = (runs: readonly Run[], time: number): number => {
  let [low, high] = [0, runs.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((runs[middle] as Run).first <= time) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** Return the line of a time in its run; null if the run does not have the time. */
const lineOf = (run: Run | undefined, time: number): number | null => {
  if (run === undefined) return null
  const position = run.count === 1 ? time - run.first : (time - run.first) / run.step
  if (!Number.isInteger(position) || position >= run.count) return null
  return run.lines?.[position] ?? run.firstLine + run.lineStep * position
}

const newRun = (first: number, firstLine: number): Run => ({
  ...{ first, firstLine, step: 0, count: 1, lineStep: 0, lines: null },
})

const linesOf = ({ firstLine, lineStep, count }: Run): number[] =>
  Array.from({ length: count }, (_, position) => firstLine + lineStep * position)

/** Add a time after the last one of a run. Returns the memory for it; null if the time or its line is out of step. */
const extendRun = (run: Run, time: number, line: number): number | null => {
  if (run.count === 1) {
    run.step = time - run.first
    run.lineStep = line - run.firstLine
  } else if (time !== run.first + run.step * run.count) return null
  let bytes = 0
  if (run.lines === null && line !== run.firstLine + run.lineStep * run.count) {
    if (run.count >= longRun) return null
    run.lines = linesOf(run)
    bytes = run.count * lineBytes
  }
  run.lines?.push(line)
  run.count += 1
  return run.lines === null ? bytes : bytes + lineBytes
}

/** Add a time to the end of a series. Returns the memory for it; null if the time is not after all others. */
const extendSeries = (series: Series, start: number, line: number): number | null => {
  const last = series.runs.at(-1)
  if (last !== undefined && series.runs.length === 1 && last.count === 1 && start < last.first && series.sign === 1) {
    series.sign = -1
    series.runs[0] = newRun(-last.first, last.firstLine)
  }
  const time = start * series.sign
  const run = series.runs.at(-1)
  if (run !== undefined && time <= run.first + run.step * (run.count - 1)) return null
  const bytes = run === undefined ? null : extendRun(run, time, line)
  if (bytes !== null) return bytes
  series.runs.push(newRun(time, line))
  return runBytes
}

const findSeries = (seriesOfMeter: readonly Series[], reading: FileReading): Series | undefined => {
  const length = reading.end - reading.start
  for (const one of seriesOfMeter) {
    if (
      one.length === length &&
      one.flow === flowOf(reading) &&
      one.tariff === tariffOf(reading) &&
      one.isRegister === reading.isRegister &&
      one.isRestart === reading.isRestart
    )
      return one
  }
  return undefined
}

/**
 * Find repeated identities in a file, in file order. Readings of a meter in equal steps need no memory of their own. Others
 * need about 20 bytes. Above `maxBytes` the function compares no further readings.
 * Two identities are equal with a chance of 1 to 10^19 for each pair of readings that are out of step.
 * Source: docs/rules/imports.md #laws.
 */
export const fileIdentities = (maxBytes: number): FileIdentities => {
  const meters = meterMap<Meter>()
  const others = hashTable()
  let meterCount = 0
  let bytes = 0
  let uncomparedFrom: number | null = null

  const meterOf = (reading: FileReading): Meter => {
    const known = meters.get(reading)
    if (known !== undefined) return known
    const meter: Meter = { number: meterCount, all: [] }
    meters.set(reading, meter)
    meterCount += 1
    bytes += seriesBytes + lengthOf(reading.location) + lengthOf(reading.device)
    return meter
  }

  const noteOther = ({ number }: Meter, reading: FileReading): number | null => {
    const kind = (reading.isRegister ? 1 : 0) + (reading.isRestart ? 2 : 0)
    const [session, record] = reading.isRegister
      ? [null, null]
      : [reading.sessionReferenceId, reading.recordReferenceId]
    const texts = [flowOf(reading), tariffOf(reading), session, record]
    return others.add([number, kind, reading.start, reading.end], texts, reading.line)
  }

  const noteInSeries = (all: Series[], reading: FileReading): number | null | undefined => {
    let series = findSeries(all, reading)
    if (series === undefined) {
      if (all.length === maxSeriesOfMeter) return undefined
      series = {
        ...{ flow: flowOf(reading), tariff: tariffOf(reading), isRegister: reading.isRegister },
        isRestart: reading.isRestart,
        ...{ length: reading.end - reading.start, sign: 1, runs: [] },
      }
      all.push(series)
      bytes += seriesBytes
    }
    const added = extendSeries(series, reading.start, reading.line)
    if (added !== null) {
      bytes += added
      return null
    }
    const time = reading.start * series.sign
    return lineOf(series.runs[runBefore(series.runs, time)], time) ?? undefined
  }

  return {
    note: reading => {
      if (uncomparedFrom !== null) return null
      if (bytes + others.bytes() > maxBytes) {
        uncomparedFrom = reading.line
        return null
      }
      const hasReferences =
        !reading.isRegister && (reading.sessionReferenceId !== null || reading.recordReferenceId !== null)
      const meter = meterOf(reading)
      const line = hasReferences ? undefined : noteInSeries(meter.all, reading)
      return line === undefined ? noteOther(meter, reading) : line
    },
    uncomparedFrom: () => uncomparedFrom,
  }
}
