/** Bytes of submissions that a process can answer in time, by its pace while submissions wait. */
export type SubmissionPace = {
  /** Return the bytes that can be admitted. `waitingBytes`: complete bodies without an answer. */
  readonly capacityBytes: (waitingBytes: number) => number
  /** Note that a submission of `bytes` was answered, and that others of `waitingBytes` wait. */
  readonly noteAnswered: (bytes: number, waitingBytes: number) => void
}

/** Time in ms in which the process must answer everything that it admits. */
const answerMs = 4_000
/** Interval in ms over which the pace is measured. */
const intervalMs = 500
/** With fewer waiting bytes, the callers and not the process decide how much is answered. */
const minWaitingBytes = 2 ** 20
/** Capacity of a process whose answers do not come at all, such as during an outage of a store. */
const minCapacityBytes = 16 * 2 ** 20

/**
 * Create the pace of a process. The capacity is `maxBytes` until submissions wait. Then it approaches the bytes that
 * the process answers in 4 s, but never less than 16 MiB. `now` is a monotonic clock in ms.
 * A submission above this capacity would wait too long, so it must be refused on arrival.
 */
export const submissionPace = (maxBytes: number, now: () => number = () => performance.now()): SubmissionPace => {
  let capacityBytes = maxBytes
  let startedAt: number | null = null
  let answeredBytes = 0
  const measure = (waitingBytes: number): void => {
    if (waitingBytes < minWaitingBytes) {
      startedAt = null
      return
    }
    const at = now()
    if (startedAt !== null) {
      if (at - startedAt < intervalMs) return
      const paceBytes = (answeredBytes / (at - startedAt)) * answerMs
      const within = Math.max(minCapacityBytes, Math.min(maxBytes, (capacityBytes + paceBytes) / 2))
      capacityBytes = Math.min(maxBytes, within)
    }
    startedAt = at
    answeredBytes = 0
  }
  return {
    capacityBytes: waitingBytes => {
      measure(waitingBytes)
      return capacityBytes
    },
    noteAnswered: (bytes, waitingBytes) => {
      answeredBytes += bytes
      measure(waitingBytes)
    },
  }
}
