import { randomUUID } from 'node:crypto'
import { decimal, isDecimal } from './decimal.js'

/** Beginning of a text that is a decimal. No JSON of others has it, because each process creates its own. */
const mark = randomUUID()
const markedText = new RegExp(`"${mark}([^"]*)"`, 'g')

/** Return the index after a string of JSON that begins before `at`. */
const endOfString = (text: string, at: number): number => {
  const quoteOrEscape = /\\.|"/g
  quoteOrEscape.lastIndex = at
  for (let found = quoteOrEscape.exec(text); found !== null; found = quoteOrEscape.exec(text))
    if (found[0] === '"') return quoteOrEscape.lastIndex
  return text.length
}

/** Replace each number by a text that begins with the mark. Numbers in strings stay. */
const markNumbers = (text: string): string => {
  const quoteOrNumber = /"|-?\d[\d.eE+-]*/g
  const parts: string[] = []
  let end = 0
  for (let found = quoteOrNumber.exec(text); found !== null; found = quoteOrNumber.exec(text)) {
    const [token] = found
    if (token === '"') quoteOrNumber.lastIndex = endOfString(text, quoteOrNumber.lastIndex)
    else {
      parts.push(text.slice(end, found.index), `"${mark}${token}"`)
      end = quoteOrNumber.lastIndex
    }
  }
  parts.push(text.slice(end))
  return parts.join('')
}

const toInteger = (value: unknown): unknown => {
  const number = isDecimal(value) ? Number(value.text) : Number.NaN
  return Number.isSafeInteger(number) ? number : value
}

/**
 * Read JSON with exact numbers: members of `integers` are numbers, all other numbers are decimals.
 * `JSON.parse` gives the text of a number to its reviver from Node 21 on. This function works on Node 20 too.
 */
export const parseExact = (text: string, integers: ReadonlySet<string>): unknown =>
  JSON.parse(markNumbers(text), (key, value: unknown) => {
    const own = typeof value === 'string' && value.startsWith(mark) ? decimal(value.slice(mark.length)) : value
    if (!integers.has(key)) return own
    return Array.isArray(own) ? own.map(toInteger) : toInteger(own)
  })

/** Write JSON with exact numbers. Throws a TypeError for a binary fraction. */
export const writeExact = (value: unknown): string =>
  JSON.stringify(value, function (this: Readonly<Record<string, unknown>>, key, member: unknown) {
    const own = this[key]
    if (isDecimal(own)) return `${mark}${own.text}`
    if (typeof member !== 'number' || Number.isSafeInteger(member)) return member
    throw new TypeError(`The member "${key}" is the binary fraction ${member}. Write it as decimal('${member}').`)
  }).replace(markedText, '$1')
