import { accepted, type Result, refused } from '../domain/refusal.ts'
import { exactNumber, isCarriedExactly } from './exact-number.ts'
import { quoted, shown } from './nearest-name.ts'

/** Deepest nesting of arrays and objects that a body may have. */
export const deepestLevel = 32

/** The first fault of a text: what is wrong, at which index, inside which value. Thrown and caught in this file alone. */
class JsonFault extends Error {
  readonly at: number

  constructor(message: string, at: number) {
    super(message)
    this.at = at
  }
}

type Reader = {
  readonly text: string
  at: number
  depth: number
  readonly elementLimit: number
  readonly oversized: number[]
}

const whitespace = /[ \t\n\r]*/y
const numberGrammar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: bare control characters are what the grammar of JSON leaves out.
const plainText = /[^"\\\u0000-\u001f]*/y
const escapes: Readonly<Record<string, string>> = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

const skip = (reader: Reader): void => {
  whitespace.lastIndex = reader.at
  whitespace.test(reader.text)
  reader.at = whitespace.lastIndex
}

const found = (reader: Reader): string => {
  const character = reader.text.codePointAt(reader.at)
  return character === undefined ? 'the end' : quoted(String.fromCodePoint(character))
}

const unexpected = (reader: Reader, wanted: string): JsonFault => new JsonFault(`has ${found(reader)} where ${wanted} should be`, reader.at)

const readEscape = (reader: Reader): string => {
  const letter = reader.text[reader.at + 1] ?? ''
  if (letter === 'u') {
    const digits = reader.text.slice(reader.at + 2, reader.at + 6)
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw new JsonFault('has an escape \\u without four hexadecimal digits', reader.at)
    reader.at += 6
    return String.fromCharCode(Number.parseInt(digits, 16))
  }
  const character = escapes[letter]
  if (character === undefined) throw new JsonFault(`has an unknown escape \\${shown(letter)}`, reader.at)
  reader.at += 2
  return character
}

const readString = (reader: Reader): string => {
  const start = reader.at
  reader.at += 1
  let value = ''
  for (;;) {
    plainText.lastIndex = reader.at
    plainText.test(reader.text)
    value += reader.text.slice(reader.at, plainText.lastIndex)
    reader.at = plainText.lastIndex
    const code = reader.text.charCodeAt(reader.at)
    if (code === 34) break
    if (code === 92) value += readEscape(reader)
    else if (Number.isNaN(code)) throw new JsonFault('has a string without a closing quote', start)
    else throw new JsonFault('has a bare control character in a string; escape it', reader.at)
  }
  reader.at += 1
  if (value.includes('\0')) throw new JsonFault('has the character NUL in a string; leave it out', start)
  if (!value.isWellFormed()) throw new JsonFault('contains an invalid Unicode character; send both halves of each surrogate pair', start)
  return value
}

const readNumber = (reader: Reader): unknown => {
  numberGrammar.lastIndex = reader.at
  if (!numberGrammar.test(reader.text)) throw unexpected(reader, 'a value')
  const written = reader.text.slice(reader.at, numberGrammar.lastIndex)
  reader.at = numberGrammar.lastIndex
  return isCarriedExactly(written) ? Number(written) : exactNumber(written)
}

const enter = (reader: Reader): void => {
  reader.depth += 1
  if (reader.depth > deepestLevel) throw new JsonFault(`is nested deeper than ${deepestLevel} levels`, reader.at)
  reader.at += 1
  skip(reader)
}

/** Step over `,` or the closing mark; true when the value goes on. */
const goesOn = (reader: Reader, close: string): boolean => {
  skip(reader)
  const mark = reader.text[reader.at]
  if (mark !== ',' && mark !== close) throw unexpected(reader, `"," or "${close}"`)
  reader.at += 1
  if (mark === close) return false
  skip(reader)
  return true
}

const leave = (reader: Reader): void => {
  reader.depth -= 1
}

const isLonger = ({ text, at, elementLimit }: Reader, start: number): boolean =>
  (at - start) * 3 > elementLimit && Buffer.byteLength(text.slice(start, at)) > elementLimit

const readArray = (reader: Reader): unknown[] => {
  enter(reader)
  const values: unknown[] = []
  if (reader.text[reader.at] === ']') reader.at += 1
  else {
    do {
      const start = reader.at
      const value = readValue(reader)
      if (reader.depth === 1 && typeof value === 'object' && isLonger(reader, start)) reader.oversized.push(values.length)
      values.push(value)
    } while (goesOn(reader, ']'))
  }
  leave(reader)
  return values
}

const readObject = (reader: Reader): Record<string, unknown> => {
  enter(reader)
  const object: Record<string, unknown> = {}
  if (reader.text[reader.at] === '}') reader.at += 1
  else {
    do {
      if (reader.text[reader.at] !== '"') throw unexpected(reader, 'a member name in quotes')
      const start = reader.at
      const name = readString(reader)
      if (name === '__proto__') throw new JsonFault('has a member "__proto__"; leave it out', start)
      if (Object.hasOwn(object, name)) throw new JsonFault(`has the member ${quoted(name)} twice in one object`, start)
      skip(reader)
      if (reader.text[reader.at] !== ':') throw unexpected(reader, '":"')
      reader.at += 1
      skip(reader)
      object[name] = readValue(reader)
    } while (goesOn(reader, '}'))
  }
  leave(reader)
  return object
}

const words: readonly (readonly [string, unknown])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
]

const readValue = (reader: Reader): unknown => {
  const mark = reader.text[reader.at]
  if (mark === '{') return readObject(reader)
  if (mark === '[') return readArray(reader)
  if (mark === '"') return readString(reader)
  for (const [word, value] of words) {
    if (!reader.text.startsWith(word, reader.at)) continue
    reader.at += word.length
    return value
  }
  return readNumber(reader)
}

const place = (text: string, at: number): string => {
  const before = text.slice(0, at)
  const line = before.split('\n').length
  return `line ${line}, column ${at - before.lastIndexOf('\n')}`
}

export type ParsedJson = { readonly value: unknown; readonly oversized: readonly number[] }

/**
 * Parse a JSON text member by member: slower than `JSON.parse`, and exact.
 * Numbers that a double would not carry keep their text. `elementLimit` is in bytes.
 * Refuses duplicate members, half surrogates, NUL, deep nesting and what is not JSON, telling the place.
 */
export const parseExactJson = (text: string, elementLimit: number): Result<ParsedJson> => {
  const reader: Reader = { text, at: 0, depth: 0, elementLimit, oversized: [] }
  try {
    skip(reader)
    const value = readValue(reader)
    skip(reader)
    if (reader.at < text.length) throw unexpected(reader, 'the end')
    return accepted({ value, oversized: reader.oversized })
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
    return refused('body_invalid', `The body ${error.message} (${place(text, error.at)}).`)
  }
}
