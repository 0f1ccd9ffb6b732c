import type { SerializedAnswer } from '../../contract/operation.ts'
import { accepted, type Result } from '../../domain/refusal.ts'
import { discardChunks } from '../../platform/http/chunks.ts'
import type { PausableWork } from '../../platform/work-thread/work-messages.ts'
import type { WorkThread } from '../../platform/work-thread/work-thread.ts'
import { workTable } from './work-table.ts'

type WorkName = keyof typeof workTable
type InputOf<Name extends WorkName> = Parameters<(typeof workTable)[Name]>[0]

/** Work to run. Small work runs at once in the calling thread. */
export type Work<Name extends WorkName> = {
  readonly name: Name
  readonly input: InputOf<Name>
  readonly isSmall: boolean
  /** Size of the input while it waits, in bytes; 0 for a small input. */
  readonly bytes?: number
  readonly account: string
  readonly signal: AbortSignal
}

/** Started work: its head, and its answer. The caller must read the answer or discard it with `discardWork`. */
export type StartedWork = {
  readonly head: unknown
  readonly answer: Exclude<SerializedAnswer, { readonly text: string }>
}

/** Discard the answer of started work. */
export const discardWork = async ({ answer }: StartedWork): Promise<void> => {
  if ('chunks' in answer) await discardChunks(answer.chunks)
}

const runNow = (work: PausableWork): StartedWork => {
  let head: unknown
  const chunks: Uint8Array<ArrayBuffer>[] = []
  for (const step of work) {
    if (step === undefined) continue
    if ('head' in step) head = step.head
    else chunks.push(step.bytes)
  }
  const [onlyChunk] = chunks
  return { head, answer: { bytes: chunks.length === 1 && onlyChunk !== undefined ? onlyChunk : Buffer.concat(chunks) } }
}

/**
 * Run work. Small work runs at once in the calling thread. Other work runs in the work thread, which serves accounts in turn.
 * Refuses `unavailable` if too much work of the account waits. Source: docs/promises.md #i8, #s6.
 */
export const runWork = async <Name extends WorkName>(
  thread: Pick<WorkThread, 'begin'>,
  { name, input, isSmall, bytes = 0, account, signal }: Work<Name>,
): Promise<Result<StartedWork>> => {
  if (isSmall) {
    const start: (input: InputOf<Name>) => PausableWork = workTable[name] as never
    return accepted(runNow(start(input)))
  }
  const started = await thread.begin({ account, name, input, bytes, signal })
  return started.ok ? accepted({ head: started.value.head, answer: { chunks: started.value.chunks } }) : started
}
