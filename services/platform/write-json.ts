/** Replacer of `JSON.stringify`. */
type Replacer = (name: string, value: unknown) => unknown

/** Write integers (bigint) as texts. */
export const integersAsTexts: Replacer = (_, value) => (typeof value === 'bigint' ? value.toString() : value)

/** Number of values between two pauses. */
const valuesPerStep = 256

/** Raw JSON values count as single values. */
const { isRawJSON } = JSON as JSON & { isRawJSON(value: unknown): boolean }

const isContainer = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !isRawJSON(value)

const countMember = (member: unknown, maxCount: number): number =>
  typeof member === 'object' && member !== null ? countValues(member, maxCount) : 1

/** Count the values in plain data, up to `maxCount`. */
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

/** Min length of a piece of text in characters, except the last piece. */
const maxPieceLength = 65_536

type JsonWriter = { text: string; values: number; readonly replacer: Replacer | undefined }

/**
 * Return the text so far as a piece. V8 stores concatenated texts as trees.
 * Searching a text flattens it while it is small.
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
    // Members with the value `undefined` are skipped below, so `undefined` occurs in lists only, where it is null.
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
 * Write plain data as JSON in pieces of text, with a pause after each piece. Some pieces are empty.
 * The joined pieces equal `JSON.stringify`. `replacer` gets single values only.
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

/** Write plain data as JSON in steps, with a pause after each step. */
export function* writeJson(value: unknown, replacer?: Replacer): Generator<void, string> {
  const pieces: string[] = []
  for (const piece of jsonPieces(value, replacer)) {
    if (piece !== '') pieces.push(piece)
    yield
  }
  return pieces.join('')
}
