import { isUtf8 } from 'node:buffer'
import { submissionLimits } from '../contract/registry/account.ts'
import { type JsonCursor, peekByte, takeByte } from './json-cursor.ts'

const lineFeed = 10
const comma = 44
const leftBracket = 91
const rightBracket = 93

/** Maximum white space around the element of a line. The white space counts towards the size of the element. */
const maxSpaceBytes = 64

/** Next part of a body: an element at the cursor, the end, or unclear: then the general reader reads the body. */
export type NextPart = 'element' | 'end' | 'unclear'

/** Move the cursor to the first element of a JSON list or of lines. */
export const toFirstElement = (cursor: JsonCursor, isNdjson: boolean): NextPart => {
  if (!isNdjson && !takeByte(cursor, leftBracket)) return 'unclear'
  return peekByte(cursor) < 0 || (isNdjson && cursor.index > maxSpaceBytes) ? 'unclear' : 'element'
}

/** Move the cursor to the next element. The element before began at `start` and ends at the cursor. */
export const toNextElement = (cursor: JsonCursor, isNdjson: boolean, start: number): NextPart =>
  isNdjson ? nextLineElement(cursor, start) : nextListElement(cursor)

const nextListElement = (cursor: JsonCursor): NextPart => {
  const mark = peekByte(cursor)
  cursor.index += 1
  if (mark === comma) return 'element'
  return mark === rightBracket && peekByte(cursor) < 0 && isComplete(cursor) ? 'end' : 'unclear'
}

/** Only white space and the end of the line may follow an element. The element has no line break. */
const nextLineElement = (cursor: JsonCursor, start: number): NextPart => {
  const end = cursor.index
  const newline = cursor.bytes.indexOf(lineFeed, start)
  const lineEnd = newline < 0 ? cursor.length : newline
  const isLast = peekByte(cursor) < 0
  if (lineEnd < end || lineEnd > cursor.index || lineEnd - start > submissionLimits.recordBytes - maxSpaceBytes)
    return 'unclear'
  if (isLast) return isComplete(cursor) ? 'end' : 'unclear'
  return newline < 0 || cursor.index - newline > maxSpaceBytes ? 'unclear' : 'element'
}

/** True if the body ends at the cursor and is valid UTF-8. */
const isComplete = (cursor: JsonCursor): boolean =>
  cursor.index === cursor.length && (cursor.isAscii || isUtf8(cursor.bytes))
