/** What `JSON.stringify` may do with a value before it is written. */
type Replacer = (name: string, value: unknown) => unknown

/** Write integers (bigint) as texts. */
export const integersAsTexts: Replacer = (_, value) => (typeof value === 'bigint' ? value.toString() : value)

/** Values that are written between two points where the work can be interrupted. */
const valuesPerStep = 256

/** The engine's own raw JSON values are single values. */
const { isRawJSON } = JSON as JSON & { isRawJSON(value: unknown): boolean }

const isContainer = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !isRawJSON(value)

const countMember = (member: unknown, maxCount: number): number =>
  typeof member === 'object' && member !== null ? countValues(member, maxCount) : 1

/** Count the values within plain data, up to `most`. */
const countValues = (value: object, maxCount: number): number => {
  let count = 1
  if (Array.isArray(value)) {
    if (value.length >= maxCount) return maxCount
    for (let index = 0; index < value.length && count < maxCount; index += 1)
      count += countMember(value[index], maxCount - count)
    return count
  }
  for (const name in value) {
    count += countMember((value as Readonly<Record<string, unknown>>)[name], maxCount - count)
    if (count >= maxCount) break
  }
  return count
}

/** Characters of a piece of text, but for the last one. */
const maxPieceLength = 65_536

type JsonWriter = { text: string; values: number; readonly replacer: Replacer | undefined }

/**
 * Take the text so far as a piece.
 * The engine keeps sums of texts as trees; to look into one makes it flat while it is small.
 */
const takePiece = (writer: JsonWriter): string => {
  const { text } = writer
  writer.text = ''
  writer.values = 0
  return text.includes('\0') ? text.slice() : text
}

function* writeValue(value: unknown, writer: JsonWriter): Generator<string, void> {
  const values = isContainer(value) ? countValues(value, valuesPerStep) : 1
  if (!isContainer(value) || values < valuesPerStep || 'toJSON' in value) {
    // As a member without a value: `undefined` stands in lists alone, where it is null.
    writer.text += JSON.stringify(value, writer.replacer) ?? 'null'
    writer.values += values
    if (writer.text.length >= maxPieceLength) yield takePiece(writer)
    else if (writer.values >= valuesPerStep) {
      writer.values = 0
      yield ''
    }
    return
  }
  if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) {
      writer.text += index === 0 ? '[' : ','
      yield* writeValue(element, writer)
    }
    writer.text += ']'
    return
  }
  let separator = '{'
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue
    writer.text += `${separator}${JSON.stringify(name)}:`
    separator = ','
    yield* writeValue(member, writer)
  }
  writer.text += separator === '{' ? '{}' : '}'
}

/**
 * Write plain data as JSON in pieces of text, with a pause after each; some are empty.
 * Joined, the text that `JSON.stringify` gives.
 * `replacer` sees single values only.
 */
export function* jsonPieces(value: unknown, replacer?: Replacer): Generator<string, void> {
  if (!isContainer(value) || countValues(value, valuesPerStep) < valuesPerStep) {
    yield JSON.stringify(value, replacer) ?? 'null'
    return
  }
  const writer: JsonWriter = { text: '', values: 0, replacer }
  yield* writeValue(value, writer)
  yield takePiece(writer)
}

/** Write plain data as JSON in steps between which others can have a turn. */
export function* writeJson(value: unknown, replacer?: Replacer): Generator<void, string> {
  const pieces: string[] = []
  for (const piece of jsonPieces(value, replacer)) {
    if (piece !== '') pieces.push(piece)
    yield
  }
  return pieces.join('')
}
