import { maxNumberLength } from '../../domain/quantity.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
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
}

const whitespace = /[ \t\n\r]*/y
const numberGrammar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: the grammar of JSON excludes bare control characters.
const plainText = /[^"\\\u0000-\u001f]*/y
const spaceCode = 32
const quoteCode = 34
const backslashCode = 92

const skipWhitespace = (reader: JsonReader): void => {
  if (reader.text.charCodeAt(reader.index) > spaceCode) return
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

/** True for the letter after the backslash of a short escape: " \\ / b f n r t. */
const isShortEscape = (code: number): boolean =>
  code === quoteCode ||
  code === backslashCode ||
  code === 47 ||
  code === 98 ||
  code === 102 ||
  code === 110 ||
  code === 114 ||
  code === 116

/** Skip an escape. Throws if the escape is invalid. */
const skipEscape = (reader: JsonReader): void => {
  const { text, index } = reader
  reader.index += 2
  if (isShortEscape(text.charCodeAt(index + 1))) return
  const letter = text.charAt(index + 1)
  if (letter !== 'u') throw new JsonFault(`has an unknown escape \\${printable(letter)}`, index)
  if (!/^[0-9a-fA-F]{4}$/.test(text.slice(index + 2, index + 6)))
    throw new JsonFault('has an escape \\u without four hexadecimal digits', index)
  reader.index += 4
}

/** Throw the first fault of a string that `JSON.parse` refuses. */
const throwStringFault = (reader: JsonReader): never => {
  const start = reader.index
  reader.index += 1
  for (;;) {
    const code = reader.text.charCodeAt(reader.index)
    if (Number.isNaN(code)) throw new JsonFault('has a string without a closing quote', start)
    if (code < 32) throw new JsonFault('has a bare control character in a string; escape it', reader.index)
    if (code === backslashCode) skipEscape(reader)
    else reader.index += 1
  }
}

/** Return the index of the closing quote of a string with escapes; -1 without a closing quote. */
const findClosingQuote = ({ text, index }: JsonReader): number => {
  const first = text.indexOf('"', index + 1)
  if (first === -1 || text.charCodeAt(first - 1) !== backslashCode) return first
  for (let at = index + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === quoteCode) return at
    if (code === backslashCode) at += 1
  }
  return -1
}

/** Read a string without escapes from the text, and another string with `JSON.parse`. */
const readText = (reader: JsonReader): string => {
  const { text, index: start } = reader
  plainText.lastIndex = start + 1
  plainText.test(text)
  if (text.charCodeAt(plainText.lastIndex) === quoteCode) {
    reader.index = plainText.lastIndex + 1
    return text.slice(start + 1, plainText.lastIndex)
  }
  const end = findClosingQuote(reader)
  const read = end === -1 ? undefined : quickParse(text.slice(start, end + 1))
  if (read === undefined) return throwStringFault(reader)
  reader.index = end + 1
  return read.value as string
}

const readString = (reader: JsonReader): string => {
  const start = reader.index
  const value = readText(reader)
  if (value.includes('\0')) throw new JsonFault('has the character NUL in a string; leave it out', start)
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

const readArray = (reader: JsonReader): unknown[] => {
  enterContainer(reader)
  const values: unknown[] = []
  if (reader.text[reader.index] === ']') reader.index += 1
  else {
    do {
      values.push(readValue(reader))
    } while (hasMore(reader, ']'))
  }
  leaveContainer(reader)
  return values
}

/** Read the name of the next member of an object, and the colon after it. */
const readName = (reader: JsonReader, object: Readonly<Record<string, unknown>>): string => {
  if (reader.text[reader.index] !== '"') throw unexpected(reader, 'a member name in quotes')
  const start = reader.index
  const name = readString(reader)
  if (name === '__proto__') throw new JsonFault('has a member "__proto__"; leave it out', start)
  if (Object.hasOwn(object, name)) throw new JsonFault(`has the member ${quote(name)} twice in one object`, start)
  skipWhitespace(reader)
  if (reader.text[reader.index] !== ':') throw unexpected(reader, '":"')
  reader.index += 1
  skipWhitespace(reader)
  return name
}

const readObject = (reader: JsonReader): Record<string, unknown> => {
  enterContainer(reader)
  const object: Record<string, unknown> = {}
  if (reader.text[reader.index] === '}') reader.index += 1
  else {
    do {
      const name = readName(reader, object)
      object[name] = readValue(reader)
    } while (hasMore(reader, '}'))
  }
  leaveContainer(reader)
  return object
}

/** Words of JSON with their values, by first letter. */
const literals: ReadonlyMap<string, readonly [string, unknown]> = new Map([
  ['t', ['true', true]],
  ['f', ['false', false]],
  ['n', ['null', null]],
])

const readValue = (reader: JsonReader): unknown => {
  const mark = reader.text[reader.index]
  if (mark === '{') return readObject(reader)
  if (mark === '[') return readArray(reader)
  return mark === '"' ? readString(reader) : readScalar(reader)
}

const readScalar = (reader: JsonReader): unknown => {
  const literal = literals.get(reader.text.charAt(reader.index))
  if (literal === undefined || !reader.text.startsWith(literal[0], reader.index)) return readNumber(reader)
  reader.index += literal[0].length
  return literal[1]
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

/** Parse a text with `JSON.parse`; undefined if the text is not valid JSON. */
export const quickParse = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/**
 * Parse a JSON text exactly, member by member. This is slower than `JSON.parse`. `level` is the nesting level of the
 * text in the body.
 * A number that is not an exact double keeps its text. A number of more than 400 characters becomes `tooLongNumber`.
 * Refuses duplicate members, lone surrogates, NUL, deep nesting and invalid JSON, with line and column.
 */
export const parseExactJson = (text: string, level = 0): Result<unknown> => {
  const reader: JsonReader = { text, index: 0, depth: level }
  try {
    skipWhitespace(reader)
    const value = readValue(reader)
    readEnd(reader)
    return accepted(value)
  } catch (error) {
    return refuseFault(text, error)
  }
}

/** Read the white space after a value. The text must end there. */
const readEnd = (reader: JsonReader): void => {
  skipWhitespace(reader)
  if (reader.index < reader.text.length) throw unexpected(reader, 'the end')
}

const refuseFault = (text: string, error: unknown): Result<never> => {
  if (!(error instanceof JsonFault)) throw error
  return refused('body_invalid', `The body ${error.message} (${lineAndColumn(text, error.index)}).`)
}

/** Characters that are read in one turn of the event loop. */
const charactersPerTurn = 2 ** 18

/** Containers below this level are read at once. The long list of a body is its value, or one of its members. */
const levelsInTurns = 2

/**
 * Parse a JSON text as `parseExactJson` does, in many turns of the event loop. One element of the long list, and one
 * string, are read at once.
 */
export const parseExactJsonInTurns = async (text: string, nextTurn: () => Promise<void>): Promise<Result<unknown>> => {
  const reader: JsonReader = { text, index: 0, depth: 0 }
  let turnEnd = charactersPerTurn
  const readInTurns = async (): Promise<unknown> => {
    const mark = text[reader.index]
    if (reader.depth >= levelsInTurns || (mark !== '{' && mark !== '[')) return readValue(reader)
    enterContainer(reader)
    const isList = mark === '['
    const close = isList ? ']' : '}'
    const values: unknown[] = []
    const object: Record<string, unknown> = {}
    if (text[reader.index] === close) reader.index += 1
    else {
      do {
        if (reader.index >= turnEnd) {
          await nextTurn()
          turnEnd = reader.index + charactersPerTurn
        }
        if (isList) values.push(reader.depth >= levelsInTurns ? readValue(reader) : await readInTurns())
        else object[readName(reader, object)] = await readInTurns()
      } while (hasMore(reader, close))
    }
    leaveContainer(reader)
    return isList ? values : object
  }
  try {
    skipWhitespace(reader)
    const value = await readInTurns()
    readEnd(reader)
    return accepted(value)
  } catch (error) {
    return refuseFault(text, error)
  }
}
