import { float64At, float64Of, type JsonCursor } from './json-cursor.ts'

/** An ASCII text of at least eight characters as it stands in a body: eight bytes at a time, the last ones overlapping those before. */
export type BytePattern = {
  readonly length: number
  readonly firstBytes: number
  readonly restBytes: readonly number[]
  readonly offsets: readonly number[]
}

export const createBytePattern = (text: string): BytePattern => {
  const { length } = text
  if (length < 8) throw new RangeError(`a text of less than eight characters: ${text}`)
  const offsets: number[] = []
  for (let at = 8; at < length; at += 8) offsets.push(Math.min(at, length - 8))
  return { length, firstBytes: float64Of(text), restBytes: offsets.map(offset => float64Of(text, offset)), offsets }
}

/** Step over a text whose first eight bytes are known to stand at the cursor; false where it goes on otherwise. */
export const matchRest = (cursor: JsonCursor, { restBytes, offsets, length }: BytePattern): boolean => {
  const { view, index: at } = cursor
  if (at + length > cursor.length) return false
  for (let index = 0; index < restBytes.length; index += 1) {
    if (view.getFloat64(at + (offsets[index] as number)) !== restBytes[index]) return false
  }
  cursor.index = at + length
  return true
}

/** Step over a text, if it stands at the cursor. */
export const matchPattern = (cursor: JsonCursor, text: BytePattern): boolean =>
  float64At(cursor, cursor.index) === text.firstBytes && matchRest(cursor, text)
