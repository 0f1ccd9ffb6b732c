import type { TimeZone } from '../../../domain/civil-time.ts'
import type { EnergyUnits } from '../../../domain/quantity.ts'
import type { Directions, ObjectName } from '../reading.ts'
import type { Columns, ColumnsProblem } from './columns.ts'
import type { IntervalLength } from './interval-length.ts'
import type { AmbiguousChoice } from './local-times.ts'
import type { NumberMarks } from './number-text.ts'
import type { TimeFormat } from './time-text.ts'

/** Text that a column must have. */
export type ColumnText = { readonly heading: string; readonly text: string }

/** Values that apply to all rows of a file, and the forms of its texts. */
export type CsvRules = {
  readonly layout: 'long' | 'wide'
  readonly location: ObjectName | null
  readonly device: ObjectName | null
  readonly unit: EnergyUnits | null
  readonly directions: Directions | null
  /** Length of an interval; null if the file has both times, or if the headings of the days decide it. */
  readonly interval: IntervalLength | null
  /** Meaning of a single time of an interval. */
  readonly label: 'start' | 'end'
  /** Zone of times without an offset. */
  readonly zone: TimeZone | null
  readonly format: TimeFormat | null
  readonly marks: NumberMarks
  readonly ambiguous: AmbiguousChoice
  /** Rows to read: those whose columns have these texts. */
  readonly where: readonly ColumnText[]
  /** Words of the file for a unit, a direction, a confidence, a truth or a withdrawal, in upper case, with the words of the service. */
  readonly words: ReadonlyMap<string, string>
  /** Heading of the column with the registers of a meter: rows that differ in it alone are added. */
  readonly sum: string | null
  /** Texts of an export have no apostrophe that guards formulas. */
  readonly isRaw: boolean
}

const unitByWord: ReadonlyMap<string, EnergyUnits> = new Map([
  ['WH', 'WH'],
  ['KWH', 'KWH'],
  ['W', 'W'],
  ['KW', 'KW'],
])

/** Return the unit of a word; undefined for other words. Case does not matter. */
export const unitOf = (word: string): EnergyUnits | undefined => unitByWord.get(word.trim().toUpperCase())

/** Return the unit that a heading names, such as `Consumption (kWh)`. */
export const unitInHeading = (name: string): EnergyUnits | undefined =>
  unitOf(/(?:^|[^a-z])(kwh|wh|kw|w)(?:$|[^a-z])/i.exec(name)?.[1] ?? '')

/** Return the problem of columns that cannot give readings with these rules; null if they can. */
export const columnsProblem = ({ indexes }: Columns, rules: CsvRules): ColumnsProblem | null => {
  const has = (...fields: readonly string[]): boolean => fields.some(field => indexes.has(field))
  if (rules.location === null && !has('location', 'location_reference')) {
    return { problem: 'The location is unknown. Set --location, or name its column: --columns location=HEADING.' }
  }
  if (rules.unit === null && !has('unit')) {
    return {
      problem: 'The unit is unknown. Set --unit to WH, KWH, W or KW, or name its column: --columns unit=HEADING.',
    }
  }
  return rules.layout === 'wide' ? wideProblem(has, rules) : longProblem(has, rules)
}

/** Columns with sold energy: their direction is in the name of the column. */
const exportFields = ['value_export', 'register_export']

type HasColumn = (...fields: readonly string[]) => boolean

const wideProblem = (has: HasColumn, { zone }: CsvRules): ColumnsProblem | null => {
  if (has(...exportFields)) return { problem: 'A file with a row for each day has one direction. Import each alone.' }
  if (!has('day')) return { problem: 'The column of the day is unknown. Name it: --columns day=HEADING.' }
  return zone === null ? { problem: 'A file with a row for each day needs --zone, such as Europe/Berlin.' } : null
}

const longProblem = (has: HasColumn, { interval, label, zone, directions, sum }: CsvRules): ColumnsProblem | null => {
  if (has(...exportFields) && (directions !== null || has('direction')))
    return {
      problem: 'A column of sold energy has its direction. Leave out --direction and the column of the direction.',
    }
  const isRegister = has('register', 'register_export')
  if (isRegister && has('value', 'value_export'))
    return { problem: 'The file has columns of energy and of registers. Ignore one kind: --columns value=.' }
  if (isRegister && sum !== null)
    return {
      problem: '--sum adds energy, and the file has registers. Give each register a device: --columns device=HEADING.',
    }
  if (isRegister) {
    return has('time', 'start', 'end')
      ? null
      : { problem: 'The time of the readings is unknown. Name its column: --columns time=HEADING.' }
  }
  if (has('restart'))
    return {
      problem:
        'The column restart is for readings of a register. Name their column: --columns register=HEADING. Or ignore it: --columns restart=.',
    }
  if (!has('value', 'value_export'))
    return { problem: 'The column of the energy is unknown. Name it: --columns value=HEADING.' }
  if (has('start') && has('end')) return null
  if (!has('start', 'end', 'time')) {
    return { problem: 'The times are unknown. Name their columns: --columns start=HEADING,end=HEADING.' }
  }
  if (interval === 'local_day' && zone === null)
    return { problem: 'Intervals of a local day need --zone, such as Europe/Berlin.' }
  if (interval !== null) return null
  const known = label === 'end' || (has('end') && !has('start')) ? 'ends' : 'starts'
  return {
    problem: `The file has ${known} of intervals only. Set their length, such as --interval PT15M, or P1D for days.`,
  }
}
