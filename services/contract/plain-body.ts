import { isUtf8 } from 'node:buffer'
import { submissionLimits } from './account.ts'
import { type JsonCursor, nextMark, takeMark } from './json-cursor.ts'

const lineFeed = 10
const comma = 44
const leftBracket = 91
const rightBracket = 93

/** White space around the elements of lines, which counts as part of them. */
const mostSpace = 64

/** What a body goes on with: an element at the cursor, its end, or something that the general reader must judge. */
export type Ahead = 'element' | 'end' | 'unclear'

/** Go to the first element of a JSON list, or of lines. */
export const firstElement = (from: JsonCursor, inLines: boolean): Ahead => {
  if (!inLines && !takeMark(from, leftBracket)) return 'unclear'
  return nextMark(from) < 0 || (inLines && from.at > mostSpace) ? 'unclear' : 'element'
}

/** Go behind the element that ended at the cursor and began at `start`. */
export const nextElement = (from: JsonCursor, inLines: boolean, start: number): Ahead =>
  inLines ? nextLine(from, start) : nextOfList(from)

const nextOfList = (from: JsonCursor): Ahead => {
  const mark = nextMark(from)
  from.at += 1
  if (mark === comma) return 'element'
  return mark === rightBracket && nextMark(from) < 0 && isWhole(from) ? 'end' : 'unclear'
}

/** Only spaces and the end of the line may follow, and none may lie within the element. */
const nextLine = (from: JsonCursor, start: number): Ahead => {
  const end = from.at
  const newline = from.bytes.indexOf(lineFeed, start)
  const lineEnd = newline < 0 ? from.length : newline
  const isLast = nextMark(from) < 0
  if (lineEnd < end || lineEnd > from.at || lineEnd - start > submissionLimits.recordBytes - mostSpace) return 'unclear'
  if (isLast) return isWhole(from) ? 'end' : 'unclear'
  return newline < 0 || from.at - newline > mostSpace ? 'unclear' : 'element'
}

/** The body ends at the cursor, and its texts are in UTF-8. */
const isWhole = (from: JsonCursor): boolean => from.at === from.length && (from.isAscii || isUtf8(from.bytes))
