import { runInTimeSlices } from '../concurrency/time-slices.ts'
import { jsonPieces } from '../write-json.ts'

/**
 * An object with a long list. `write` gives it with a part of the list, half-open; without any, all other members stand in it.
 * `translate` puts it into the names of its layout.
 */
export type LongObject<Member extends string> = {
  readonly member: Member
  readonly count: number
  /** At most so many elements are written between pauses. */
  readonly maxPerStep?: number
  /** Elements may have long lists themselves: each is written in pieces. */
  readonly hasLongElements?: boolean
  readonly write: (from: number, to: number) => { readonly [_ in Member]: readonly unknown[] }
  readonly translate: (whole: unknown) => unknown
}

/** Most elements between pauses, if an object does not say. */
const maxElementsPerStep = 1_024
const maxPageElementsPerStep = 256
/** Characters between pauses: elements may be of any size. */
const charactersPerStep = 65_536
/** What stands in a list where its elements go: NUL is in no text that was taken. */
const marker = '\u0000'
const markerText = JSON.stringify(marker)

/** Write the text of an object part by part, with a pause after each: joined, the text that `JSON.stringify` gives of the whole. */
export function* objectTexts<Member extends string>(of: LongObject<Member>): Generator<string> {
  const { member, count, maxPerStep = maxElementsPerStep, hasLongElements = false, write, translate } = of
  const whole = JSON.stringify(translate({ ...write(0, 0), [member]: [marker] }))
  const markerIndex = whole.indexOf(markerText)
  if (markerIndex === -1) throw new Error(`an object has no ${member}`)
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

/** Write an answer of an account as JSON in turns, so that others run in between. */
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

/** Write an answer as `jsonText` does; a long one as bytes in UTF-8, for to encode its whole text takes long. */
export const jsonBody = (
  value: unknown,
  translate: (whole: unknown) => unknown,
  account?: string,
): Promise<string | Uint8Array<ArrayBuffer>> => runInTimeSlices(encodeTexts(textsOf(value, translate)), account)
