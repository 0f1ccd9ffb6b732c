import type { Caller, Operation } from '../../contract/operation.ts'
import { defaultBodyLimit } from './request-body.ts'

/** What may be under way at once in a process: bytes of submissions of readings, and reads. */
export type AdmissionLimits = { readonly submissionBytes: number; readonly reads: number }

/** Who asks for what. */
type Asked = {
  readonly operation: Operation
  readonly caller: Pick<Caller, 'accountId' | 'liveMode'>
  readonly headers: Headers
}

/** The room that a request has until it leaves. */
export type Ticket = {
  /** Tell how many bytes the body has by now, inflated. False: there is no room for so many, and the request must come again later. */
  readonly weigh: (bytes: number) => boolean
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

/** Counts what is under way: in all, in test mode, and of each account in each mode. */
const counter = () => {
  const own = new Map<string, number>()
  const under = { all: 0, test: 0 }
  return {
    under,
    ownOf: (name: string): number => own.get(name) ?? 0,
    add: (name: string, liveMode: boolean, amount: number): void => {
      under.all += amount
      if (!liveMode) under.test += amount
      const left = (own.get(name) ?? 0) + amount
      if (left === 0) own.delete(name)
      else own.set(name, left)
    },
  }
}

const free: Ticket = { weigh: () => true, leave: () => undefined }

/**
 * Make the admission of a process. Test mode and reads are the first to be refused, submissions of readings in live mode the last: those
 * of test mode come in while half of the room for submissions is free, an account in a mode has a half of it at the most, and of the reads;
 * live reads wait outside while live submissions take more than a quarter, those of test mode while any do. A submission is let in however
 * large it is where none of its kind is under way. What is neither reading nor submitting is never refused here. Source: promises I7.
 */
export const admission = (limits: AdmissionLimits): Admission => {
  const bytes = counter()
  const reads = counter()

  const fits = (name: string, liveMode: boolean, weight: number): boolean => {
    const within = (used: number, room: number): boolean => used === 0 || used + weight <= room
    const room = limits.submissionBytes
    return within(bytes.under.all, liveMode ? room : room / 2) && within(bytes.ownOf(name), room / 2)
  }

  const enterSubmission = (name: string, { operation, caller: { liveMode }, headers }: Asked): Ticket | null => {
    let weight = Math.max(leastBytes, announcedBytes(operation, headers))
    if (!fits(name, liveMode, weight)) return null
    bytes.add(name, liveMode, weight)
    return {
      weigh: size => {
        const now = Math.max(leastBytes, size)
        bytes.add(name, liveMode, -weight)
        const isIn = now <= weight || fits(name, liveMode, now)
        weight = isIn ? now : 0
        bytes.add(name, liveMode, weight)
        return isIn
      },
      leave: () => bytes.add(name, liveMode, -weight),
    }
  }

  const enterRead = (name: string, liveMode: boolean): Ticket | null => {
    const { all, test } = reads.under
    const isFull = all >= limits.reads || reads.ownOf(name) >= limits.reads / 2 || (!liveMode && test >= limits.reads / 2)
    const submitting = liveMode ? bytes.under.all - bytes.under.test : bytes.under.all
    if (isFull || submitting > limits.submissionBytes / 4) return null
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
