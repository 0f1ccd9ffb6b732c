/**
 * How much may be under way at once: in all, and of each account. `waiting`: how many of an account may wait for it. `unbounded`: an account that
 * has neither bound of its own. `crowdedMs`: for so long after an account was served that uses less, an account of which more wait than there
 * are places has one place, and none while that account has anything under way or waiting. `now`: the present instant in ms of any clock.
 */
export type ShareLimits = {
  readonly atOnce: number
  readonly ofAccount: number
  readonly waiting: number
  readonly unbounded?: string
  readonly crowdedMs?: number
  readonly now?: () => number
}

/** A bounded number of places that accounts take in turn. */
export type FairShare = {
  /**
   * Wait for a place, and give what leaves it. Null at once where too many of the account wait already. Rejects when the signal is aborted
   * while it waits.
   */
  readonly enter: (account: string, signal: AbortSignal) => Promise<(() => void) | null>
}

type Waiter = { readonly start: () => void }

/** Place that an account holds, since an instant in ms. */
type Held = { readonly since: number }

/** What an account has under way and waiting; `usedMs`: the time for which it held places that it has left, as it counted at `usedAt`. */
type Queue = { readonly running: Set<Held>; readonly waiting: Waiter[]; usedMs: number; usedAt: number; servedAt: number }

/** Time in which the use of a place comes to count half. */
const halfLifeMs = 500
/** Age from which on what an idle account has used is forgotten. */
const forgottenMs = 8 * halfLifeMs

/** Pause before an account that waits for another one looks again: use grows while places are held. */
const lookAgainMs = 50

const usedBy = ({ running, usedMs, usedAt }: Queue, at: number): number => {
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
  const { atOnce, ofAccount, waiting, unbounded, crowdedMs = 0, now = () => performance.now() } = limits
  /** Accounts in the order in which they were served last. */
  const queues = new Map<string, Queue>()
  let running = 0

  let lookAgain: NodeJS.Timeout | undefined

  /** Return how many places an account has beside those that use less. */
  const placesOf = (queue: Queue, at: number): number => {
    if (queue.waiting.length <= atOnce) return ofAccount
    const used = usedBy(queue, at)
    let places = ofAccount
    for (const other of queues.values()) {
      if (other === queue || usedBy(other, at) >= used) continue
      if (!isIdle(other)) return 0
      if (at - other.servedAt < crowdedMs) places = 1
    }
    return places
  }

  const isFull = (account: string, queue: Queue, at: number): boolean =>
    account !== unbounded && queue.running.size >= (crowdedMs === 0 ? ofAccount : placesOf(queue, at))

  const nextAccount = (at: number): string | null => {
    let [next, least]: [string | null, number] = [null, Number.POSITIVE_INFINITY]
    for (const [account, queue] of queues) {
      if (queue.waiting.length === 0) continue
      const used = usedBy(queue, at)
      if (used < least && !isFull(account, queue, at)) [next, least] = [account, used]
    }
    return next
  }

  const forgetIdle = (at: number): void => {
    for (const [account, queue] of queues) {
      if (at - queue.servedAt < forgottenMs) return
      if (isIdle(queue)) queues.delete(account)
    }
  }

  const isAnyWaiting = (): boolean => {
    for (const { waiting: own } of queues.values()) if (own.length > 0) return true
    return false
  }

  const serve = (): void => {
    const at = now()
    while (running < atOnce) {
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
    if (crowdedMs > 0 && running < atOnce && lookAgain === undefined && isAnyWaiting()) {
      lookAgain = setTimeout(() => {
        lookAgain = undefined
        serve()
      }, lookAgainMs)
    }
  }

  const leaver = (queue: Queue): (() => void) => {
    const held: Held = { since: now() }
    queue.running.add(held)
    return () => {
      if (!queue.running.has(held)) return
      const at = now()
      queue.running.delete(held)
      queue.usedMs = queue.usedMs * 0.5 ** ((at - queue.usedAt) / halfLifeMs) + at - held.since
      queue.usedAt = at
      running -= 1
      serve()
    }
  }

  const queueOf = (account: string): Queue => {
    const at = now()
    const queue = queues.get(account) ?? { running: new Set<Held>(), waiting: [], usedMs: 0, usedAt: at, servedAt: at }
    queues.set(account, queue)
    return queue
  }

  return {
    enter: (account, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason)
        const queue = queueOf(account)
        const mustWait = running >= atOnce || isFull(account, queue, now())
        if (mustWait && queue.waiting.length >= waiting && account !== unbounded) return resolve(null)
        const waiter: Waiter = {
          start: () => {
            signal.removeEventListener('abort', giveUp)
            resolve(leaver(queue))
          },
        }
        const giveUp = (): void => {
          queue.waiting.splice(queue.waiting.indexOf(waiter), 1)
          reject(signal.reason)
        }
        signal.addEventListener('abort', giveUp, { once: true })
        queue.waiting.push(waiter)
        serve()
      }),
  }
}
