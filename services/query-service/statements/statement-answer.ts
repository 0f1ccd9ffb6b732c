import { createHash } from 'node:crypto'
import type { SerializedAnswer } from '../../contract/operation.ts'
import { type StatementIdentity, statementFrame } from '../../contract/statements/statement.ts'
import { formatId } from '../../domain/identifier.ts'
import type { Tenant } from '../../domain/tenant.ts'
import { type Chunks, discardChunks, onChunksEnd } from '../../platform/http/chunks.ts'
import type { StartedWork } from '../work-thread/run-work.ts'

/** Return the id of a statement: equal for the same account, mode, location and request. */
export const statementId = ({ accountId, liveMode }: Tenant, locationId: string, request: string): string => {
  const name = JSON.stringify(['statement', accountId, liveMode, locationId, request])
  return formatId('statement', createHash('sha256').update(name).digest())
}

const encoder = new TextEncoder()

async function* framed(before: string, chunks: Chunks, after: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  yield encoder.encode(before)
  yield* chunks
  yield encoder.encode(after)
}

/** Return the answer of a calculated statement with its identity. */
export const frameAnswer = ({ answer }: StartedWork, identity: StatementIdentity): SerializedAnswer => {
  const { before, after } = statementFrame(identity)
  if ('bytes' in answer) return { bytes: Buffer.concat([encoder.encode(before), answer.bytes, encoder.encode(after)]) }
  const { chunks } = answer
  return { chunks: onChunksEnd(framed(before, chunks, after), () => void discardChunks(chunks).catch(() => undefined)) }
}

/** Read a whole answer as text. */
export const answerText = async (answer: SerializedAnswer): Promise<string> => {
  if ('bytes' in answer) return Buffer.from(answer.bytes).toString()
  const chunks: Uint8Array[] = []
  for await (const bytes of answer.chunks) chunks.push(bytes)
  return Buffer.concat(chunks).toString()
}
