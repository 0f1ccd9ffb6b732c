import type { Caller, Operation } from '../../contract/operation.ts'
import type { Arrival } from './arrival.ts'
import { bodyRoom } from './body-room.ts'
import { defaultBodyLimit } from './request-body.ts'

/** What may be under way at once in a process: bytes of submissions of readings, and reads. */
export type AdmissionLimits = { readonly submissionBytes: number; readonly reads: number }

/** Who asks for what. */
type Asked = {
  readonly operation: Operation
  readonly caller: Pick<Caller, 'accountId' | 'liveMode'>
  readonly headers: Headers
  /** Null: nothing tells how far the body has come. */
  readonly arrival?: Arrival | null
  /** Called if the request must end because its room is needed; it need not leave then. */
  readonly yieldRoom?: () => void
}

/** The room that a request has until it leaves. */
export type Ticket = {
  /** Report how many bytes the body has so far, inflated. Returns false if there is no room for them: the client must retry later. */
  readonly weigh: (bytes: number) => boolean
  /** Report that the whole body has arrived: from now on the request ends by itself. */
  readonly arrive: () => void
  readonly leave: () => void
}

/** Bounds what is under way, so that more work than the machine can do is refused before it costs much. */
export type Admission = {
  /** Let a request in; null where it must come again later. */
  readonly enter: (asked: Asked) => Ticket | null
}

/** What any submission takes at the least: its request, its promises, its place in a chunk. */
const leastBytes = 16_384
/** What a body counts at first whose length is not announced: then it counts what has come of it. */
const usualBytes = 65_536
/** How much a coded body may be expected to grow; readings shrink to a tenth. */
const growth = 8

const announcedBytes = (operation: Operation, headers: Headers): number => {
  const announced = Number(headers.get('content-length') ?? usualBytes) * (headers.has('content-encoding') ? growth : 1)
  return Math.min(announced, operation.bodyLimit ?? defaultBodyLimit)
}

/** Counts amounts: of each account in each mode, in all, and in test mode. In the sums each account and mode counts `cap` at most. */
const counter = (cap = Number.POSITIVE_INFINITY) => {
  const own = new Map<string, number>()
  const under = { all: 0, test: 0 }
  const ownOf = (name: string): number => own.get(name) ?? 0
  return {
    under,
    ownOf,
    /** Return how much an amount of an account and mode is above the cap. */
    aboveCap: (name: string): number => Math.max(0, ownOf(name) - cap),
    add: (name: string, liveMode: boolean, amount: number): void => {
      const before = ownOf(name)
      const counted = Math.min(cap, before + amount) - Math.min(cap, before)
      under.all += counted
      if (!liveMode) under.test += counted
      if (before + amount === 0) own.delete(name)
      else own.set(name, before + amount)
    },
  }
}

const free: Ticket = { weigh: () => true, arrive: () => undefined, leave: () => undefined }

/** Share of the room that an account has in a mode: the two modes together leave a quarter to others. */
const ownShare = (liveMode: boolean): number => (liveMode ? 1 / 2 : 1 / 4)

/**
 * Create the admission of a process. The order of refusal is: test mode first, then reads, submissions of readings in live mode last.
 * Submissions of test mode need half of the room to be free of work. Live reads wait while live submissions that have arrived take more
 * than a quarter of the room, reads of test mode while all do. Submissions of another account count an eighth there at most, and a body
 * that is still on its way does not count, so that slow clients take nothing from others. The first submission always enters.
 * Operations that neither read nor submit are never refused here. Source: docs/promises.md #i7, #s6.
 */
export const admission = (limits: AdmissionLimits): Admission => {
  const room = limits.submissionBytes
  /** Bodies on their way, and the whole ones. */
  const bytes = counter()
  /** Bodies that have arrived. */
  const arrived = counter(room / 8)
  const reads = counter()

  const fits = (name: string, liveMode: boolean, weight: number): boolean => {
    const within = (used: number, most: number): boolean => used === 0 || used + weight <= most
    const isWithinOwn = within(bytes.ownOf(name), room * ownShare(liveMode))
    const working = bytes.under.test + arrived.under.all - arrived.under.test
    return isWithinOwn && within(bytes.under.all, room) && (liveMode || within(working, room / 2))
  }

  const bodies = bodyRoom({ add: bytes.add, fits, leastBytes })

  const enterSubmission = (name: string, asked: Asked): Ticket | null => {
    const { operation, headers, arrival = null, yieldRoom = () => undefined } = asked
    const { liveMode } = asked.caller
    const weight = Math.max(leastBytes, announcedBytes(operation, headers))
    const growsTo = headers.has('content-length') ? weight : (operation.bodyLimit ?? defaultBodyLimit)
    const body = bodies.enter({ name, liveMode, weight, growsTo, growth: headers.has('content-encoding') ? growth : 1, arrival, yieldRoom })
    if (body === null) return null
    let arrivedWeight = 0
    return {
      weigh: size => body.weigh(Math.max(leastBytes, size)),
      arrive: () => {
        const weight = body.arrive()
        arrived.add(name, liveMode, weight - arrivedWeight)
        arrivedWeight = weight
      },
      leave: () => {
        body.leave()
        arrived.add(name, liveMode, -arrivedWeight)
        arrivedWeight = 0
      },
    }
  }

  const enterRead = (name: string, liveMode: boolean): Ticket | null => {
    const { all, test } = reads.under
    const isOwnFull = reads.ownOf(name) >= limits.reads * ownShare(liveMode)
    const isFull = isOwnFull || all >= limits.reads || (!liveMode && test >= limits.reads / 2)
    const submitting = (liveMode ? arrived.under.all - arrived.under.test : arrived.under.all) + arrived.aboveCap(name)
    if (isFull || submitting > room / 4) return null
    reads.add(name, liveMode, 1)
    return { ...free, leave: () => reads.add(name, liveMode, -1) }
  }

  return {
    enter: asked => {
      const { accountId, liveMode } = asked.caller
      const name = `${accountId} ${liveMode}`
      if (asked.operation.access === 'read') return enterRead(name, liveMode)
      return asked.operation.access === 'metering' ? enterSubmission(name, asked) : free
    },
  }
}
