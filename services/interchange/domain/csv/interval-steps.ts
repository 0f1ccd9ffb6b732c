import { dayMs, minuteMs } from '../../../domain/interval.ts'
import { type MeterMap, meterMap } from '../meter-map.ts'
import { type FileReading, isRefusedRow, type ReadRow, refusedRow } from '../reading.ts'

/** Rows of a meter in one direction of time. `larger` counts equal steps in a row that are larger than the interval. */
type Series = {
  /** Position of the last row among all rows. */
  last: number
  /** The single time of the last row. */
  at: number
  line: number
  lineBefore: number
  length: number
  /** 1 if the times ascend, -1 if they descend, 0 for a single row. */
  sign: number
  step: number
  /** Whether the last step was smaller than the interval of its row. */
  isSmaller: boolean
  larger: number
  hasInterval: boolean
}

/** Compares the intervals of a file with the steps of its times, in file order. */
export type IntervalSteps = {
  readonly add: (rows: readonly ReadRow[]) => void
  /** Return the rows that are complete, in file order, and forget them. */
  readonly take: () => readonly ReadRow[]
  /** Complete all rows: the file has ended. */
  readonly end: () => void
}

/** Rows that wait. Above it, the oldest ones are complete without the next row of their meter. */
const maxWaiting = 20_000
const maxSeries = 100_000

/** Equal larger steps that contradict the interval: of a meter without a step of one interval, and of another meter. */
const [maxLargerSteps, maxLargerStepsOfGaps] = [1, 5]

const minutesText = (ms: number): string => (ms % minuteMs === 0 ? `${ms / minuteMs} min` : `${ms / 1000} s`)

const localDayAdvice = 'Set --interval P1D: a local day with a clock change has another length.'
const stepAdvice = 'Set --interval to the step of the file. Import rows of another length from a file of their own.'

const contradiction = ({ line }: FileReading, other: number, step: number, length: number): ReadRow =>
  refusedRow(
    line,
    null,
    'wrong_interval',
    `The time is ${minutesText(step)} from that of line ${other}, but the interval is ${minutesText(length)}. ${length === dayMs ? localDayAdvice : stepAdvice}`,
  )

/** Count a step, and return whether it contradicts the interval. */
const isContradiction = (series: Series, step: number, length: number): boolean => {
  if (step === length) {
    series.hasInterval = true
    series.larger = 0
  } else if (step > length) series.larger = step === series.step ? series.larger + 1 : 1
  series.step = step
  series.isSmaller = step < length
  return series.isSmaller || series.larger > (series.hasInterval ? maxLargerStepsOfGaps : maxLargerSteps)
}

/**
 * Refuse rows whose step to the next row of their meter contradicts their interval. A step below the interval would count
 * time twice. A larger step is a gap, unless equal ones follow each other: then the file has another interval.
 * The interval of an ending time is compared with the step before it. Law: rows leave in file order.
 * Source: docs/rules/imports.md #csv.
 */
