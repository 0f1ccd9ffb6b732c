import { parseDate } from '../../domain/civil-date.ts'
import { writeInstant } from '../../domain/instant.ts'
import { dayMs, minuteMs } from '../../domain/interval.ts'
import { type RowCode, refusedRow, type SourceRow } from './reading.ts'
import type { Noted } from './report.ts'

/** Headings of the rows that a NEM12 file becomes. */
export const nem12Headings = [
  'NMI',
  'Meter',
  'Suffix',
  'Direction',
  'Start',
  'End',
  'Value',
  'Unit',
  'Quality',
] as const

/** Maximum number of columns of a line: 288 values of 5 minutes, with the cells around them. */
export const maxNem12Columns = 300

/** Registers of a 200 line. `problem`: why its days cannot be read. */
type Nem12Meter = {
  readonly members: readonly string[]
  readonly unit: string
  readonly exponent: string
  readonly minutes: number
  readonly problem: string | null
}

/** Day of a 300 line that waits for its 400 lines. */
type Nem12Day = {
  readonly meter: Nem12Meter
  readonly cells: readonly string[]
  readonly line: number
  /** Start of the day in ms. */
  readonly start: number
  readonly qualities: string[]
}

/** Reader of the lines of a NEM12 file, in order. */
export type Nem12Reader = {
  /** Add a line. Returns the rows that are complete. */
  readonly add: (cells: readonly string[], line: number) => readonly SourceRow[]
  readonly end: () => readonly SourceRow[]
  /** Registers that are not imported. */
  readonly noted: () => readonly Noted[]
}

/** Offset of the market time in minutes: in all states and the whole year. */
const marketOffset = 600
const minutesOfIntervals: readonly number[] = [5, 15, 30]
const maxNoted = 100
/** Cells of a 300 line that are not values: the kind, the date, the quality, two reasons, two times, and a blank one. */
const maxCellsAfterValues = 8

/** Directions by the first letter of a suffix. The market calls energy to the customer an export. */
const directionsBySuffix: Readonly<Record<string, string>> = { E: 'IMPORT', B: 'EXPORT' }

const cellOf = (cells: readonly string[], index: number): string => (cells[index] ?? '').trim()

/** Return the flag of a quality such as `S14`; other texts stay, so that they are refused by their name. */
const flagOf = (quality: string): string =>
  /^[A-Z]\d{0,2}$/i.test(quality) ? quality.slice(0, 1).toUpperCase() : quality

/** Return the start of a day in market time in ms; undefined for a text other than a day such as 20260329. */
const dayOf = (text: string): number | undefined => {
  const day = parseDate(text.replace(/^(\d{4})(\d{2})(\d{2})$/, '$1-$2-$3'))
  return day === undefined || text.includes('-') ? undefined : day * dayMs - marketOffset * minuteMs
}

const severalNmis = (nmi: string, first: string): string =>
  `The file has the NMIs ${first} and ${nmi}, and all readings would go to one object. Read one with --where NMI=${first}, or give each NMI its device: --columns device_reference=NMI.`

const refused = (
  cells: readonly string[],
  line: number,
  field: string | null,
  code: RowCode,
  message: string,
): SourceRow => ({ cells, line, refusal: refusedRow(line, field, code, message) })

/** Return the rows of a day. Intervals with the quality N have no value. */
const rowsOfDay = ({ meter, cells, line, start, qualities }: Nem12Day): readonly SourceRow[] => {
  const length = meter.minutes * minuteMs
  const rows: SourceRow[] = []
  let from = writeInstant(start, marketOffset)
  let isUnknown = false
  for (const [index, quality] of qualities.entries()) {
    const to = writeInstant(start + (index + 1) * length, marketOffset)
    const text = quality === 'N' ? '' : cellOf(cells, index + 2)
    const value = text === '' ? '' : text + meter.exponent
    if (quality === 'V') isUnknown = true
    else rows.push({ cells: [...meter.members, from, to, value, meter.unit, quality], line, source: cells })
    from = to
  }
  if (!isUnknown) return rows
  const message = `The quality is V, and no 400 line gives the quality of interval ${qualities.indexOf('V') + 1}.`
  return [...rows, refused(cells, line, 'confidence', 'field_invalid', message)]
}

type Nem12State = {
  /** Meter of the last 200 line; null if its register is not imported. */
  meter: Nem12Meter | null | undefined
  day: Nem12Day | null
  firstNmi: string | null
  hasEnded: boolean
  lastLine: number
  readonly noted: Map<string, Noted>
}

const skippedMessage = 'The register has no energy from or to the grid (suffix E or B). It is not imported.'

