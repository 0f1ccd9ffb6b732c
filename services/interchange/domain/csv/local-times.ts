import { instantsAt, offsetAt, type TimeZone, utcOffsetPeriodAt } from '../../../domain/civil-time.ts'
import { dayMs, hourMs } from '../../../domain/interval.ts'
import { type ReadRow, refusedRow } from '../reading.ts'

/** Choice of the user for times of the doubled hour that occur once in a file. */
export type AmbiguousChoice = 'earlier' | 'later' | null

/** Return the instants at which the clock of a zone shows a local time (ms): none in a skipped hour, two in a doubled hour. */
export const exactInstants = (zone: TimeZone, local: number): readonly number[] =>
  instantsAt(zone, local).filter(at => at + offsetAt(zone, at) === local)

/**
 * Return `exactInstants` of a zone. It remembers the offset of the last time: most times of a file have the same, and no
 * clock change within two days. Every UTC offset is shorter than a day.
 */
export const instantFinder = (zone: TimeZone) => {
  let period = utcOffsetPeriodAt(zone, 0)
  return (local: number): readonly number[] => {
    const at = local - period.offset
    if (at - 2 * dayMs > period.start && at + 2 * dayMs < period.end) return [at]
    period = utcOffsetPeriodAt(zone, local)
    return exactInstants(zone, local)
  }
}

/** Intervals of meters are at most an hour long. */
const maxMeterInterval = hourMs

/**
 * Return the instants that the local end of an interval can be: none if the clock never shows it, two if it is ambiguous.
 * Of an interval of at most an hour, the offset of the start counts up to its clock change: 02:45 to 03:00 before the change
 * is a quarter of an hour. A session can be longer than it seems. An end before `start` is left out if there is another.
 */
export const endInstants = (zone: TimeZone, start: number, localEnd: number, isSession: boolean): readonly number[] => {
  const period = utcOffsetPeriodAt(zone, start)
  const sameOffset = localEnd - period.offset
  const isMeterInterval = !isSession && sameOffset - start <= maxMeterInterval
  if (isMeterInterval && sameOffset > start && sameOffset <= period.end) return [sameOffset]
  const instants = exactInstants(zone, localEnd)
  // A clock that skips an hour never shows the time of its change.
  if (instants.length === 0) return sameOffset === period.end ? [sameOffset] : []
  const later = instants.filter(at => at > start)
  return later.length > 0 ? later : instants.slice(0, 1)
}

/** Row whose start is in a doubled hour. `build` makes the row of one of the two instants. */
type AmbiguousRow = {
  readonly line: number
  readonly instants: readonly number[]
  readonly build: (at: number) => ReadRow
  row: ReadRow | null
}

/** Rows of a series in one doubled hour, in file order. A run ends where the times go back. */
type DoubledHour = {
  /** First instant of the hour's later run. */
  readonly later: number
  /** -1 if the series is in descending order. */
  readonly sign: 1 | -1
  lastLocal: number
  readonly runs: AmbiguousRow[][]
}

/** Rows of a file in order, some of them waiting until the runs of a doubled hour are known. */
export type LocalTimes = {
  /** Add a row that is complete. */
  readonly add: (row: ReadRow) => void
  /** Add a row by its local time (ms). `series` names rows that belong to one meter. */
  readonly addLocal: (line: number, series: string, local: number, build: (at: number) => ReadRow) => void
  /** Return the rows that are complete, in file order, and forget them. */
  readonly take: () => readonly ReadRow[]
  /** Complete all waiting rows: the file has ended. */
  readonly end: () => void
}

/** Maximum number of waiting rows. Above it, the hours that wait are completed with the runs that are known. */
const maxWaitingRows = 200_000
/** Maximum number of series whose last time is known. */
const maxSeries = 100_000

const ambiguousMessage =
  'The clock shows this time twice, and the file has only one of the two runs. Set --ambiguous to earlier or later.'

/**
 * Turn local times into instants, in file order. The first run of a series in a doubled hour has the earlier offset; in a
 * descending file the later one. A run that stays alone is `ambiguous_time`, unless `choice` decides it. A skipped time is
 * `no_such_time`. Law: rows leave in the order in which they were added.
 * Source: docs/rules/imports.md #local-times.
 */
export const localTimes = (zone: TimeZone, choice: AmbiguousChoice): LocalTimes => {
  const findInstants = instantFinder(zone)
  const hours = new Map<string, DoubledHour>()
  const lastLocals = new Map<string, number>()
  let queue: (ReadRow | AmbiguousRow)[] = []
  const complete = (series: string, hour: DoubledHour): void => {
    hours.delete(series)
    for (const [index, run] of hour.runs.entries()) {
      for (const row of run) row.row = rowOf(row, instantOf(hour, index, row.instants, choice))
    }
  }
  const addLocal: LocalTimes['addLocal'] = (line, series, local, build) => {
    const instants = findInstants(local)
    const [first, second] = instants
    const open = hours.size === 0 ? undefined : hours.get(series)
    if (open !== undefined && second !== undefined && isSameHour(open, second))
      queue.push(continueHour(open, local, { line, instants, build, row: null }))
    else {
      if (open !== undefined) complete(series, open)
      if (first === undefined) queue.push(refusedRow(line, null, 'no_such_time', 'The clock skips this time.'))
      else if (second === undefined) queue.push(build(first))
      else {
        const sign = (lastLocals.get(series) ?? local) > local ? -1 : 1
        const row: AmbiguousRow = { line, instants, build, row: null }
        hours.set(series, { later: second, sign, lastLocal: local, runs: [[row]] })
        queue.push(row)
      }
    }
    if (lastLocals.size < maxSeries || lastLocals.has(series)) lastLocals.set(series, local)
    if (queue.length > maxWaitingRows) for (const [name, hour] of hours) complete(name, hour)
  }
  return {
    add: row => queue.push(row),
    addLocal,
    take: () => {
      if (hours.size === 0) {
        const rows = queue.map(completeRow)
        queue = []
        return rows
      }
      const waiting = queue.findIndex(row => 'build' in row && row.row === null)
      const rows = queue.slice(0, waiting < 0 ? queue.length : waiting).map(completeRow)
      queue = queue.slice(rows.length)
      return rows
    },
    end: () => {
      for (const [series, hour] of hours) complete(series, hour)
    },
  }
}

const completeRow = (row: ReadRow | AmbiguousRow): ReadRow => ('build' in row ? (row.row as ReadRow) : row)

const rowOf = ({ line, build }: AmbiguousRow, at: number | null): ReadRow =>
  at === null ? refusedRow(line, null, 'ambiguous_time', ambiguousMessage) : build(at)

/** Two later instants less than 3 hours apart belong to one clock change. */
const isSameHour = (hour: DoubledHour, later: number): boolean => Math.abs(hour.later - later) < 3 * 3_600_000

const continueHour = (hour: DoubledHour, local: number, row: AmbiguousRow): AmbiguousRow => {
  const isNewRun = (local - hour.lastLocal) * hour.sign <= 0
  hour.lastLocal = local
  if (isNewRun) hour.runs.push([row])
  else hour.runs.at(-1)?.push(row)
  return row
}

/** Return the instant of a row in a run; null if the runs do not decide it. */
const instantOf = (
  { runs, sign }: DoubledHour,
  index: number,
  [earlier, later]: readonly number[],
  choice: AmbiguousChoice,
): number | null => {
  if (earlier === undefined || later === undefined) return null
  if (runs.length === 1 && choice !== null) return choice === 'earlier' ? earlier : later
  if (runs.length !== 2) return null
  return (index === 0) === (sign === 1) ? earlier : later
}
