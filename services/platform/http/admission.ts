import type { Caller, Operation } from '../../contract/operation.ts'
import type { Arrival } from './arrival.ts'
import { type BodyCapacity, bodyCapacity } from './capacity/body-capacity.ts'
import { type SubmissionPace, submissionPace } from './capacity/submission-pace.ts'
import { defaultBodyLimit, type RequestHeaders } from './request-body.ts'

/** Max concurrent work of a process: bytes of submissions of readings, and reads. */
export type AdmissionLimits = { readonly maxSubmissionBytes: number; readonly maxConcurrentReads: number }

/** Request that asks for admission. */
type AdmissionRequest = {
  readonly operation: Operation
  readonly caller: Pick<Caller, 'accountId' | 'liveMode'>
  readonly headers: RequestHeaders
  /** Progress of the body. Null if it is unknown. */
  readonly arrival?: Arrival | null
  /** Called if the request must end because other requests need its capacity. The ticket need not be released then. */
  readonly onCapacityLost?: () => void
}

/** Capacity of an admitted request until `release`. */
export type Ticket = {
  /**
   * Report the inflated size of the body so far. Returns false without capacity for it: the client must retry later.
   */
  readonly reportBytes: (bytes: number) => boolean
  /** Report that the whole body has arrived. */
  readonly reportArrival: () => void
  /** Report that the operation has an answer, other than that of a busy service. */
  readonly reportAnswer: () => void
  readonly release: () => void
}

/** Limits concurrent work, so that excess requests are refused before they cost much. */
export type Admission = {
  /** Admit a request. Null if the client must retry later. */
  readonly admit: (request: AdmissionRequest) => Ticket | null
}

/** Min bytes of a submission, which cover the memory of its request. */
const minSubmissionBytes = 16_384
/** Initial bytes of a body without Content-Length. Later the body counts the bytes that have arrived. */
const defaultBodyBytes = 65_536
/** Expected ratio of inflated and compressed size. Readings shrink to a tenth. */
const inflationFactor = 8

const announcedBytes = (operation: Operation, headers: RequestHeaders): number => {
  const announced =
    Number(headers.get('content-length') ?? defaultBodyBytes) * (headers.has('content-encoding') ? inflationFactor : 1)
  return Math.min(announced, operation.bodyLimit ?? defaultBodyLimit)
}

/**
 * Create a counter of amounts by account and mode, with totals. Each account and mode adds at most `cap` to the totals.
 */
const createCounter = (cap = Number.POSITIVE_INFINITY) => {
  const amounts = new Map<string, number>()
  const totals = { all: 0, test: 0 }
  const amountOf = (name: string): number => amounts.get(name) ?? 0
  return {
    totals,
    amountOf,
    /** Return the amount of an account and mode above the cap. */
    aboveCap: (name: string): number => Math.max(0, amountOf(name) - cap),
    add: (name: string, liveMode: boolean, amount: number): void => {
      const before = amountOf(name)
      const counted = Math.min(cap, before + amount) - Math.min(cap, before)
      totals.all += counted
      if (!liveMode) totals.test += counted
      if (before + amount === 0) amounts.delete(name)
      else amounts.set(name, before + amount)
    },
  }
}

type Counter = ReturnType<typeof createCounter>

/** Capacity in use. `bytes` counts all bodies, `arrived` only complete ones. */
type AdmissionState = {
  readonly limits: AdmissionLimits
  readonly bytes: Counter
  readonly arrived: Counter
  readonly reads: Counter
  readonly pace: SubmissionPace
}

const unlimitedTicket: Ticket = {
  reportBytes: () => true,
  reportArrival: () => undefined,
  reportAnswer: () => undefined,
  release: () => undefined,
}

/** Share of the capacity that an account can use in a mode. Both modes together leave a quarter to other accounts. */
const accountShare = (liveMode: boolean): number => (liveMode ? 1 / 2 : 1 / 4)

const isWithin = (used: number, weight: number, max: number): boolean => used === 0 || used + weight <= max

