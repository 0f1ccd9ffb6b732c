import { Worker } from 'node:worker_threads'
import { accepted, type Result } from '../../domain/refusal.ts'
import { type FairShare, fairShare, type ShareLimits } from '../concurrency/fair-share.ts'
import { Failure } from '../failure.ts'
import { type Chunks, onChunksEnd } from '../http/chunks.ts'
import { busy } from '../http/request-body.ts'
import type { FromThread, ToThread } from './work-messages.ts'

/** Who asks for which work. `input` is plain data; it is copied. `bytes`: what it takes while it waits, unless that is little. */
export type WorkRequest = {
  readonly account: string
  readonly name: string
  readonly input: unknown
  readonly bytes?: number
  readonly signal: AbortSignal
}

/** Work under way: what it knew before its bytes, and the bytes. Leaving them stops the work: they must be read or left. */
export type RunningWork = { readonly head: unknown; readonly chunks: Chunks }

/** A thread for long work that needs nothing but plain data. */
export type WorkThread = AsyncDisposable & {
  /**
   * Begin work; gives it once its head is known. Refuses `unavailable` where too much work of the account waits. Rejects when the signal is
   * aborted before the head is known, and with a retriable `Failure` when the thread is lost.
   */
  readonly begin: (request: WorkRequest) => Promise<Result<RunningWork>>
}

export type WorkThreadOptions = {
  /** The file of the thread, which calls `serveWork`. */
  readonly script: URL
  readonly limits: ShareLimits
  /** Inputs of one account that wait take so many bytes at most, or are one. */
  readonly maxWaitingBytes: number
  /** What the thread may hold, in MiB; one that needs more is ended, and its work fails. */
  readonly memoryMiB: number
}

/** So many chunks are on their way at once. */
const chunksAhead = 4

type Waiter = { readonly resolve: () => void }

/** What has come of one work so far. */
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
    if (message.kind === 'fault') inbox.error = new Error(`work in the thread failed: ${message.error}`)
  }
  wake(inbox)
}

const lost = (cause: unknown): Failure =>
  new Failure('work_thread_lost', 'the thread for long work ended', { retriable: true, cause })

/** The thread itself, started when it is first needed and again after it was lost. */
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
      resourceLimits: { maxOldGenerationSizeMb: memoryMiB },
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
    started.on('exit', code => failIfCurrent(new Error(`exit code ${code}`)))
    started.unref()
    return started
  }
  return {
    inboxes,
    /** Begin work. Throws if the thread was closed. */
    begin: (message: ToThread & { readonly kind: 'begin' }): void => {
      if (isClosed) throw lost(new Error('the service stops'))
      worker ??= start()
      worker.postMessage(message)
    },
    /** Tell the thread of work that was begun in it; one that was lost or closed has none. */
    send: (message: ToThread & { readonly kind: 'more' | 'stop' }): void => worker?.postMessage(message),
    close: async (): Promise<void> => {
      isClosed = true
      const open = worker
      failAll(new Error('the service stops'))
      await open?.terminate()
    },
  }
}

type Thread = ReturnType<typeof threadOf>

/** Give the bytes of work as they come, asking for one more chunk with each that is taken. */
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

/** Bound what the inputs of each account take that wait together. */
const inputLimiter = (maxBytes: number) => {
  const waiting = new Map<string, number>()
  return {
    /** Wait with an input; null at once if there is no room for it. */
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

/** Open a thread for long work; it starts with the first work. Accounts share it in turn. Source: docs/promises.md #i8, #s6. */
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
