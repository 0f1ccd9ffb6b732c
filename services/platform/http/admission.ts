import type { Operation } from '../../contract/operation.ts'
import { defaultBodyLimit } from './request-body.ts'

/** What may be under way at once in a process. */
export type AdmissionLimits = {
  /** Bytes of submissions, as `weightOf` counts them. */
  readonly submissionBytes: number
  readonly reads: number
}

/** Who asks for what: whose mode is not known has none. */
type Asked = { readonly operation: Operation; readonly liveMode: boolean | undefined; readonly headers: Headers }

/** Bounds what is under way, so that more work than the machine can do is refused before it costs anything. */
export type Admission = {
  /** Let a request in; gives what to call once it is answered, or null where it must come again later. */
  readonly enter: (asked: Asked) => (() => void) | null
}

/** What any submission takes at the least: its request, its promises, its place in a chunk. */
const leastBytes = 16_384
/** What a body counts whose length is not announced. */
const usualBytes = 2 ** 20
/** How much a coded body may be expected to grow; readings shrink to a tenth. */
const growth = 8

const weightOf = ({ operation, headers }: Asked): number => {
  const limit = operation.bodyLimit ?? defaultBodyLimit
  const announced = Number(headers.get('content-length') ?? usualBytes) * (headers.has('content-encoding') ? growth : 1)
  return Math.max(leastBytes, Math.min(announced, limit))
}

/**
 * Make the admission of a process. Reads and test mode come first to be refused, submissions of readings in live mode last: live
 * submissions may take all of `submissionBytes`, those of test mode a half of it, and reads wait outside while more than that half is taken.
 * One submission alone is always let in, however large. What is neither reading nor submitting is never refused here.
 */
export const admission = (limits: AdmissionLimits): Admission => {
  let bytes = 0
  let reads = 0
  const room = (limit: number, liveMode: boolean | undefined): number => (liveMode === true ? limit : limit / 2)
  const enterRead = ({ liveMode }: Asked): (() => void) | null => {
    if (reads >= room(limits.reads, liveMode) || bytes > limits.submissionBytes / 2) return null
    reads += 1
    return () => {
      reads -= 1
    }
  }
  const enterSubmission = (asked: Asked): (() => void) | null => {
    const weight = weightOf(asked)
    if (bytes > 0 && bytes + weight > room(limits.submissionBytes, asked.liveMode)) return null
    bytes += weight
    return () => {
      bytes -= weight
    }
  }
  return {
    enter: asked => {
      if (asked.operation.access === 'read') return enterRead(asked)
      return asked.operation.access === 'metering' ? enterSubmission(asked) : () => undefined
    },
  }
}
