import { maxNumberLength } from '../../domain/quantity.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { runToEnd } from '../../domain/run-to-end.ts'
import { printable, quote } from '../message-text.ts'
import { exactNumber, isExactDouble, tooLongNumber } from './exact-number.ts'

/** Maximum nesting of arrays and objects in a body. */
export const maxDepth = 32

/** First fault of a text and its index. Only this file throws and catches this error. */
class JsonFault extends Error {
  readonly index: number

  constructor(message: string, index: number) {
    super(message)
    this.index = index
  }
}

type JsonReader = {
  readonly text: string
  index: number
  depth: number
  /** Values and escapes read so far. */
  steps: number
}

const whitespace = /[ \t\n\r]*/y
const numberGrammar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: the grammar of JSON excludes bare control characters.
const plainText = /[^"\\\u0000-\u001f]*/y
const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

const skipWhitespace = (reader: JsonReader): void => {
  whitespace.lastIndex = reader.index
  whitespace.test(reader.text)
  reader.index = whitespace.lastIndex
}

const foundText = (reader: JsonReader): string => {
  const character = reader.text.codePointAt(reader.index)
  return character === undefined ? 'the end' : quote(String.fromCodePoint(character))
}

const unexpected = (reader: JsonReader, expected: string): JsonFault =>
  new JsonFault(`has ${foundText(reader)} where ${expected} should be`, reader.index)

const readEscape = (reader: JsonReader): string => {
  const letter = reader.text[reader.index + 1] ?? ''
  if (letter === 'u') {
    const digits = reader.text.slice(reader.index + 2, reader.index + 6)
    if (!/^[0-9a-fA-F]{4}$/.test(digits))
      throw new JsonFault('has an escape \\u without four hexadecimal digits', reader.index)
    reader.index += 6
    return String.fromCharCode(Number.parseInt(digits, 16))
  }
  const character = escapes[letter]
  if (character === undefined) throw new JsonFault(`has an unknown escape \\${printable(letter)}`, reader.index)
  reader.index += 2
  return character
}

/** Work that can pause at each `yield`. */
type Steps<T> = Generator<void, T>

/** Number of steps between two pauses. */
const stepsPerPause = 512

const isPauseDue = (reader: JsonReader): boolean => {
  reader.steps += 1
  return reader.steps % stepsPerPause === 0
}

/** Read characters up to the next quote, escape or control character. */
const readUnescaped = (reader: JsonReader): string => {
  const start = reader.index
  plainText.lastIndex = start
  plainText.test(reader.text)
  reader.index = plainText.lastIndex
  return reader.text.slice(start, reader.index)
}

const nulFault = (at: number): JsonFault => new JsonFault('has the character NUL in a string; leave it out', at)

function* readString(reader: JsonReader): Steps<string> {
  const start = reader.index
  reader.index += 1
  const parts: string[] = []
  let value = readUnescaped(reader)
  for (;;) {
    const code = reader.text.charCodeAt(reader.index)
    if (code === 34) break
    if (code === 92) value += readEscape(reader)
    else if (Number.isNaN(code)) throw new JsonFault('has a string without a closing quote', start)
    else throw new JsonFault('has a bare control character in a string; escape it', reader.index)
    value += readUnescaped(reader)
    if (!isPauseDue(reader)) continue
    // The engine stores a sum of strings as a tree. `includes` makes the tree flat while the tree is small.
    if (value.includes('\0')) throw nulFault(start)
    parts.push(value)
    value = ''
    yield
  }
  reader.index += 1
  if (parts.length > 0) value = parts.join('') + value
  if (value.includes('\0')) throw nulFault(start)
  if (!value.isWellFormed())
    throw new JsonFault('contains an invalid Unicode character; send both halves of each surrogate pair', start)
  return value
}

const readNumber = (reader: JsonReader): unknown => {
  numberGrammar.lastIndex = reader.index
  if (!numberGrammar.test(reader.text)) throw unexpected(reader, 'a value')
  const written = reader.text.slice(reader.index, numberGrammar.lastIndex)
  reader.index = numberGrammar.lastIndex
  if (written.length > maxNumberLength) return tooLongNumber
  return isExactDouble(written) ? Number(written) : exactNumber(written)
}

const enterContainer = (reader: JsonReader): void => {
  reader.depth += 1
  if (reader.depth > maxDepth) throw new JsonFault(`is nested deeper than ${maxDepth} levels`, reader.index)
  reader.index += 1
  skipWhitespace(reader)
}

/** Read `,` or the closing mark. True if another member or element follows. */
const hasMore = (reader: JsonReader, close: string): boolean => {
  skipWhitespace(reader)
  const mark = reader.text[reader.index]
  if (mark !== ',' && mark !== close) throw unexpected(reader, `"," or "${close}"`)
  reader.index += 1
  if (mark === close) return false
  skipWhitespace(reader)
  return true
}

const leaveContainer = (reader: JsonReader): void => {
  reader.depth -= 1
}

function* readArray(reader: JsonReader): Steps<unknown[]> {
  enterContainer(reader)
  const values: unknown[] = []
  if (reader.text[reader.index] === ']') reader.index += 1
  else {
    do {
      values.push(isPlainScalar(reader) ? readScalar(reader) : yield* readValue(reader))
      if (isPauseDue(reader)) yield
    } while (hasMore(reader, ']'))
  }
  leaveContainer(reader)
  return values
}

function* readObject(reader: JsonReader): Steps<Record<string, unknown>> {
  enterContainer(reader)
  const object: Record<string, unknown> = {}
  if (reader.text[reader.index] === '}') reader.index += 1
  else {
    do {
      if (reader.text[reader.index] !== '"') throw unexpected(reader, 'a member name in quotes')
      const start = reader.index
      const name = yield* readString(reader)
      if (name === '__proto__') throw new JsonFault('has a member "__proto__"; leave it out', start)
      if (Object.hasOwn(object, name)) throw new JsonFault(`has the member ${quote(name)} twice in one object`, start)
      skipWhitespace(reader)
      if (reader.text[reader.index] !== ':') throw unexpected(reader, '":"')
      reader.index += 1
      skipWhitespace(reader)
      object[name] = isPlainScalar(reader) ? readScalar(reader) : yield* readValue(reader)
      if (isPauseDue(reader)) yield
    } while (hasMore(reader, '}'))
  }
  leaveContainer(reader)
  return object
}

const literals: readonly (readonly [string, unknown])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
]

