import type { Operation, RequestOf, SerializedAnswer } from '../../contract/operation.ts'
import { accepted, type Result } from '../../domain/refusal.ts'
import { discardChunks } from '../../platform/http/chunks.ts'
import type { WorkResult } from '../../platform/work-thread/work-messages.ts'
import type { WorkThread, WorkThreadOptions } from '../../platform/work-thread/work-thread.ts'
import { workTable } from './work-table.ts'

/**
 * Options of the work threads of the query service. An account can run 2 works at a time, and 62 can wait, so that one
 * account cannot fill the threads or the memory.
 * Source: docs/promises.md #s6.
 */
export const workThreadOptions: WorkThreadOptions = {
  script: new URL('./work-process.ts', import.meta.url),
  maxThreads: 3,
  maxIdleMs: 30_000,
  limits: { maxConcurrent: 6, maxConcurrentPerAccount: 2, maxWaitingPerAccount: 62 },
  maxWaitingBytes: 128 * 2 ** 20,
  memoryMiB: 1_024,
}

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

const runNow = (work: WorkResult): StartedWork => {
  const { head } = work
  const chunks = [...work.chunks]
  const [onlyChunk] = chunks
  return { head, answer: { bytes: chunks.length === 1 && onlyChunk !== undefined ? onlyChunk : Buffer.concat(chunks) } }
}

/**
 * Run work. Small work runs at once in the calling thread. Other work runs in the work thread, which serves accounts in
 * turn.
 * Refuses `unavailable` if too much work of the account waits.
 * Source: docs/promises.md #i8, #s6.
 */
export const runWork = async <Name extends WorkName>(
  thread: Pick<WorkThread, 'begin'>,
  { name, input, isSmall, bytes = 0, account, signal }: Work<Name>,
): Promise<Result<StartedWork>> => {
  if (isSmall) {
    const start: (input: InputOf<Name>) => WorkResult = workTable[name] as never
    return accepted(runNow(start(input)))
  }
  const started = await thread.begin({ account, name, input, bytes, signal })
  return started.ok ? accepted({ head: started.value.head, answer: { chunks: started.value.chunks } }) : started
}

type WorkOutcome = Extract<Result<never>, { ok: false }> | { readonly ok: true; readonly serialized: SerializedAnswer }

/** Run the work of a request and answer with its bytes. Refuses `unavailable` if too much work of the account waits. */
export const answerWork = async <Name extends WorkName>(
  { thread }: { readonly thread: Pick<WorkThread, 'begin'> },
  { caller, signal }: Pick<RequestOf<Operation>, 'caller' | 'signal'>,
  work: Omit<Work<Name>, 'account' | 'signal'>,
): Promise<WorkOutcome> => {
  const started = await runWork(thread, { ...work, account: caller.accountId, signal })
  return started.ok ? { ok: true, serialized: started.value.answer } : started
}
