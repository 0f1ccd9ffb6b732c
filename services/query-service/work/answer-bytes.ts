import { answerInLayout } from '../../contract/exchange.ts'
import type { Layout } from '../../contract/layout.ts'
import type { Operation } from '../../contract/operation.ts'
import type { PausableWork } from '../../platform/work-thread/work-messages.ts'

/** An answer whose `data` is long. `write` gives the answer with a part of `data`, half-open; without any, all other members stand in it. */
export type LongAnswer = {
  readonly operation: Operation
  readonly layout: Layout
  readonly count: number
  /** So many elements are written between pauses. */
  readonly atATime?: number
  readonly write: (from: number, to: number) => { readonly data: readonly unknown[] }
}

/** Elements between pauses, where an answer does not say. */
const elementsAtATime = 1_024
/** So many characters make a chunk. */
const chunkLength = 65_536
/** No text within JSON can hold this: quotes in it would be escaped. */
const emptyData = '"data":[]'

const encoder = new TextEncoder()

/** The elements of a part of the answer, as they stand between the brackets of `data`. */
const elementsText = ({ operation, layout, write }: LongAnswer, from: number, to: number): string => {
  const { data } = answerInLayout(operation, write(from, to), layout) as { readonly data: readonly unknown[] }
  return JSON.stringify(data).slice(1, -1)
}

/** Write the text of an answer part by part, with a pause after each: joined, the text that `JSON.stringify` gives of the whole answer. */
export function* answerTexts(answer: LongAnswer): Generator<string> {
  const whole = JSON.stringify(answerInLayout(answer.operation, answer.write(0, 0), answer.layout))
  const place = whole.indexOf(emptyData)
  if (place === -1) throw new Error(`answers of ${answer.operation.id} have no data`)
  const before = place + emptyData.length - 1
  yield whole.slice(0, before)
  const { count, atATime = elementsAtATime } = answer
  for (let from = 0; from < count; from += atATime) {
    const text = elementsText(answer, from, Math.min(from + atATime, count))
    yield from === 0 || text === '' ? text : `,${text}`
  }
  yield whole.slice(before)
}

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
