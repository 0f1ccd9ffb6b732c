import { answerInLayout } from '../../contract/exchange.ts'
import type { Layout } from '../../contract/layout.ts'
import type { Operation } from '../../contract/operation.ts'
import type { PausableWork } from '../../platform/work-thread/work-messages.ts'

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
/** So many characters make a chunk. */
const chunkLength = 65_536

const encoder = new TextEncoder()

/** Write the text of an object part by part, with a pause after each: joined, the text that `JSON.stringify` gives of the whole. */
export function* objectTexts<Member extends string>(of: LongObject<Member>): Generator<string> {
  const { member, count, atATime = elementsAtATime, write, translate } = of
  const whole = JSON.stringify(translate(write(0, 0)))
  // No text within JSON can hold this: quotes in it would be escaped.
  const empty = `"${member}":[]`
  const place = whole.indexOf(empty)
  if (place === -1) throw new Error(`an object has no ${member}`)
  const before = place + empty.length - 1
  yield whole.slice(0, before)
  for (let from = 0; from < count; from += atATime) {
    const part = translate(write(from, Math.min(from + atATime, count))) as { readonly [_ in Member]: readonly unknown[] }
    const text = JSON.stringify(part[member]).slice(1, -1)
    yield from === 0 || text === '' ? text : `,${text}`
  }
  yield whole.slice(before)
}

/** An answer whose `data` is long. */
export type LongAnswer = Omit<LongObject<'data'>, 'member' | 'translate'> & { readonly operation: Operation; readonly layout: Layout }

/** Write the text of an answer part by part. */
export const answerTexts = ({ operation, layout, ...answer }: LongAnswer): Generator<string> =>
  objectTexts({ ...answer, member: 'data', translate: whole => answerInLayout(operation, whole, layout) })

/** Write texts as UTF-8 in chunks, with a pause after each text. */
export function* bytesOf(texts: Iterable<string>): PausableWork {
  let text = ''
  for (const part of texts) {
    text += part
    if (text.length >= chunkLength) {
      yield { bytes: encoder.encode(text) }
      text = ''
    } else yield undefined
  }
  if (text !== '') yield { bytes: encoder.encode(text) }
}
