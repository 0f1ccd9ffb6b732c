import { runInTimeSlices } from '../concurrency/time-slices.ts'
import { jsonPieces } from '../write-json.ts'

/**
 * An object with a long list. `write` returns the object with the elements [from, to) of the list.
 * The result always has all other members.
 * `translate` renames its members for the API version.
 */
export type LongObject<Member extends string> = {
  readonly member: Member
  readonly count: number
  /** Max elements between two pauses. */
  readonly maxPerStep?: number
  /** True if elements have long lists. Each element is then written in pieces. */
  readonly hasLongElements?: boolean
  readonly write: (from: number, to: number) => { readonly [_ in Member]: readonly unknown[] }
  readonly translate: (whole: unknown) => unknown
}

/** Default max elements between two pauses. */
const maxElementsPerStep = 1_024
const maxPageElementsPerStep = 256
/** Characters between two pauses, because elements can have any size. */
const charactersPerStep = 65_536
/** Placeholder of the elements in the list. The API accepts no text with NUL. */
const marker = '\u0000'
const markerText = JSON.stringify(marker)

/**
 * Write the JSON of an object in parts, with a pause after each part.
 * The joined parts equal `JSON.stringify` of the whole object.
 */
export function* objectTexts<Member extends string>(of: LongObject<Member>): Generator<string> {
  const { member, count, maxPerStep = maxElementsPerStep, hasLongElements = false, write, translate } = of
  const whole = JSON.stringify(translate({ ...write(0, 0), [member]: [marker] }))
  const markerIndex = whole.indexOf(markerText)
  if (markerIndex === -1) throw new Error(`The object has no member ${member}`)
  yield whole.slice(0, markerIndex)
  let size = 1
  let text = ''
  for (let from = 0; from < count; ) {
    const to = Math.min(from + size, count)
    const part = translate(write(from, to)) as { readonly [_ in Member]: readonly unknown[] }
    let length = 0
    for (const [index, element] of part[member].entries()) {
      if (from + index > 0) text += ','
      for (const piece of hasLongElements ? jsonPieces(element) : [JSON.stringify(element)]) {
        length += piece.length
        text += piece
        if (text.length < charactersPerStep && piece !== '') continue
        yield text
        text = ''
      }
    }
    if (text !== '') yield text
    text = ''
    size = Math.max(
      1,
      Math.min(maxPerStep, 4 * size, Math.floor((charactersPerStep * (to - from)) / Math.max(1, length))),
    )
    from = to
  }
  yield whole.slice(markerIndex + markerText.length)
}

const hasList = (value: unknown): value is { readonly data: readonly unknown[] } =>
  typeof value === 'object' && value !== null && 'data' in value && Array.isArray(value.data) && value.data.length > 1

function* joinTexts(texts: Iterable<string>): Generator<void, string> {
  const parts: string[] = []
  for (const part of texts) {
    if (part !== '') parts.push(part)
    yield
  }
  return parts.join('')
}

const textsOf = (value: unknown, translate: (whole: unknown) => unknown): Iterable<string> => {
  if (!hasList(value)) return jsonPieces(translate(value))
  const { data } = value
  const write = (from: number, to: number) => ({ ...value, data: data.slice(from, to) })
  return objectTexts({
    member: 'data',
    count: data.length,
    maxPerStep: maxPageElementsPerStep,
    hasLongElements: true,
    write,
    translate,
  })
}

/** Write an answer as JSON in time slices of its account. */
export const jsonText = (value: unknown, translate: (whole: unknown) => unknown, account?: string): Promise<string> =>
  runInTimeSlices(joinTexts(textsOf(value, translate)), account)

function* encodeTexts(texts: Iterable<string>): Generator<void, string | Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = []
  let buffered = ''
  for (const text of texts) {
    buffered += text
    if (buffered.length >= charactersPerStep) {
      parts.push(Buffer.from(buffered))
      buffered = ''
    }
    yield
  }
  return parts.length === 0 ? buffered : Buffer.concat([...parts, Buffer.from(buffered)])
}

/**
 * Write an answer as `jsonText` does.
 * A long answer is encoded as UTF-8 part by part, because encoding its whole text blocks.
 */
export const jsonBody = (
  value: unknown,
  translate: (whole: unknown) => unknown,
  account?: string,
): Promise<string | Uint8Array<ArrayBuffer>> => runInTimeSlices(encodeTexts(textsOf(value, translate)), account)
