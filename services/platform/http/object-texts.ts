import { inTurns } from '../event-loop-turn.ts'

/**
 * An object with a long list. `write` gives it with a part of the list, half-open; without any, all other members stand in it.
 * `translate` puts it into the names of its layout.
 */
export type LongObject<Member extends string> = {
  readonly member: Member
  readonly count: number
  /** So many elements are written between pauses. */
  readonly atATime?: number
  readonly write: (from: number, to: number) => { readonly [_ in Member]: readonly unknown[] }
  readonly translate: (whole: unknown) => unknown
}

/** Elements between pauses, where an object does not say. */
const elementsAtATime = 1_024
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
  for (let from = 0; from < count; from += atATime) {
    const part = translate(write(from, Math.min(from + atATime, count))) as { readonly [_ in Member]: readonly unknown[] }
    const text = JSON.stringify(part[member]).slice(1, -1)
    yield from === 0 || text === '' ? text : `,${text}`
  }
  yield whole.slice(place + markerText.length)
}

/** A list of fewer elements is written at once. */
const shortList = 256

const hasLongData = (value: unknown): value is { readonly data: readonly unknown[] } =>
  typeof value === 'object' && value !== null && 'data' in value && Array.isArray(value.data) && value.data.length > shortList

function* joined(texts: Iterable<string>): Generator<null, string> {
  let text = ''
  for (const part of texts) {
    text += part
    yield null
  }
  return text
}

/** Write an answer of an account as JSON; one with a long list in turns, so that others run in between. */
export const jsonText = async (value: unknown, translate: (whole: unknown) => unknown, account?: string): Promise<string> => {
  if (!hasLongData(value)) return JSON.stringify(translate(value))
  const { data } = value
  const write = (from: number, to: number) => ({ ...value, data: data.slice(from, to) })
  return inTurns(joined(objectTexts({ member: 'data', count: data.length, atATime: shortList, write, translate })), account)
}
