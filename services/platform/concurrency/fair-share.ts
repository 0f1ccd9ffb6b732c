/** Limits of a share. */
export type ShareLimits = {
  /** Max slots of all accounts together. */
  readonly maxConcurrent: number
  readonly maxConcurrentPerAccount: number
  readonly maxWaitingPerAccount: number
  /** Account without limits of its own. */
  readonly unboundedAccount?: string
  /**
   * Time in ms after an account was served, in which accounts with far more use are limited.
   * A limited account gets one slot if more of its requests wait than there are slots.
   * It gets no slot while the account with far less use has running or waiting requests.
   */
  readonly contentionMs?: number
  /** Monotonic clock in ms. */
  readonly now?: () => number
}

/** A limited number of slots that accounts use in turn. */
export type FairShare = {
  /**
   * Wait for a slot and return the function that releases it. Null if too many requests of the account wait already.
   * Rejects if the signal is aborted while the request waits.
   */
  readonly acquire: (account: string, signal: AbortSignal) => Promise<(() => void) | null>
}

type Waiter = { readonly start: () => void }

/** A slot in use since an instant in ms. */
type AcquiredSlot = { readonly since: number }

/** Requests of an account. `usedMs` is the decayed use of released slots at the instant `usedAt`. */
type Queue = {
  readonly running: Set<AcquiredSlot>
  readonly waiting: Waiter[]
  usedMs: number
  usedAt: number
  servedAt: number
}

type ShareState = {
  readonly limits: Required<Omit<ShareLimits, 'unboundedAccount'>> & Pick<ShareLimits, 'unboundedAccount'>
  /** Queues by account, ordered by the instant at which they were last served. */
  readonly queues: Map<string, Queue>
  running: number
  recheckTimer: NodeJS.Timeout | undefined
}

/** Half-life of the use of a slot in ms. */
const halfLifeMs = 500
/** Time in ms after which an idle account is forgotten. */
const idleRetentionMs = 8 * halfLifeMs
/** Interval in ms at which limits of waiting accounts are checked again, because use grows while slots are in use. */
const recheckMs = 50

const usedMsOf = ({ running, usedMs, usedAt }: Queue, at: number): number => {
  let used = usedMs * 0.5 ** ((at - usedAt) / halfLifeMs)
  for (const { since } of running) used += at - since
  return used
}

const isIdle = ({ running, waiting }: Queue): boolean => running.size === 0 && waiting.length === 0

/**
 * Factor between the use of a limited account and of the account that it yields to. Accounts with similar use take
 * turns, and use all slots.
 */
const minUseFactor = 3

/** Return the number of slots of an account while accounts with less use compete. */
const limitUnderContention = ({ limits, queues }: ShareState, queue: Queue, at: number): number => {
  const { maxConcurrent, maxConcurrentPerAccount, contentionMs } = limits
  if (queue.waiting.length <= maxConcurrent) return maxConcurrentPerAccount
  const used = usedMsOf(queue, at)
  let limit = maxConcurrentPerAccount
  for (const other of queues.values()) {
    if (other === queue || usedMsOf(other, at) * minUseFactor >= used) continue
    if (!isIdle(other)) return 0
    if (at - other.servedAt < contentionMs) limit = 1
  }
  return limit
}

const isAtLimit = (state: ShareState, account: string, queue: Queue, at: number): boolean => {
  const { unboundedAccount, contentionMs, maxConcurrentPerAccount } = state.limits
  if (account === unboundedAccount) return false
  const limit = contentionMs === 0 ? maxConcurrentPerAccount : limitUnderContention(state, queue, at)
  return queue.running.size >= limit
}

/** Return the waiting account with the least use. Null if all waiting accounts are at their limit. */
const nextAccount = (state: ShareState, at: number): string | null => {
  let [next, minUsedMs]: [string | null, number] = [null, Number.POSITIVE_INFINITY]
  for (const [account, queue] of state.queues) {
    if (queue.waiting.length === 0) continue
    const used = usedMsOf(queue, at)
    if (used < minUsedMs && !isAtLimit(state, account, queue, at)) [next, minUsedMs] = [account, used]
  }
  return next
}

const forgetIdle = ({ queues }: ShareState, at: number): void => {
  for (const [account, queue] of queues) {
    if (at - queue.servedAt < idleRetentionMs) return
    if (isIdle(queue)) queues.delete(account)
  }
}

const isAnyWaiting = ({ queues }: ShareState): boolean => {
  for (const { waiting } of queues.values()) if (waiting.length > 0) return true
  return false
}

/** Assign free slots to waiting requests. */
const serve = (state: ShareState): void => {
  const { limits, queues } = state
  const at = limits.now()
  while (state.running < limits.maxConcurrent) {
    const account = nextAccount(state, at)
    const queue = account === null ? undefined : queues.get(account)
    const waiter = queue?.waiting.shift()
    if (account === null || queue === undefined || waiter === undefined) break
    state.running += 1
    queue.servedAt = at
    queues.delete(account)
    queues.set(account, queue)
    waiter.start()
  }
  forgetIdle(state, at)
  const mustRecheck = limits.contentionMs > 0 && state.running < limits.maxConcurrent
  if (mustRecheck && state.recheckTimer === undefined && isAnyWaiting(state)) {
    state.recheckTimer = setTimeout(() => {
      state.recheckTimer = undefined
      serve(state)
    }, recheckMs)
  }
}

/** Mark a slot as used and return the function that releases it. */
const useSlot = (state: ShareState, queue: Queue): (() => void) => {
  const slot: AcquiredSlot = { since: state.limits.now() }
  queue.running.add(slot)
  return () => {
    if (!queue.running.has(slot)) return
    const at = state.limits.now()
    queue.running.delete(slot)
    queue.usedMs = queue.usedMs * 0.5 ** ((at - queue.usedAt) / halfLifeMs) + at - slot.since
    queue.usedAt = at
    state.running -= 1
    serve(state)
  }
}

const queueOf = ({ queues, limits }: ShareState, account: string): Queue => {
  const known = queues.get(account)
  if (known !== undefined) return known
  const at = limits.now()
  const queue: Queue = { running: new Set(), waiting: [], usedMs: 0, usedAt: at, servedAt: at }
  queues.set(account, queue)
  return queue
}

const acquire = (state: ShareState, account: string, signal: AbortSignal): Promise<(() => void) | null> =>
  new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const { limits } = state
    const queue = queueOf(state, account)
    const mustWait = state.running >= limits.maxConcurrent || isAtLimit(state, account, queue, limits.now())
    const isQueueFull = queue.waiting.length >= limits.maxWaitingPerAccount && account !== limits.unboundedAccount
    if (mustWait && isQueueFull) return resolve(null)
    const waiter: Waiter = {
      start: () => {
        signal.removeEventListener('abort', abandon)
        resolve(useSlot(state, queue))
      },
    }
    const abandon = (): void => {
      queue.waiting.splice(queue.waiting.indexOf(waiter), 1)
      reject(signal.reason)
    }
    signal.addEventListener('abort', abandon, { once: true })
    queue.waiting.push(waiter)
    serve(state)
  })

/**
 * Create a share.
 * A free slot goes to the account with the least recent use, and there to the request that has waited longest.
 * An account with many or long requests therefore delays only itself. Source: docs/promises.md #s6.
 */
export const fairShare = (limits: ShareLimits): FairShare => {
  const state: ShareState = {
    limits: { contentionMs: 0, now: () => performance.now(), ...limits },
    queues: new Map(),
    running: 0,
    recheckTimer: undefined,
  }
  return { acquire: (account, signal) => acquire(state, account, signal) }
}
