/**
 * How much may be under way at once: in all, and of each account. `waiting`: how many of an account may wait for it. `unbounded`: an account that
 * has neither bound of its own. `crowdedMs`: for so long after an account was served that uses less, an account of which more wait than there
 * are places has one place, and none while that account has anything under way or waiting. `now`: the present instant in ms of any clock.
 */
export type ShareLimits = {
  readonly maxConcurrent: number
  readonly maxConcurrentPerAccount: number
  readonly maxWaitingPerAccount: number
  readonly unboundedAccount?: string
  readonly contentionMs?: number
  readonly now?: () => number
}

/** A bounded number of places that accounts take in turn. */
export type FairShare = {
  /**
   * Wait for a place, and give what leaves it. Null at once where too many of the account wait already. Rejects when the signal is aborted
   * while it waits.
   */
  readonly acquire: (account: string, signal: AbortSignal) => Promise<(() => void) | null>
}

type Waiter = { readonly start: () => void }

/** Place that an account holds, since an instant in ms. */
type AcquiredSlot = { readonly since: number }

/** What an account has under way and waiting; `usedMs`: the time for which it held places that it has left, as it counted at `usedAt`. */
type Queue = {
  readonly running: Set<AcquiredSlot>
  readonly waiting: Waiter[]
  usedMs: number
  usedAt: number
  servedAt: number
}

/** Time in which the use of a place comes to count half. */
const halfLifeMs = 500
/** Age from which on what an idle account has used is forgotten. */
const idleRetentionMs = 8 * halfLifeMs

/** Pause before an account that waits for another one looks again: use grows while places are held. */
const recheckMs = 50

const usedMsOf = ({ running, usedMs, usedAt }: Queue, at: number): number => {
  let used = usedMs * 0.5 ** ((at - usedAt) / halfLifeMs)
  for (const { since } of running) used += at - since
  return used
}

const isIdle = ({ running, waiting }: Queue): boolean => running.size === 0 && waiting.length === 0

/**
 * Create a share. A free place goes to the account that has used places for the shortest time of late, and within an account to the request that
 * waits longest. So an account that asks for much, or for what takes long, waits behind itself. Source: docs/promises.md #s6.
 */
export const fairShare = (limits: ShareLimits): FairShare => {
  const {
    maxConcurrent,
    maxConcurrentPerAccount,
    maxWaitingPerAccount: waiting,
    unboundedAccount,
    contentionMs = 0,
    now = () => performance.now(),
  } = limits
  /** Accounts in the order in which they were served last. */
  const queues = new Map<string, Queue>()
  let running = 0

  let recheckTimer: NodeJS.Timeout | undefined

  /** Return how many places an account has beside those that use less. */
  const limitOf = (queue: Queue, at: number): number => {
    if (queue.waiting.length <= maxConcurrent) return maxConcurrentPerAccount
    const used = usedMsOf(queue, at)
    let limit = maxConcurrentPerAccount
    for (const other of queues.values()) {
      if (other === queue || usedMsOf(other, at) >= used) continue
      if (!isIdle(other)) return 0
      if (at - other.servedAt < contentionMs) limit = 1
    }
    return limit
  }

  const isAtLimit = (account: string, queue: Queue, at: number): boolean =>
    account !== unboundedAccount &&
    queue.running.size >= (contentionMs === 0 ? maxConcurrentPerAccount : limitOf(queue, at))

  const nextAccount = (at: number): string | null => {
    let [next, minUsedMs]: [string | null, number] = [null, Number.POSITIVE_INFINITY]
    for (const [account, queue] of queues) {
      if (queue.waiting.length === 0) continue
      const used = usedMsOf(queue, at)
      if (used < minUsedMs && !isAtLimit(account, queue, at)) [next, minUsedMs] = [account, used]
    }
    return next
  }

  const forgetIdle = (at: number): void => {
    for (const [account, queue] of queues) {
      if (at - queue.servedAt < idleRetentionMs) return
      if (isIdle(queue)) queues.delete(account)
    }
  }

  const isAnyWaiting = (): boolean => {
    for (const { waiting: own } of queues.values()) if (own.length > 0) return true
    return false
  }

  const serve = (): void => {
    const at = now()
    while (running < maxConcurrent) {
      const account = nextAccount(at)
      const queue = account === null ? undefined : queues.get(account)
      const waiter = queue?.waiting.shift()
      if (account === null || queue === undefined || waiter === undefined) break
      running += 1
      queue.servedAt = at
      queues.delete(account)
      queues.set(account, queue)
      waiter.start()
    }
    forgetIdle(at)
    if (contentionMs > 0 && running < maxConcurrent && recheckTimer === undefined && isAnyWaiting()) {
      recheckTimer = setTimeout(() => {
        recheckTimer = undefined
        serve()
      }, recheckMs)
    }
  }

  const createRelease = (queue: Queue): (() => void) => {
    const slot: AcquiredSlot = { since: now() }
    queue.running.add(slot)
    return () => {
      if (!queue.running.has(slot)) return
      const at = now()
      queue.running.delete(slot)
      queue.usedMs = queue.usedMs * 0.5 ** ((at - queue.usedAt) / halfLifeMs) + at - slot.since
      queue.usedAt = at
      running -= 1
      serve()
    }
  }

  const queueOf = (account: string): Queue => {
    const at = now()
    const queue = queues.get(account) ?? {
      running: new Set<AcquiredSlot>(),
      waiting: [],
      usedMs: 0,
      usedAt: at,
      servedAt: at,
    }
    queues.set(account, queue)
    return queue
  }

  return {
    acquire: (account, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason)
        const queue = queueOf(account)
        const mustWait = running >= maxConcurrent || isAtLimit(account, queue, now())
        if (mustWait && queue.waiting.length >= waiting && account !== unboundedAccount) return resolve(null)
        const waiter: Waiter = {
          start: () => {
            signal.removeEventListener('abort', abandon)
            resolve(createRelease(queue))
          },
        }
        const abandon = (): void => {
          queue.waiting.splice(queue.waiting.indexOf(waiter), 1)
          reject(signal.reason)
        }
        signal.addEventListener('abort', abandon, { once: true })
        queue.waiting.push(waiter)
        serve()
      }),
  }
}
