import { isUtf8 } from 'node:buffer'
import { submissionLimits } from '../../registry/account.ts'
import { type JsonCursor, peekByte, takeByte } from './json-cursor.ts'

const lineFeed = 10
const comma = 44
const leftBracket = 91
const rightBracket = 93

/** White space around the elements of lines, which counts as part of them. */
const maxSpaceBytes = 64

/** What a body goes on with: an element at the cursor, its end, or something that the general reader must judge. */
export type NextPart = 'element' | 'end' | 'unclear'

/** Go to the first element of a JSON list, or of lines. */
export const toFirstElement = (cursor: JsonCursor, isNdjson: boolean): NextPart => {
  if (!isNdjson && !takeByte(cursor, leftBracket)) return 'unclear'
  return peekByte(cursor) < 0 || (isNdjson && cursor.index > maxSpaceBytes) ? 'unclear' : 'element'
}

/** Go behind the element that ended at the cursor and began at `start`. */
export const toNextElement = (cursor: JsonCursor, isNdjson: boolean, start: number): NextPart =>
  isNdjson ? nextLineElement(cursor, start) : nextListElement(cursor)

const nextListElement = (cursor: JsonCursor): NextPart => {
  const mark = peekByte(cursor)
  cursor.index += 1
  if (mark === comma) return 'element'
  return mark === rightBracket && peekByte(cursor) < 0 && isComplete(cursor) ? 'end' : 'unclear'
}

/** Only spaces and the end of the line may follow, and none may lie within the element. */
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

/** The body ends at the cursor, and its texts are in UTF-8. */
const isComplete = (cursor: JsonCursor): boolean =>
  cursor.index === cursor.length && (cursor.isAscii || isUtf8(cursor.bytes))
