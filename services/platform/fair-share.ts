/**
 * How much may be under way at once: in all, and of each account. `waiting`: how many of an account may wait for it. `unbounded`: an account that
 * has neither bound of its own. `crowdedMs`: for so long after another account was served, an account of which more wait than there are places
 * has one place.
 */
export type ShareLimits = {
  readonly atOnce: number
  readonly ofAccount: number
  readonly waiting: number
  readonly unbounded?: string
  readonly crowdedMs?: number
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

type Served = { readonly account: string | null; readonly at: number }

const nobody: Served = { account: null, at: 0 }

type Queue = { running: number; readonly waiting: Waiter[] }

/**
 * Make a share. A free place goes to the account that was served the longest time ago, and within an account to who waits longest: one that
 * asks for much waits behind itself. Source: docs/promises.md #s6.
 */
export const fairShare = ({ atOnce, ofAccount, waiting, unbounded, crowdedMs = 0 }: ShareLimits): FairShare => {
  /** Accounts in the order in which they were served last. */
  const queues = new Map<string, Queue>()
  let running = 0

  /** The last two accounts that were served, each with when. */
  let [last, before] = [nobody, nobody]

  const note = (account: string): void => {
    const now = performance.now()
    if (last.account !== account) before = last
    last = { account, at: now }
  }

  const isCrowded = (account: string): boolean => {
    const other = last.account === account ? before : last
    return other.account !== null && performance.now() - other.at < crowdedMs
  }

  const isFull = (account: string, queue: Queue): boolean => {
    if (account === unbounded) return false
    const places = queue.waiting.length > atOnce && isCrowded(account) ? 1 : ofAccount
    return queue.running >= places
  }

  const nextAccount = (): string | null => {
    for (const [account, queue] of queues) if (queue.waiting.length > 0 && !isFull(account, queue)) return account
    return null
  }

  const forgetIdle = (account: string): void => {
    const queue = queues.get(account)
    if (queue !== undefined && queue.running === 0 && queue.waiting.length === 0) queues.delete(account)
  }

  const serve = (): void => {
    while (running < atOnce) {
      const account = nextAccount()
      const queue = account === null ? undefined : queues.get(account)
      const waiter = queue?.waiting.shift()
      if (account === null || queue === undefined || waiter === undefined) return
      queue.running += 1
      running += 1
      note(account)
      queues.delete(account)
      queues.set(account, queue)
      waiter.start()
    }
  }

  const leaver = (account: string, queue: Queue): (() => void) => {
    let isIn = true
    return () => {
      if (!isIn) return
      isIn = false
      queue.running -= 1
      running -= 1
      forgetIdle(account)
      serve()
    }
  }

  return {
    enter: (account, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason)
        const queue = queues.get(account) ?? { running: 0, waiting: [] }
        const mustWait = running >= atOnce || isFull(account, queue)
        if (mustWait && queue.waiting.length >= waiting && account !== unbounded) return resolve(null)
        queues.set(account, queue)
        const waiter: Waiter = {
          start: () => {
            signal.removeEventListener('abort', giveUp)
            resolve(leaver(account, queue))
          },
        }
        const giveUp = (): void => {
          queue.waiting.splice(queue.waiting.indexOf(waiter), 1)
          forgetIdle(account)
          reject(signal.reason)
        }
        signal.addEventListener('abort', giveUp, { once: true })
        queue.waiting.push(waiter)
        serve()
      }),
  }
}
