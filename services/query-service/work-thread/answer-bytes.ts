import type { ApiVersion } from '../../contract/api-version.ts'
import { answerInApiVersion } from '../../contract/exchange.ts'
import type { Operation } from '../../contract/operation.ts'
import { type LongObject, objectTexts } from '../../platform/http/object-texts.ts'

/** Minimum length of a chunk in characters. */
const minChunkLength = 65_536

const encoder = new TextEncoder()

/** Answer with a long `data`. */
export type LongAnswer = Omit<LongObject<'data'>, 'member' | 'translate'> & {
  readonly operation: Operation
  readonly apiVersion: ApiVersion
}

/** Write the text of an answer in parts. */
export const answerTexts = ({ operation, apiVersion, ...answer }: LongAnswer): Generator<string> =>
  objectTexts({ ...answer, member: 'data', translate: whole => answerInApiVersion(operation, whole, apiVersion) })

/** Write texts as UTF-8 in chunks. A chunk is written when it is read. */
export function* encodeTexts(texts: Iterable<string>): Generator<Uint8Array<ArrayBuffer>> {
  let text = ''
  for (const part of texts) {
    text += part
    if (text.length < minChunkLength) continue
    yield encoder.encode(text)
    text = ''
  }
  if (text !== '') yield encoder.encode(text)
}
