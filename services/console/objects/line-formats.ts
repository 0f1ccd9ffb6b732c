import { parseExactJson } from '../../contract/json/exact-json.ts'

/** Members that a form shows as text: a number, or a list with one item on each line. */
export type TextFormat = {
  readonly isList: boolean
  /** Read a text, or a line of a list; undefined if it is invalid. */
  readonly read: (text: string) => unknown
  /** Write a value, or an item of a list. */
  readonly write: (value: never) => string
  /** Error of an invalid text, as the end of a sentence. */
  readonly mustBe: string
}

const decimal = /^-?\d+(?:\.\d+)?$/

/** Read a decimal with all its digits; undefined if the text is not a decimal. */
const exactNumber = (text: string): unknown => {
  if (!decimal.test(text)) return undefined
  const read = parseExactJson(text)
  return read.ok ? read.value : undefined
}

export const numberFormat: TextFormat = {
  isList: false,
  read: exactNumber,
  write: value => JSON.stringify(value),
  mustBe: 'must be a number, such as 9.90',
}

type NamedDay = { readonly date: string; readonly name: string }

export const namedDays: TextFormat = {
  isList: true,
  read: line => {
    const [, date, name] = /^(\S+)\s+(\S.*)$/.exec(line) ?? []
    return date === undefined ? undefined : { date, name }
  },
  write: ({ date, name }: NamedDay) => `${date} ${name}`,
  mustBe: 'must have a date and a name on each line, such as 2026-12-24 Christmas Eve',
}

export const days: TextFormat = {
  isList: true,
  read: line => (/\s/.test(line) ? undefined : line),
  write: (day: string) => day,
  mustBe: 'must have one date on each line, such as 2026-08-15',
}

type DayType = { readonly name: string; readonly dates: readonly string[] }

export const dayTypes: TextFormat = {
  isList: true,
  read: line => {
    const [, name, dates = ''] = /^([^:]+):(.*)$/.exec(line) ?? []
    return name === undefined ? undefined : { name: name.trim(), dates: dates.split(/[\s,]+/).filter(Boolean) }
  },
  write: ({ name, dates }: DayType) => `${name}: ${dates.join(', ')}`,
  mustBe: 'must have a name, a colon and dates on each line, such as fair: 2026-09-19, 2026-09-20',
}

type Step = { readonly from_kw: unknown; readonly amount: unknown }

export const powerSteps: TextFormat = {
  isList: true,
  read: line => {
    const [from_kw, amount, ...more] = line.split(/\s+/).map(exactNumber)
    return from_kw === undefined || amount === undefined || more.length > 0 ? undefined : { from_kw, amount }
  },
  write: ({ from_kw, amount }: Step) => `${JSON.stringify(from_kw)} ${JSON.stringify(amount)}`,
  mustBe: 'must have a power in kW and an amount on each line, such as 2 206',
}

/** Write a member as the text of its input. */
export const writeText = ({ isList, write }: TextFormat, value: unknown): string =>
  isList ? (value as readonly never[]).map(write).join('\n') : write(value as never)

/** Read the text of an input; undefined if it is invalid. */
export const readText = ({ isList, read }: TextFormat, text: string): unknown => {
  if (!isList) return read(text)
  const lines = text.split(/\r?\n/).map(line => line.trim())
  const items = lines.filter(line => line !== '').map(read)
  return items.includes(undefined) ? undefined : items
}
