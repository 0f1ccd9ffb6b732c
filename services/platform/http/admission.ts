import type { Caller, Operation } from '../../contract/operation.ts'
import type { Arrival } from './arrival.ts'
import { bodyCapacity } from './body-capacity.ts'
import { defaultBodyLimit } from './request-body.ts'

/** What may be under way at once in a process: bytes of submissions of readings, and reads. */
export type AdmissionLimits = { readonly maxSubmissionBytes: number; readonly maxConcurrentReads: number }

/** Who asks for what. */
type AdmissionRequest = {
  readonly operation: Operation
  readonly caller: Pick<Caller, 'accountId' | 'liveMode'>
  readonly headers: Headers
  /** Null: nothing tells how far the body has come. */
  readonly arrival?: Arrival | null
  /** Called if the request must end because its room is needed; it need not leave then. */
  readonly onCapacityLost?: () => void
}

/** The room that a request has until it leaves. */
export type Ticket = {
  /** Report how many bytes the body has so far, inflated. Returns false if there is no room for them: the client must retry later. */
  readonly reportBytes: (bytes: number) => boolean
  /** Report that the whole body has arrived: from now on the request ends by itself. */
  readonly reportArrival: () => void
  readonly release: () => void
}

/** Bounds what is under way, so that more work than the machine can do is refused before it costs much. */
export type Admission = {
  /** Let a request in; null where it must come again later. */
  readonly admit: (request: AdmissionRequest) => Ticket | null
}

/** What any submission takes at the least: its request, its promises, its place in a chunk. */
const minSubmissionBytes = 16_384
/** What a body counts at first whose length is not announced: then it counts what has come of it. */
const defaultBodyBytes = 65_536
/** How much a coded body may be expected to grow; readings shrink to a tenth. */
const inflationFactor = 8

const announcedBytes = (operation: Operation, headers: Headers): number => {
  const announced =
    Number(headers.get('content-length') ?? defaultBodyBytes) * (headers.has('content-encoding') ? inflationFactor : 1)
  return Math.min(announced, operation.bodyLimit ?? defaultBodyLimit)
}

/** Counts amounts: of each account in each mode, in all, and in test mode. In the sums each account and mode counts `cap` at most. */
const createCounter = (cap = Number.POSITIVE_INFINITY) => {
  const own = new Map<string, number>()
  const totals = { all: 0, test: 0 }
  const amountOf = (name: string): number => own.get(name) ?? 0
  return {
    totals,
    amountOf,
    /** Return how much an amount of an account and mode is above the cap. */
    aboveCap: (name: string): number => Math.max(0, amountOf(name) - cap),
    add: (name: string, liveMode: boolean, amount: number): void => {
      const before = amountOf(name)
      const counted = Math.min(cap, before + amount) - Math.min(cap, before)
      totals.all += counted
      if (!liveMode) totals.test += counted
      if (before + amount === 0) own.delete(name)
      else own.set(name, before + amount)
    },
  }
}

const unlimitedTicket: Ticket = { reportBytes: () => true, reportArrival: () => undefined, release: () => undefined }

/** Share of the room that an account has in a mode: the two modes together leave a quarter to others. */
const accountShare = (liveMode: boolean): number => (liveMode ? 1 / 2 : 1 / 4)

/**
 * Create the admission of a process. The order of refusal is: test mode first, then reads, submissions of readings in live mode last.
 * Submissions of test mode need half of the room to be free of work. Live reads wait while live submissions that have arrived take more
 * than a quarter of the room, reads of test mode while all do. Submissions of another account count an eighth there at most, and a body
 * that is still on its way does not count, so that slow clients take nothing from others. The first submission always enters.
 * Operations that neither read nor submit are never refused here. Source: docs/promises.md #i7, #s6.
 */
export const admission = (limits: AdmissionLimits): Admission => {
  const capacityBytes = limits.maxSubmissionBytes
  /** Bodies on their way, and the whole ones. */
  const bytes = createCounter()
  /** Bodies that have arrived. */
  const arrived = createCounter(capacityBytes / 8)
  const reads = createCounter()

  const fits = (name: string, liveMode: boolean, weight: number): boolean => {
    const within = (used: number, max: number): boolean => used === 0 || used + weight <= max
    const isWithinAccountShare = within(bytes.amountOf(name), capacityBytes * accountShare(liveMode))
    const processingBytes = bytes.totals.test + arrived.totals.all - arrived.totals.test
    return (
      isWithinAccountShare &&
      within(bytes.totals.all, capacityBytes) &&
      (liveMode || within(processingBytes, capacityBytes / 2))
    )
  }

  const bodies = bodyCapacity({ add: bytes.add, fits, minBytes: minSubmissionBytes })

  const admitSubmission = (name: string, request: AdmissionRequest): Ticket | null => {
    const { operation, headers, arrival = null, onCapacityLost = () => undefined } = request
    const { liveMode } = request.caller
    const weight = Math.max(minSubmissionBytes, announcedBytes(operation, headers))
    const maxBytes = headers.has('content-length') ? weight : (operation.bodyLimit ?? defaultBodyLimit)
    const body = bodies.admit({
      name,
      liveMode,
      weight,
      maxBytes,
      inflationFactor: headers.has('content-encoding') ? inflationFactor : 1,
      arrival,
      onCapacityLost,
    })
    if (body === null) return null
    let arrivedWeight = 0
    return {
      reportBytes: size => body.reportBytes(Math.max(minSubmissionBytes, size)),
      reportArrival: () => {
        const weight = body.reportArrival()
        arrived.add(name, liveMode, weight - arrivedWeight)
        arrivedWeight = weight
      },
      release: () => {
        body.release()
        arrived.add(name, liveMode, -arrivedWeight)
        arrivedWeight = 0
      },
    }
  }

  const admitRead = (name: string, liveMode: boolean): Ticket | null => {
    const { all, test } = reads.totals
    const isAccountFull = reads.amountOf(name) >= limits.maxConcurrentReads * accountShare(liveMode)
    const isFull =
      isAccountFull || all >= limits.maxConcurrentReads || (!liveMode && test >= limits.maxConcurrentReads / 2)
    const submitting =
      (liveMode ? arrived.totals.all - arrived.totals.test : arrived.totals.all) + arrived.aboveCap(name)
    if (isFull || submitting > capacityBytes / 4) return null
    reads.add(name, liveMode, 1)
    return { ...unlimitedTicket, release: () => reads.add(name, liveMode, -1) }
  }

  return {
    admit: request => {
      const { accountId, liveMode } = request.caller
      const name = `${accountId} ${liveMode}`
      if (request.operation.access === 'read') return admitRead(name, liveMode)
      return request.operation.access === 'metering' ? admitSubmission(name, request) : unlimitedTicket
    },
  }
}