const fitsSubmission = (
  { bytes, arrived, pace }: AdmissionState,
  name: string,
  liveMode: boolean,
  weight: number,
): boolean => {
  const capacityBytes = pace.capacityBytes(arrived.totals.all)
  const processingBytes = bytes.totals.test + arrived.totals.all - arrived.totals.test
  return (
    isWithin(bytes.amountOf(name), weight, capacityBytes * accountShare(liveMode)) &&
    isWithin(bytes.totals.all, weight, capacityBytes) &&
    (liveMode || isWithin(processingBytes, weight, capacityBytes / 2))
  )
}

const admitSubmission = (
  { arrived, pace }: AdmissionState,
  bodies: BodyCapacity,
  name: string,
  request: AdmissionRequest,
): Ticket | null => {
  const { operation, headers, arrival = null, onCapacityLost = () => undefined } = request
  const { liveMode } = request.caller
  const weight = Math.max(minSubmissionBytes, announcedBytes(operation, headers))
  const body = bodies.admit({
    name,
    liveMode,
    weight,
    maxBytes: headers.has('content-length') ? weight : (operation.bodyLimit ?? defaultBodyLimit),
    inflationFactor: headers.has('content-encoding') ? inflationFactor : 1,
    arrival,
    onCapacityLost,
  })
  if (body === null) return null
  let arrivedWeight = 0
  return {
    reportBytes: size => body.reportBytes(Math.max(minSubmissionBytes, size)),
    reportArrival: () => {
      const weightOnArrival = body.reportArrival()
      arrived.add(name, liveMode, weightOnArrival - arrivedWeight)
      arrivedWeight = weightOnArrival
    },
    reportAnswer: () => pace.noteAnswered(arrivedWeight, arrived.totals.all),
    release: () => {
      body.release()
      arrived.add(name, liveMode, -arrivedWeight)
      arrivedWeight = 0
    },
  }
}

const admitRead = ({ limits, arrived, reads }: AdmissionState, name: string, liveMode: boolean): Ticket | null => {
  const { all, test } = reads.totals
  const isAccountFull = reads.amountOf(name) >= limits.maxConcurrentReads * accountShare(liveMode)
  const isFull =
    isAccountFull || all >= limits.maxConcurrentReads || (!liveMode && test >= limits.maxConcurrentReads / 2)
  const submittedBytes =
    (liveMode ? arrived.totals.all - arrived.totals.test : arrived.totals.all) + arrived.aboveCap(name)
  if (isFull || submittedBytes > limits.maxSubmissionBytes / 4) return null
  reads.add(name, liveMode, 1)
  return { ...unlimitedTicket, release: () => reads.add(name, liveMode, -1) }
}

/**
 * Create the admission of a process. It refuses test mode first, then reads, and live submissions of readings last.
 * A test submission needs half of the capacity to be free of work.
 * A live read is refused while complete live submissions use more than a quarter of the capacity.
 * A test read counts test submissions too. In that sum each other account counts at most an eighth.
 * Incomplete bodies do not count, so that a slow client cannot block other clients.
 * If submissions wait, their capacity is the number of bytes that the process answers in 4 s at its pace. `now` is a
 * monotonic clock in ms.
 * The first submission is always admitted. Operations that neither read nor submit are never refused.
 * Source: docs/promises.md #i7, #s6.
 */
export const admission = (limits: AdmissionLimits, now?: () => number): Admission => {
  const state: AdmissionState = {
    limits,
    bytes: createCounter(),
    arrived: createCounter(limits.maxSubmissionBytes / 8),
    reads: createCounter(),
    pace: submissionPace(limits.maxSubmissionBytes, now),
  }
  const bodies = bodyCapacity({
    add: state.bytes.add,
    fits: (name, liveMode, weight) => fitsSubmission(state, name, liveMode, weight),
    minBytes: minSubmissionBytes,
  })
  return {
    admit: request => {
      const { accountId, liveMode } = request.caller
      const name = `${accountId} ${liveMode}`
      if (request.operation.access === 'read') return admitRead(state, name, liveMode)
      return request.operation.access === 'metering' ? admitSubmission(state, bodies, name, request) : unlimitedTicket
    },
  }
}
