import { maxNumberLength } from '../domain/quantity.ts'
import { accepted, type Result, refused } from '../domain/refusal.ts'
import { exactNumber, isCarriedExactly, overlongNumber } from './exact-number.ts'
import { quoted, shown } from './nearest-name.ts'
import { atOnce } from './slices.ts'

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
  /** Values and escapes read so far; now and then others may have a turn. */
  steps: number
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

/** Work that can be interrupted at each `yield`. */
type Reading<T> = Generator<void, T>

/** Steps between two points where the work can be interrupted. */
const stepsAtOnce = 512

const isPause = (reader: Reader): boolean => {
  reader.steps += 1
  return reader.steps % stepsAtOnce === 0
}

/** Step over characters without escapes. */
const takePlain = (reader: Reader): string => {
  const start = reader.at
  plainText.lastIndex = start
  plainText.test(reader.text)
  reader.at = plainText.lastIndex
  return reader.text.slice(start, reader.at)
}

const nulFault = (at: number): JsonFault => new JsonFault('has the character NUL in a string; leave it out', at)

function* readString(reader: Reader): Reading<string> {
  const start = reader.at
  reader.at += 1
  const parts: string[] = []
  let value = takePlain(reader)
  for (;;) {
    const code = reader.text.charCodeAt(reader.at)
    if (code === 34) break
    if (code === 92) value += readEscape(reader)
    else if (Number.isNaN(code)) throw new JsonFault('has a string without a closing quote', start)
    else throw new JsonFault('has a bare control character in a string; escape it', reader.at)
    value += takePlain(reader)
    if (!isPause(reader)) continue
    // The engine keeps sums of strings as trees; to look into one makes it flat while it is small.
    if (value.includes('\0')) throw nulFault(start)
    parts.push(value)
    value = ''
    yield
  }
  reader.at += 1
  if (parts.length > 0) value = parts.join('') + value
  if (value.includes('\0')) throw nulFault(start)
  if (!value.isWellFormed()) throw new JsonFault('contains an invalid Unicode character; send both halves of each surrogate pair', start)
  return value
}

const readNumber = (reader: Reader): unknown => {
  numberGrammar.lastIndex = reader.at
  if (!numberGrammar.test(reader.text)) throw unexpected(reader, 'a value')
  const written = reader.text.slice(reader.at, numberGrammar.lastIndex)
  reader.at = numberGrammar.lastIndex
  if (written.length > maxNumberLength) return overlongNumber
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

function* readArray(reader: Reader): Reading<unknown[]> {
  enter(reader)
  const values: unknown[] = []
  if (reader.text[reader.at] === ']') reader.at += 1
  else {
    do {
      values.push(isPlainScalar(reader) ? readScalar(reader) : yield* readValue(reader))
      if (isPause(reader)) yield
    } while (goesOn(reader, ']'))
  }
  leave(reader)
  return values
}

function* readObject(reader: Reader): Reading<Record<string, unknown>> {
  enter(reader)
  const object: Record<string, unknown> = {}
  if (reader.text[reader.at] === '}') reader.at += 1
  else {
    do {
      if (reader.text[reader.at] !== '"') throw unexpected(reader, 'a member name in quotes')
      const start = reader.at
      const name = yield* readString(reader)
      if (name === '__proto__') throw new JsonFault('has a member "__proto__"; leave it out', start)
      if (Object.hasOwn(object, name)) throw new JsonFault(`has the member ${quoted(name)} twice in one object`, start)
      skip(reader)
      if (reader.text[reader.at] !== ':') throw unexpected(reader, '":"')
      reader.at += 1
      skip(reader)
      object[name] = isPlainScalar(reader) ? readScalar(reader) : yield* readValue(reader)
      if (isPause(reader)) yield
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

/** Tell whether no object, list or text begins at the cursor. */
const isPlainScalar = ({ text, at }: Reader): boolean => {
  const mark = text[at]
  return mark !== '{' && mark !== '[' && mark !== '"'
}

function* readValue(reader: Reader): Reading<unknown> {
  const mark = reader.text[reader.at]
  if (mark === '{') return yield* readObject(reader)
  if (mark === '[') return yield* readArray(reader)
  return mark === '"' ? yield* readString(reader) : readScalar(reader)
}

const readScalar = (reader: Reader): unknown => {
  for (const [word, value] of words) {
    if (!reader.text.startsWith(word, reader.at)) continue
    reader.at += word.length
    return value
  }
  return readNumber(reader)
}

const place = (text: string, at: number): string => {
  let line = 1
  let lineStart = 0
  for (let index = 0; index < at; index += 1) {
    if (text.charCodeAt(index) !== 10) continue
    line += 1
    lineStart = index + 1
  }
  return `line ${line}, column ${at - lineStart + 1}`
}

/**
 * Parse a JSON text member by member: slower than `JSON.parse`, and exact.
 * Numbers that a double would not carry keep their text; those of more than 400 characters become one that every reader refuses.
 * Refuses duplicate members, half surrogates, NUL, deep nesting and what is not JSON, telling the place.
 */
export const parseExactJson = (text: string): Result<unknown> => atOnce(readExactJson(text))

/** Parse as `parseExactJson` does, in steps; `level` is the number of levels that the text stands in already. */
export function* readExactJson(text: string, level = 0): Reading<Result<unknown>> {
  const reader: Reader = { text, at: 0, depth: level, steps: 0 }
  try {
    skip(reader)
    const value = yield* readValue(reader)
    skip(reader)
    if (reader.at < text.length) throw unexpected(reader, 'the end')
    return accepted(value)
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
    return refused('body_invalid', `The body ${error.message} (${place(text, error.at)}).`)
  }
}
