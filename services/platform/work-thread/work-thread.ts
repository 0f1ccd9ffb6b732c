import { accepted, type Result } from '../../domain/refusal.ts'
import { type FairShare, fairShare, type ShareLimits } from '../concurrency/fair-share.ts'
import { type Chunks, onChunksEnd } from '../http/chunks.ts'
import { busy } from '../http/request-body.ts'
import { type Inbox, lost, openThread, type Thread, type ThreadOptions, wake } from './one-thread.ts'

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

/** Threads for slow work on plain data. */
export type WorkThread = AsyncDisposable & {
  /**
   * Start work and return it with its head. Refuses `unavailable` if too much work of the account waits.
   * Rejects if the signal is aborted before the head is known, and with a retriable `Failure` if the thread ends.
   */
  readonly begin: (request: WorkRequest) => Promise<Result<RunningWork>>
}

export type WorkThreadOptions = ThreadOptions & {
  readonly maxThreads: number
  /** Time in ms after which a thread without tasks ends. One thread stays. */
  readonly maxIdleMs: number
  readonly limits: ShareLimits
  /** Max total bytes of the waiting inputs of an account. A single input may exceed it. */
  readonly maxWaitingBytes: number
}

/** Number of chunks that a thread sends ahead. */
const chunksAhead = 4

/** Work that waits for a thread. `fail` ends it without a thread. */
type WaitingWork = {
  readonly account: string
  readonly begin: (thread: Thread) => void
  readonly fail: (error: unknown) => void
}

/**
 * Threads, the account whose work each of them does now, and the work that waits. `idleTimers` end threads. `usedBytes` is
 * the last known memory of each thread that has a task.
 */
type ThreadPool = {
  readonly options: WorkThreadOptions
  readonly threads: Map<Thread, string | null>
  readonly idleTimers: Map<Thread, NodeJS.Timeout>
  readonly usedBytes: Map<Thread, number>
  readonly waiting: WaitingWork[]
  memoryTimer: NodeJS.Timeout | null
  isClosed: boolean
}

/** Time in ms between two checks of the memory of the threads. */
const memoryCheckMs = 50

/**
 * End the largest thread if the threads together use too much memory.
 * V8 has a limit for each thread, but V8 ends the whole process if a large array grows beyond that limit.
 */
const limitMemory = ({ usedBytes, options }: ThreadPool): void => {
  const sum = [...usedBytes.values()].reduce((total, bytes) => total + bytes, 0)
  if (sum <= options.memoryMiB * 2 ** 20) return
  const [largest] = [...usedBytes].toSorted(([, a], [, b]) => b - a)
  if (largest === undefined) return
  usedBytes.delete(largest[0])
  largest[0].restart()
}

/** Check the memory of the threads while one of them has a task. */
const watchMemory = (pool: ThreadPool): void => {
  if (pool.memoryTimer !== null) return
  const { usedBytes } = pool
  const asked = new Set<Thread>()
  const ask = async (thread: Thread): Promise<void> => {
    asked.add(thread)
    const bytes = await thread.usedBytes()
    asked.delete(thread)
    if (thread.inboxes.size === 0) return
    usedBytes.set(thread, bytes)
    limitMemory(pool)
  }
  const timer = setInterval(() => {
    const busy = [...pool.threads.keys()].filter(({ inboxes }) => inboxes.size > 0)
    // The garbage of an idle thread does not count.
    for (const thread of usedBytes.keys()) if (!busy.includes(thread)) usedBytes.delete(thread)
    for (const thread of busy) if (!asked.has(thread)) void ask(thread)
    if (busy.length > 0) return
    clearInterval(timer)
    pool.memoryTimer = null
  }, memoryCheckMs).unref()
  pool.memoryTimer = timer
}

/** Return a thread that does no work. Starts a thread if all do work, up to the maximum. */
const freeThread = ({ threads, options }: ThreadPool): Thread | null => {
  for (const [thread, account] of threads) if (account === null) return thread
  if (threads.size >= options.maxThreads) return null
  const thread = openThread(options)
  threads.set(thread, null)
  return thread
}

/** Take the first work of the account for which the fewest threads work. */
const takeWaiting = ({ threads, waiting }: ThreadPool): WaitingWork | null => {
  const accounts = [...threads.values()]
  const threadsOf = ({ account }: WaitingWork): number => accounts.filter(one => one === account).length
  const [next] = waiting.toSorted((a, b) => threadsOf(a) - threadsOf(b))
  if (next === undefined) return null
  waiting.splice(waiting.indexOf(next), 1)
  return next
}

/** Give waiting work to free threads. A thread does one work at a time. */
const assign = (pool: ThreadPool): void => {
  while (pool.waiting.length > 0) {
    const thread = freeThread(pool)
    const next = thread === null ? null : takeWaiting(pool)
    if (thread === null || next === null) return
    pool.threads.set(thread, next.account)
    watchMemory(pool)
    try {
      next.begin(thread)
    } catch (error) {
      pool.threads.set(thread, null)
      next.fail(error)
    }
  }
}

