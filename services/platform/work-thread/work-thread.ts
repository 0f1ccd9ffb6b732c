import { Worker } from 'node:worker_threads'
import { accepted, type Result } from '../../domain/refusal.ts'
import { type FairShare, fairShare, type ShareLimits } from '../concurrency/fair-share.ts'
import { Failure } from '../failure.ts'
import { type Chunks, onChunksEnd } from '../http/chunks.ts'
import { busy } from '../http/request-body.ts'
import { type FromThread, newObjectsMiB, type ToThread, usableShareOfHeap } from './work-messages.ts'

/** Work to do. `input` is plain data that is copied. `bytes` is its size, or undefined for a small input. */
export type WorkRequest = {
  readonly account: string
  readonly name: string
  readonly input: unknown
  readonly bytes?: number
  readonly signal: AbortSignal
}

/**
 * Running work: its head and the bytes that follow. The caller must read or discard the chunks.
 * Discarding stops the work.
 */
export type RunningWork = { readonly head: unknown; readonly chunks: Chunks }

/** A thread for slow work on plain data. */
export type WorkThread = AsyncDisposable & {
  /**
   * Start work and return it with its head. Refuses `unavailable` if too much work of the account waits.
   * Rejects if the signal is aborted before the head is known, and with a retriable `Failure` if the thread ends.
   */
  readonly begin: (request: WorkRequest) => Promise<Result<RunningWork>>
}

export type WorkThreadOptions = {
  /** File of the thread. It calls `serveWork`. */
  readonly script: URL
  readonly limits: ShareLimits
  /** Max total bytes of the waiting inputs of an account. A single input may exceed it. */
  readonly maxWaitingBytes: number
  /** Max memory of the objects of the thread in MiB. If the thread exceeds it, the thread ends and its work fails. */
  readonly memoryMiB: number
}

/** Number of chunks that the thread sends ahead. */
const chunksAhead = 4

type Waiter = { readonly resolve: () => void }

/** Messages of a task that the caller has not read yet. */
type Inbox = {
  readonly chunks: Uint8Array<ArrayBuffer>[]
  head: { readonly value: unknown } | null
  isOver: boolean
  error: Error | null
  waiting: Waiter | null
}

const wake = (inbox: Inbox): void => {
  const { waiting } = inbox
  inbox.waiting = null
  waiting?.resolve()
}

const waitForMessage = (inbox: Inbox): Promise<void> =>
  new Promise(resolve => {
    inbox.waiting = { resolve }
  })

const receiveMessage = (inbox: Inbox, message: FromThread): void => {
  if (message.kind === 'head') inbox.head = { value: message.head }
  else if (message.kind === 'bytes') inbox.chunks.push(message.bytes)
  else {
    inbox.isOver = true
    if (message.kind === 'fault') inbox.error = new Error(`Work in the thread failed: ${message.error}`)
  }
  wake(inbox)
}

const lost = (cause: unknown): Failure =>
  new Failure('work_thread_lost', 'The work thread has ended. Send the request again.', { retriable: true, cause })

/** Create the thread. It starts at the first task, and again after it has ended unexpectedly. */
const threadOf = ({ script, memoryMiB }: WorkThreadOptions) => {
  const inboxes = new Map<number, Inbox>()
  let worker: Worker | null = null
  let isClosed = false
  const failAll = (cause: unknown): void => {
    worker = null
    for (const inbox of inboxes.values()) {
      inbox.isOver = true
      inbox.error ??= lost(cause)
      wake(inbox)
    }
    inboxes.clear()
  }
  const start = (): Worker => {
    const started = new Worker(script, {
      resourceLimits: { maxOldGenerationSizeMb: Math.ceil(memoryMiB / usableShareOfHeap) + newObjectsMiB },
      stdout: false,
      stderr: false,
    })
    const failIfCurrent = (cause: unknown): void => {
      if (worker === started) failAll(cause)
    }
    started.on('message', (message: FromThread) => {
      const inbox = inboxes.get(message.id)
      if (message.kind === 'end' || message.kind === 'fault') inboxes.delete(message.id)
      if (inbox !== undefined) receiveMessage(inbox, message)
    })
    started.on('error', failIfCurrent)
    started.on('exit', code => failIfCurrent(new Error(`Exit code ${code}`)))
    started.unref()
    return started
  }
  return {
    inboxes,
    /** Start work. Throws if the thread is closed. */
    begin: (message: ToThread & { readonly kind: 'begin' }): void => {
      if (isClosed) throw lost(new Error('The service is stopping'))
      worker ??= start()
      worker.postMessage(message)
    },
    /** Send a message about a running task. A lost or closed thread has no tasks, so the message is dropped. */
    send: (message: ToThread & { readonly kind: 'more' | 'stop' }): void => worker?.postMessage(message),
    close: async (): Promise<void> => {
      isClosed = true
      const open = worker
      failAll(new Error('The service is stopping'))
      await open?.terminate()
    },
  }
}