const readMeter = (state: Nem12State, cells: readonly string[], hasMeters: boolean): void => {
  const [nmi, suffix, serial] = [cellOf(cells, 1), cellOf(cells, 4).toUpperCase(), cellOf(cells, 6)]
  const direction = directionsBySuffix[suffix.slice(0, 1)]
  if (direction === undefined) {
    const path = `/${nmi}/${suffix}`
    if (state.noted.size < maxNoted) state.noted.set(path, { path, message: skippedMessage })
    state.meter = null
    return
  }
  state.firstNmi ??= nmi
  const [unit, length] = [cellOf(cells, 7).toUpperCase(), cellOf(cells, 8)]
  const minutes = minutesOfIntervals.find(known => String(known) === length)
  const lengthProblem = `The interval length of the 200 line must be 5, 15 or 30 minutes, not "${length.slice(0, 60)}".`
  const nmiProblem = hasMeters || nmi === state.firstNmi ? null : severalNmis(nmi, state.firstNmi)
  state.meter = {
    members: [nmi, serial, suffix, direction],
    unit: unit === 'MWH' ? 'KWH' : unit,
    exponent: unit === 'MWH' ? 'e3' : '',
    minutes: minutes ?? 0,
    problem: minutes === undefined ? lengthProblem : nmiProblem,
  }
}

const readDay = (state: Nem12State, cells: readonly string[], line: number): readonly SourceRow[] => {
  const { meter } = state
  if (meter === null) return []
  if (meter === undefined)
    return [refused(cells, line, null, 'field_invalid', 'A 300 line needs a 200 line before it.')]
  const { minutes, problem } = meter
  if (problem !== null) return [refused(cells, line, null, 'field_invalid', problem)]
  const count = 1440 / minutes
  const quality = cellOf(cells, count + 2)
  if (cells.length > count + maxCellsAfterValues || !/^[A-Z]/i.test(quality)) {
    const message = `A day of intervals of ${minutes} min has ${count} values after its date, then their quality. The line has ${cells.length} cells.`
    return [refused(cells, line, null, 'wrong_columns', message)]
  }
  const text = cellOf(cells, 1)
  const start = dayOf(text)
  if (start === undefined)
    return [refused(cells, line, 'start', 'not_a_time', `"${text.slice(0, 60)}" is not a day such as 20260329.`)]
  state.day = { meter, cells, line, start, qualities: new Array<string>(count).fill(flagOf(quality)) }
  return []
}

/** Set the quality of the intervals of a 400 line. */
const readQuality = ({ meter, day }: Nem12State, cells: readonly string[], line: number): readonly SourceRow[] => {
  if (meter === null) return []
  const [from, to] = [Number(cellOf(cells, 1)), Number(cellOf(cells, 2))]
  const isRange = Number.isInteger(from) && Number.isInteger(to) && from >= 1 && from <= to
  if (day === null || !isRange || to > day.qualities.length) {
    const message =
      'A 400 line needs a 300 line before it, and the numbers of its first and last interval. The 300 line is read without the 400 line.'
    return [refused(cells, line, 'confidence', 'field_invalid', message)]
  }
  day.qualities.fill(flagOf(cellOf(cells, 3)), from - 1, to)
  return []
}

const readLine = (
  state: Nem12State,
  cells: readonly string[],
  line: number,
  hasMeters: boolean,
): readonly SourceRow[] => {
  const kind = cellOf(cells, 0)
  state.hasEnded = kind === '900'
  if (kind === '300') return readDay(state, cells, line)
  if (kind === '200') readMeter(state, cells, hasMeters)
  else if (kind === '100' || kind === '900') state.meter = undefined
  else if (kind !== '500') {
    const message = 'A line of NEM12 begins with 100, 200, 300, 400, 500 or 900.'
    return [refused(cells, line, null, 'field_invalid', message)]
  }
  return []
}

const incompleteMessage = 'The file ends without a 900 line, so it can be incomplete. Download it again.'

/**
 * Open a reader that turns the lines of a NEM12 file into rows with one reading each, under `nem12Headings`. Times have the
 * offset of the market, and MWH becomes KWH exactly. Suffixes other than E and B are noted. Line 400 gives the quality of
 * intervals. `hasMeters`: the columns or the selection of the import separate the NMIs.
 * Law: at most one day waits, and rows leave in file order.
 * Source: docs/rules/imports.md #nem12.
 */
export const nem12Reader = (hasMeters: boolean): Nem12Reader => {
  const state: Nem12State = {
    meter: undefined,
    day: null,
    firstNmi: null,
    hasEnded: false,
    lastLine: 1,
    noted: new Map(),
  }
  const completeDay = (): readonly SourceRow[] => {
    const rows = state.day === null ? [] : rowsOfDay(state.day)
    state.day = null
    return rows
  }
  return {
    add: (cells, line) => {
      state.lastLine = line
      if (cellOf(cells, 0) === '400') return readQuality(state, cells, line)
      return [...completeDay(), ...readLine(state, cells, line, hasMeters)]
    },
    end: () => {
      const rows = completeDay()
      return state.hasEnded ? rows : [...rows, refused([], state.lastLine, null, 'field_invalid', incompleteMessage)]
    },
    noted: () => [...state.noted.values()],
  }
}
