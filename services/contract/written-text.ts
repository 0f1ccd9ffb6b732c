import { eightAt, eightOf, type JsonCursor } from './json-cursor.ts'

/** An ASCII text of at least eight characters as it stands in a body: eight bytes at a time, the last ones overlapping those before. */
export type WrittenText = {
  readonly length: number
  readonly first: number
  readonly rest: readonly number[]
  readonly places: readonly number[]
}

export const writtenText = (text: string): WrittenText => {
  const { length } = text
  if (length < 8) throw new RangeError(`a text of less than eight characters: ${text}`)
  const places: number[] = []
  for (let at = 8; at < length; at += 8) places.push(Math.min(at, length - 8))
  return { length, first: eightOf(text), rest: places.map(place => eightOf(text, place)), places }
}

/** Step over a text whose first eight bytes are known to stand at the cursor; false where it goes on otherwise. */
export const takeRest = (from: JsonCursor, { rest, places, length }: WrittenText): boolean => {
  const { view, at } = from
  if (at + length > from.length) return false
  for (let index = 0; index < rest.length; index += 1) {
    if (view.getFloat64(at + (places[index] as number)) !== rest[index]) return false
  }
  from.at = at + length
  return true
}

/** Step over a text, if it stands at the cursor. */
export const takeWritten = (from: JsonCursor, text: WrittenText): boolean => eightAt(from, from.at) === text.first && takeRest(from, text)