type Thread = ReturnType<typeof threadOf>

/** Yield the bytes of a task. Each chunk that is read requests one more chunk. */
async function* bytesOf(thread: Thread, id: number, inbox: Inbox): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  thread.send({ kind: 'more', id, chunks: chunksAhead - 1 })
  for (;;) {
    const bytes = inbox.chunks.shift()
    if (bytes !== undefined) {
      if (!inbox.isOver) thread.send({ kind: 'more', id, chunks: 1 })
      yield bytes
    } else if (inbox.error !== null) throw inbox.error
    else if (inbox.isOver) return
    else await waitForMessage(inbox)
  }
}

const beginWork = async (thread: Thread, id: number, request: WorkRequest, leave: () => void): Promise<RunningWork> => {
  const { account, name, input, signal } = request
  const inbox: Inbox = { chunks: [], head: null, isOver: false, error: null, waiting: null }
  thread.inboxes.set(id, inbox)
  const stop = (): void => {
    signal.removeEventListener('abort', stop)
    if (thread.inboxes.delete(id)) thread.send({ kind: 'stop', id })
    inbox.isOver = true
    wake(inbox)
    leave()
  }
  try {
    signal.throwIfAborted()
    signal.addEventListener('abort', stop, { once: true })
    thread.begin({ kind: 'begin', id, account, name, input })
    while (inbox.head === null && !inbox.isOver) await waitForMessage(inbox)
    signal.throwIfAborted()
    if (inbox.error !== null) throw inbox.error
    signal.removeEventListener('abort', stop)
    return { head: inbox.head?.value, chunks: onChunksEnd(bytesOf(thread, id, inbox), stop) }
  } catch (error) {
    stop()
    throw error
  }
}

/** Limit the total bytes of waiting inputs of each account. */
const inputLimiter = (maxBytes: number) => {
  const waiting = new Map<string, number>()
  return {
    /** Wait with an input. Null at once if the input exceeds the limit. */
    within: async <T>(account: string, bytes: number, wait: () => Promise<T>): Promise<T | null> => {
      const before = waiting.get(account) ?? 0
      if (before > 0 && bytes > 0 && before + bytes > maxBytes) return null
      waiting.set(account, before + bytes)
      try {
        return await wait()
      } finally {
        const left = (waiting.get(account) ?? 0) - bytes
        if (left === 0) waiting.delete(account)
        else waiting.set(account, left)
      }
    },
  }
}

/** Open a thread for slow work. It starts at the first task. Accounts take turns. Source: docs/promises.md #i8, #s6. */
export const openWorkThread = (options: WorkThreadOptions): WorkThread => {
  const share: FairShare = fairShare(options.limits)
  const thread = threadOf(options)
  const inputs = inputLimiter(options.maxWaitingBytes)
  let workCount = 0
  return {
    begin: async request => {
      const leave = await inputs.within(request.account, request.bytes ?? 0, () =>
        share.acquire(request.account, request.signal),
      )
      if (leave === null) return busy
      workCount += 1
      return accepted(await beginWork(thread, workCount, request, leave))
    },
    [Symbol.asyncDispose]: () => thread.close(),
  }
}