export const intervalSteps = (label: 'start' | 'end'): IntervalSteps => {
  const all = seriesMap()
  const waiting = waitingRows()
  const { complete, isOpenAt, refuse } = waiting
  let hasEnded = false
  const begin = (position: number, reading: FileReading): void => {
    const [line, length] = [reading.line, reading.end - reading.start]
    const steps = { sign: 0, step: 0, isSmaller: false, larger: 0, hasInterval: false }
    all.set(reading, { last: position, at: reading[label], line, lineBefore: line, length, ...steps })
  }
  const compare = (series: Series, position: number, reading: FileReading): void => {
    const step = Math.abs(reading[label] - series.at)
    const isAscending = reading[label] > series.at
    const length = reading.end - reading.start
    // The step after a start, and the step before an end, has the energy of the row.
    if ((label === 'start') === isAscending) {
      if (isContradiction(series, step, series.length)) refuse(series.last, reading.line, step, series.length)
    } else {
      complete(position)
      if (isContradiction(series, step, length)) refuse(position, series.line, step, length)
      if (isOpenAt(series.last) && series.isSmaller) refuse(series.last, reading.line, step, series.length)
    }
    complete(series.last)
    series.last = position
    series.at = reading[label]
    series.lineBefore = series.line
    series.line = reading.line
    series.length = length
  }
  /** Complete a row without its next row: the step before it decides. */
  const close = (position: number): void => {
    complete(position)
    const row = waiting.find(position)
    if (row === undefined || isRefusedRow(row)) return
    const series = all.get(row)
    if (series?.last !== position || !series.isSmaller) return
    refuse(position, series.lineBefore, series.step, series.length)
  }
  const addReading = (position: number, reading: FileReading): void => {
    const series = all.get(reading)
    const sign = series === undefined ? 0 : Math.sign(reading[label] - series.at)
    if (series === undefined) begin(position, reading)
    else if (sign === 0) complete(position)
    else if (series.sign !== 0 && series.sign !== sign) {
      close(series.last)
      begin(position, reading)
    } else {
      series.sign = sign
      compare(series, position, reading)
    }
  }
  return {
    add: added => {
      for (const row of added) {
        const position = waiting.push(row)
        if (!isRefusedRow(row)) addReading(position, row)
      }
    },
    take: () => waiting.take(hasEnded, close),
    end: () => {
      hasEnded = true
    },
  }
}

/** Rows that did not leave, by their positions among all rows. An open row waits for the next row of its meter. */
const waitingRows = () => {
  let rows: ReadRow[] = []
  let isOpen: boolean[] = []
  let first = 0
  const find = (position: number): ReadRow | undefined => (position < first ? undefined : rows[position - first])
  return {
    find,
    isOpenAt: (position: number): boolean => position >= first && isOpen[position - first] === true,
    complete: (position: number): void => {
      if (position >= first) isOpen[position - first] = false
    },
    refuse: (position: number, other: number, step: number, length: number): void => {
      const row = find(position)
      if (row !== undefined && !isRefusedRow(row)) rows[position - first] = contradiction(row, other, step, length)
    },
    /** Add a row. Returns its position. */
    push: (row: ReadRow): number => {
      rows.push(row)
      isOpen.push(!isRefusedRow(row))
      return first + rows.length - 1
    },
    /** Return the rows before the first open one, and the oldest ones above the maximum. `close` completes open rows. */
    take: (hasEnded: boolean, close: (position: number) => void): readonly ReadRow[] => {
      const firstOpen = isOpen.indexOf(true)
      const count = hasEnded || firstOpen < 0 ? rows.length : Math.max(firstOpen, rows.length - maxWaiting)
      for (let index = Math.max(firstOpen, 0); index < count; index += 1)
        if (isOpen[index] === true) close(first + index)
      const taken = rows.slice(0, count)
      rows = rows.slice(count)
      isOpen = isOpen.slice(count)
      first += count
      return taken
    },
  }
}

/** Series of a file, by meter, directions, register and session. */
const seriesMap = () => {
  const kinds = new Map<string, MeterMap<Series>>()
  let count = 0
  return {
    get: (reading: FileReading): Series | undefined => kinds.get(kindOf(reading))?.get(reading),
    /** Replace the series of a reading. Above the maximum, all others are forgotten. */
    set: (reading: FileReading, series: Series): void => {
      if (count >= maxSeries) {
        kinds.clear()
        count = 0
      }
      const meters = kinds.get(kindOf(reading)) ?? meterMap<Series>()
      kinds.set(kindOf(reading), meters)
      if (meters.get(reading) === undefined) count += 1
      meters.set(reading, series)
    },
  }
}

/** Return the text of the members of a reading that are not its meter: empty for most files. */
const kindOf = ({ directions, part, sessionReferenceId }: FileReading): string => {
  if (directions === null && part === undefined && sessionReferenceId === null) return ''
  const { energyFlowDirection = '', tariffDirection = '' } = directions ?? {}
  return [energyFlowDirection, tariffDirection, part ?? '', sessionReferenceId ?? ''].join('\n')
}