/** End a thread that stays without tasks. One thread stays. */
const endIfIdle = ({ threads, idleTimers, options }: ThreadPool, thread: Thread): void => {
  const known = idleTimers.get(thread)
  if (known !== undefined) known.refresh()
  else
    idleTimers.set(
      thread,
      setTimeout(() => {
        if (threads.size === 1 || thread.inboxes.size > 0) return
        threads.delete(thread)
        idleTimers.delete(thread)
        void thread.close()
      }, options.maxIdleMs).unref(),
    )
}

const waitForMessage = (inbox: Inbox): Promise<void> =>
  new Promise(resolve => {
    inbox.waiting = { resolve }
  })

/** Work of a request. `stop` ends it, whether or not a thread does it. */
type AssignedWork = { readonly inbox: Inbox; readonly more: (chunks: number) => void; readonly stop: () => void }

/** Queue the work of a request for a thread. `leave` is called after the thread has ended it. */
const enqueue = (pool: ThreadPool, id: number, request: WorkRequest, leave: () => void): AssignedWork => {
  const { account, name, input } = request
  let [assigned, doneBy]: [Thread | null, Thread | null] = [null, null]
  const inbox: Inbox = {
    chunks: [],
    head: null,
    isOver: false,
    isStopped: false,
    error: null,
    waiting: null,
    onDone: () => {
      const thread = doneBy
      doneBy = null
      if (thread === null) return
      pool.threads.set(thread, null)
      assign(pool)
    },
    onOver: () => {
      if (assigned !== null) endIfIdle(pool, assigned)
      leave()
    },
  }
  const fail = (error: unknown): void => {
    inbox.isOver = true
    inbox.error ??= error instanceof Error ? error : lost(error)
    leave()
    wake(inbox)
  }
  const waiting: WaitingWork = {
    account,
    fail,
    begin: thread => {
      thread.begin({ kind: 'begin', id, account, name, input }, inbox)
      assigned = doneBy = thread
    },
  }
  pool.waiting.push(waiting)
  assign(pool)
  return {
    inbox,
    more: chunks => assigned?.send({ kind: 'more', id, chunks }),
    stop: () => {
      if (inbox.isOver || inbox.isStopped) return
      inbox.isStopped = true
      const index = pool.waiting.indexOf(waiting)
      if (index >= 0) pool.waiting.splice(index, 1)
      if (assigned === null) leave()
      // The thread ends the task after its current turn. The account keeps its slot until then.
      else assigned.send({ kind: 'stop', id })
      wake(inbox)
    },
  }
}

/** Yield the bytes of a task. Each chunk that is read requests one more chunk. */
async function* bytesOf({ inbox, more }: AssignedWork): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  more(chunksAhead - 1)
  while (!inbox.isStopped) {
    const bytes = inbox.chunks.shift()
    if (bytes !== undefined) {
      if (!inbox.isOver) more(1)
      yield bytes
    } else if (inbox.error !== null) throw inbox.error
    else if (inbox.isOver) return
    else await waitForMessage(inbox)
  }
}

const beginWork = async (work: AssignedWork, signal: AbortSignal): Promise<RunningWork> => {
  const { inbox, stop } = work
  try {
    signal.addEventListener('abort', stop, { once: true })
    while (inbox.head === null && !inbox.isOver && !inbox.isStopped) await waitForMessage(inbox)
    signal.throwIfAborted()
    if (inbox.error !== null) throw inbox.error
    return { head: inbox.head?.value, chunks: onChunksEnd(bytesOf(work), stop) }
  } catch (error) {
    stop()
    throw error
  } finally {
    signal.removeEventListener('abort', stop)
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

const closePool = async (pool: ThreadPool): Promise<void> => {
  pool.isClosed = true
  for (const { fail } of pool.waiting.splice(0)) fail(lost(new Error('The service is stopping')))
  for (const timer of pool.idleTimers.values()) clearTimeout(timer)
  await Promise.all([...pool.threads.keys()].map(thread => thread.close()))
}

/**
 * Open threads for slow work. The first one starts at the first work, the others if all threads do work. Accounts take
 * turns. Source: docs/promises.md #i8, #s6.
 */
export const openWorkThread = (options: WorkThreadOptions): WorkThread => {
  const share: FairShare = fairShare(options.limits)
  const pool: ThreadPool = {
    options,
    threads: new Map(),
    idleTimers: new Map(),
    usedBytes: new Map(),
    waiting: [],
    memoryTimer: null,
    isClosed: false,
  }
  const inputs = inputLimiter(options.maxWaitingBytes)
  let workCount = 0
  return {
    begin: async request => {
      const { account, signal, bytes = 0 } = request
      const leave = await inputs.within(account, bytes, () => share.acquire(account, signal))
      if (leave === null) return busy
      if (pool.isClosed) {
        leave()
        throw lost(new Error('The service is stopping'))
      }
      workCount += 1
      return accepted(await beginWork(enqueue(pool, workCount, request, leave), signal))
    },
    [Symbol.asyncDispose]: () => closePool(pool),
  }
}
