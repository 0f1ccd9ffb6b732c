import { decimal, isDecimal } from './decimal.js'

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown

const parse = JSON.parse as unknown as (text: string, reviver: Reviver) => unknown

const toInteger = (value: unknown): unknown => {
  const number = isDecimal(value) ? Number(value.text) : Number.NaN
  return Number.isSafeInteger(number) ? number : value
}

/** Read JSON with exact numbers: members of `integers` are numbers, all other numbers are decimals. */
export const parseExact = (text: string, integers: ReadonlySet<string>): unknown =>
  parse(text, (key, value, { source }) => {
    const own = typeof value === 'number' ? decimal(source ?? String(value)) : value
    if (!integers.has(key)) return own
    return Array.isArray(own) ? own.map(toInteger) : toInteger(own)
  })

/** Write JSON with exact numbers. Throws a TypeError for a binary fraction. */
export const writeExact = (value: unknown): string =>
  JSON.stringify(value, (key, member: unknown) => {
    if (typeof member !== 'number' || Number.isSafeInteger(member)) return member
    throw new TypeError(`The member "${key}" is the binary fraction ${member}. Write it as decimal('${member}').`)
  })
