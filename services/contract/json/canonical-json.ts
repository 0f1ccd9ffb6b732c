import { isJsonNumber, numberText } from './exact-number.ts'

/** Length in characters of a piece of text, except the last one. */
const pieceLength = 16_384

type CanonicalWriter = { text: string }

function* writeCanonical(value: unknown, writer: CanonicalWriter): Generator<string, void> {
  if (isJsonNumber(value)) writer.text += numberText(value)
  else if (Array.isArray(value)) {
    writer.text += '['
    for (const [index, element] of value.entries()) {
      if (index > 0) writer.text += ','
      yield* writeCanonical(element, writer)
    }
    writer.text += ']'
  } else if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined)
    members.sort(([a], [b]) => (a < b ? -1 : 1))
    writer.text += '{'
    for (const [index, [name, member]] of members.entries()) {
      writer.text += `${index > 0 ? ',' : ''}${JSON.stringify(name)}:`
      yield* writeCanonical(member, writer)
    }
    writer.text += '}'
  } else writer.text += JSON.stringify(value)
  if (writer.text.length < pieceLength) return
  yield writer.text
  writer.text = ''
}

/**
 * Write plain JSON data in the form of RFC 8785, in pieces of text: no spaces, and the members of an object sorted by
 * the UTF-16 code units of their names. Numbers keep the digits with which an answer writes them.
 */
export function* canonicalJson(value: unknown): Generator<string, void> {
  const writer = { text: '' }
  yield* writeCanonical(value, writer)
  yield writer.text
}
