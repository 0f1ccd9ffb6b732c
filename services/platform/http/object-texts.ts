import { inTurns } from '../event-loop-turn.ts'

/**
 * An object with a long list. `write` gives it with a part of the list, half-open; without any, all other members stand in it.
 * `translate` puts it into the names of its layout.
 */
export type LongObject<Member extends string> = {
  readonly member: Member
  readonly count: number
  /** At most so many elements are written between pauses. */
  readonly atATime?: number
  readonly write: (from: number, to: number) => { readonly [_ in Member]: readonly unknown[] }
  readonly translate: (whole: unknown) => unknown
}

/** Most elements between pauses, if an object does not say. */
const elementsAtATime = 1_024
const shortList = 256
/** Characters between pauses: elements may be of any size. */
const charactersAtATime = 65_536
/** What stands in a list where its elements go: NUL is in no text that was taken. */
const marker = '\u0000'
const markerText = JSON.stringify(marker)

/** Write the text of an object part by part, with a pause after each: joined, the text that `JSON.stringify` gives of the whole. */
export function* objectTexts<Member extends string>(of: LongObject<Member>): Generator<string> {
  const { member, count, atATime = elementsAtATime, write, translate } = of
  const whole = JSON.stringify(translate({ ...write(0, 0), [member]: [marker] }))
  const place = whole.indexOf(markerText)
  if (place === -1) throw new Error(`an object has no ${member}`)
  yield whole.slice(0, place)
  let size = 1
  let text = ''
  for (let from = 0; from < count; ) {
    const to = Math.min(from + size, count)
    const part = translate(write(from, to)) as { readonly [_ in Member]: readonly unknown[] }
    let length = 0
    for (const [index, element] of part[member].entries()) {
      const written = JSON.stringify(element)
      length += written.length
      text += from + index === 0 ? written : `,${written}`
      if (text.length < charactersAtATime) continue
      yield text
      text = ''
    }
    if (text !== '') yield text
    text = ''
    size = Math.max(1, Math.min(atATime, 4 * size, Math.floor((charactersAtATime * (to - from)) / Math.max(1, length))))
    from = to
  }
  yield whole.slice(place + markerText.length)
}

const hasList = (value: unknown): value is { readonly data: readonly unknown[] } =>
  typeof value === 'object' && value !== null && 'data' in value && Array.isArray(value.data) && value.data.length > 1

function* joined(texts: Iterable<string>): Generator<null, string> {
  let text = ''
  for (const part of texts) {
    text += part
    yield null
  }
  return text
}

/** Write an answer of an account as JSON; one with a list in turns, so that others run in between. */
export const jsonText = async (value: unknown, translate: (whole: unknown) => unknown, account?: string): Promise<string> => {
  if (!hasList(value)) return JSON.stringify(translate(value))
  const { data } = value
  const write = (from: number, to: number) => ({ ...value, data: data.slice(from, to) })
  return inTurns(joined(objectTexts({ member: 'data', count: data.length, atATime: shortList, write, translate })), account)
}