/** True if the value at the cursor is neither an object nor a list nor a string. */
const isPlainScalar = ({ text, index }: JsonReader): boolean => {
  const mark = text[index]
  return mark !== '{' && mark !== '[' && mark !== '"'
}

function* readValue(reader: JsonReader): Steps<unknown> {
  const mark = reader.text[reader.index]
  if (mark === '{') return yield* readObject(reader)
  if (mark === '[') return yield* readArray(reader)
  return mark === '"' ? yield* readString(reader) : readScalar(reader)
}

const readScalar = (reader: JsonReader): unknown => {
  for (const [word, value] of literals) {
    if (!reader.text.startsWith(word, reader.index)) continue
    reader.index += word.length
    return value
  }
  return readNumber(reader)
}

const lineAndColumn = (text: string, at: number): string => {
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
 * Parse a JSON text exactly, member by member. This is slower than `JSON.parse`.
 * A number that is not an exact double keeps its text. A number of more than 400 characters becomes `tooLongNumber`.
 * Refuses duplicate members, lone surrogates, NUL, deep nesting and invalid JSON, with line and column.
 */
export const parseExactJson = (text: string): Result<unknown> => runToEnd(readExactJson(text))

/** Parse as `parseExactJson` does, in steps. `level` is the nesting level of the text in the body. */
export function* readExactJson(text: string, level = 0): Steps<Result<unknown>> {
  const reader: JsonReader = { text, index: 0, depth: level, steps: 0 }
  try {
    skipWhitespace(reader)
    const value = yield* readValue(reader)
    skipWhitespace(reader)
    if (reader.index < text.length) throw unexpected(reader, 'the end')
    return accepted(value)
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
    return refused('body_invalid', `The body ${error.message} (${lineAndColumn(text, error.index)}).`)
  }
}
