import { hashTable } from './hash-table.ts'
import { meterMap } from './meter-map.ts'
import type { FileReading, ObjectName } from './reading.ts'
import { type TimeList, timeList } from './time-list.ts'

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

/** Readings of a track with equal length, in ascending order. Their runs do not overlap. */
type Series = {
  readonly length: number
  /** -1 if the times of the file descend. */
  sign: 1 | -1
  readonly runs: Run[]
  /** Readings of this length. Some are not in the runs if `hasOthers`. */
  count: number
  hasOthers: boolean
}

/** Readings of a meter with equal directions and kind. `others`: those without a series that were the last ones. */
type Track = {
  readonly kind: number
  readonly series: Series[]
  readonly others: TimeList
  /** 1 if the starts of the file ascend, -1 if they descend, 0 before the second one. */
  sign: 0 | 1 | -1
  /** Start beyond which the track has no reading. */
  last: number
}

/** Memory of a run, a series and a line in bytes, about. */
const [runBytes, seriesBytes, lineBytes] = [120, 250, 8]
/** Lengths of a track that have a series. */
const maxSeriesOfTrack = 8
/** A run of this count ends at a line out of step. A shorter one keeps its lines. */
const longRun = 8
/** A series of more runs than this begins no further one while it has fewer readings for each: a list is smaller then. */
const [maxShortRuns, readingsOfRun] = [16, 16]

/** Tracks of a meter, and the number of the meter in the file. */
type Meter = { readonly number: number; readonly tracks: Track[] }

const lengthOf = (name: ObjectName | null): number =>
  name === null ? 0 : 'id' in name ? name.id.length : name.reference.length

const flowOf = ({ directions }: FileReading): string => directions?.energyFlowDirection ?? 'INBOUND'
const tariffOf = ({ directions }: FileReading): string => directions?.tariffDirection ?? 'IMPORT'

/** Return a number for the directions and the kind of a reading. */
const kindOf = (reading: FileReading): number => {
  const kind = (reading.isRegister ? 1 : 0) + (reading.isRestart ? 2 : 0)
  const flow = flowOf(reading) === 'INBOUND' ? 0 : 4
  const tariff = tariffOf(reading)
  return kind + flow + (tariff === 'IMPORT' ? 0 : tariff === 'EXPORT' ? 8 : 16)
}

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

const newRun = (first: number, firstLine: number): Run => {
  const steps = { step: 0, count: 1, lineStep: 0 }
  return { first, firstLine, ...steps, lines: null }
}

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

/** Return the line of a start in the runs of a series; null if they do not have it. */
const lineInSeries = ({ runs, sign }: Series, start: number): number | null =>
  lineOf(runs[runBefore(runs, start * sign)], start * sign)

/** Return whether a series gets a reading. `isLast`: the reading is beyond all others of the track. */
const isOpen = ({ runs, count, hasOthers }: Series, isLast: boolean): boolean =>
  (isLast || !hasOthers) && (runs.length <= maxShortRuns || count >= runs.length * readingsOfRun)

/** Return whether a start is beyond all others of a track, which then ends with it. Such a reading cannot be a repeat. */
const isBeyond = (track: Track, start: number): boolean => {
  if (track.sign === 0 && start !== track.last) track.sign = start > track.last ? 1 : -1
  if ((start - track.last) * track.sign <= 0) return false
  track.last = start
  return true
}

/** Memory of the identities in bytes, about. */
type Memory = { bytes: number }

/** Return the series of a length; undefined if the track has the series of too many others. */
const seriesOf = ({ series: all }: Track, length: number, memory: Memory): Series | undefined => {
  for (const one of all) if (one.length === length) return one
  if (all.length === maxSeriesOfTrack) return undefined
  const series: Series = { length, sign: 1, runs: [], count: 0, hasOthers: false }
  all.push(series)
  memory.bytes += seriesBytes
  return series
}

/** Return the line of an equal reading; null if the reading is the first and is added; undefined if neither is known. */
const noteInTrack = (track: Track, { start, end, line }: FileReading, memory: Memory): number | null | undefined => {
  const isLast = isBeyond(track, start)
  const series = seriesOf(track, end - start, memory)
  if (series !== undefined) {
    series.count += 1
    const added = isOpen(series, isLast) ? extendSeries(series, start, line) : null
    if (added !== null) {
      memory.bytes += added
      return null
    }
  }
  const known = isLast || series === undefined ? null : lineInSeries(series, start)
  if (known !== null) return known
  if (series !== undefined) series.hasOthers = true
  if (!isLast) return track.others.find(start, end, track.sign === -1 ? -1 : 1) ?? undefined
  memory.bytes += track.others.append(start, end, line)
  return null
}

const trackOf = ({ tracks }: Meter, reading: FileReading, memory: Memory): Track => {
  const kind = kindOf(reading)
  for (const one of tracks) if (one.kind === kind) return one
  const track: Track = { kind, series: [], others: timeList(), sign: 0, last: reading.start }
  tracks.push(track)
  memory.bytes += seriesBytes
  return track
}

/**
 * Find repeated identities in a file, in file order. Readings of a meter in equal steps need no memory of their own. Others
 * need 24 to 40 bytes. Above `maxBytes` the function compares no further readings.
 * Two identities are equal with a chance of 1 to 10^19 for each pair of readings that are out of step.
 * Source: docs/rules/imports.md #laws.
 */
export const fileIdentities = (maxBytes: number): FileIdentities => {
  const meters = meterMap<Meter>()
  const others = hashTable()
  let meterCount = 0
  const memory: Memory = { bytes: 0 }
  let uncomparedFrom: number | null = null

  const meterOf = (reading: FileReading): Meter => {
    const known = meters.get(reading)
    if (known !== undefined) return known
    const meter: Meter = { number: meterCount, tracks: [] }
    meters.set(reading, meter)
    meterCount += 1
    memory.bytes += seriesBytes + lengthOf(reading.location) + lengthOf(reading.device)
    return meter
  }

  /** Return the line of an equal reading in the hash table; null if there is none, and the reading is added. */
  const noteInTable = ({ number }: Meter, reading: FileReading): number | null => {
    const { isRegister, sessionReferenceId: session, recordReferenceId: record, start, end, line } = reading
    const integers = [number, kindOf(reading), start, end]
    return others.add(integers, isRegister ? [null, null] : [session, record], line)
  }

  return {
    note: reading => {
      if (uncomparedFrom !== null) return null
      if (memory.bytes + others.bytes() > maxBytes) {
        uncomparedFrom = reading.line
        return null
      }
      const hasReferences =
        !reading.isRegister && (reading.sessionReferenceId !== null || reading.recordReferenceId !== null)
      const meter = meterOf(reading)
      if (hasReferences) return noteInTable(meter, reading)
      const line = noteInTrack(trackOf(meter, reading, memory), reading, memory)
      return line === undefined ? noteInTable(meter, reading) : line
    },
    uncomparedFrom: () => uncomparedFrom,
  }
}
