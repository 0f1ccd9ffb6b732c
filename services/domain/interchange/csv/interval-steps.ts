import { minuteMs } from '../../interval.ts'
import { type FileReading, isRefusedRow, type ReadRow, refusedRow } from '../reading.ts'
import { seriesOf } from './row-members.ts'

/** Row of a file. `isOpen`: it waits for the next row of its meter. */
type Entry = { row: ReadRow; isOpen: boolean }

/** Rows of a meter in one direction of time. `larger` counts equal steps in a row that are larger than the interval. */
type Series = {
  last: Entry
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

const contradiction = ({ line }: FileReading, other: number, step: number, length: number): ReadRow =>
  refusedRow(
    line,
    null,
    'wrong_interval',
    `The time is ${minutesText(step)} from that of line ${other}, but the interval is ${minutesText(length)}. Set --interval to the step of the file. Import rows of another length from a file of their own.`,
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
  const all = new Map<string, Series>()
  let queue: Entry[] = []
  let hasEnded = false
  const refuse = (entry: Entry, other: number, step: number, length: number): void => {
    if (!isRefusedRow(entry.row)) entry.row = contradiction(entry.row, other, step, length)
  }
  const begin = (name: string, entry: Entry, reading: FileReading): void => {
    if (all.size >= maxSeries) all.clear()
    const [line, length] = [reading.line, reading.end - reading.start]
    const steps = { sign: 0, step: 0, isSmaller: false, larger: 0, hasInterval: false }
    all.set(name, { last: entry, at: reading[label], line, lineBefore: line, length, ...steps })
  }
  const compare = (series: Series, entry: Entry, reading: FileReading): void => {
    const step = Math.abs(reading[label] - series.at)
    const isAscending = reading[label] > series.at
    const length = reading.end - reading.start
    // The step after a start, and the step before an end, has the energy of the row.
    if ((label === 'start') === isAscending) {
      if (isContradiction(series, step, series.length)) refuse(series.last, reading.line, step, series.length)
    } else {
      entry.isOpen = false
      if (isContradiction(series, step, length)) refuse(entry, series.line, step, length)
      if (series.last.isOpen && series.isSmaller) refuse(series.last, reading.line, step, series.length)
    }
    series.last.isOpen = false
    Object.assign(series, { last: entry, at: reading[label], line: reading.line, lineBefore: series.line, length })
  }
  /** Complete a row without its next row: the step before it decides. */
  const close = (entry: Entry): void => {
    entry.isOpen = false
    if (isRefusedRow(entry.row)) return
    const series = all.get(nameOf(entry.row))
    if (series?.last !== entry || !series.isSmaller) return
    refuse(entry, series.lineBefore, series.step, series.length)
  }
  const addReading = (entry: Entry, reading: FileReading): void => {
    const name = nameOf(reading)
    const series = all.get(name)
    const sign = series === undefined ? 0 : Math.sign(reading[label] - series.at)
    if (series === undefined) begin(name, entry, reading)
    else if (sign === 0) entry.isOpen = false
    else if (series.sign !== 0 && series.sign !== sign) {
      close(series.last)
      begin(name, entry, reading)
    } else {
      series.sign = sign
      compare(series, entry, reading)
    }
  }
  return {
    add: rows => {
      for (const row of rows) {
        const entry: Entry = { row, isOpen: !isRefusedRow(row) }
        queue.push(entry)
        if (!isRefusedRow(row)) addReading(entry, row)
      }
    },
    take: () => {
      const firstOpen = queue.findIndex(({ isOpen }) => isOpen)
      const complete = hasEnded || firstOpen < 0 ? queue.length : Math.max(firstOpen, queue.length - maxWaiting)
      const taken = queue.slice(0, complete)
      queue = queue.slice(complete)
      for (const entry of taken) if (entry.isOpen) close(entry)
      return taken.map(({ row }) => row)
    },
    end: () => {
      hasEnded = true
    },
  }
}

const nameOf = (reading: FileReading): string =>
  reading.sessionReferenceId === null ? seriesOf(reading) : `${seriesOf(reading)}\n${reading.sessionReferenceId}`
