import { deadlines } from '../platform/concurrency/deadlines.ts'
import { Failure } from '../platform/failure.ts'

/** State of the time limit of a submission. `isOver`: the caller has been refused, so nothing more may be appended. */
export type WriteLimit = { isOver: boolean }

/** Time in ms in which the records of a submission must be durable. Then 1 s is left until a caller gives up. */
export const defaultWriteLimitMs = 4_000

/** Return the error of a submission whose time limit is over. An append in progress may still store its records. */
export const writeLate = (): Failure =>
  new Failure('gateway_late', 'The log did not store the records of a submission in time.', { retriable: true })

/**
 * Run work that appends records, with a time limit. The work must check `limit.isOver` before each append.
 * Rejects with `gateway_late` (retriable) at the limit. Then only appends in progress can still become durable.
 */
export type WithWriteLimit = <T>(work: (limit: WriteLimit) => Promise<T>) => Promise<T>

/** Create the time limit of submissions. */
export const writeLimit = (limitMs = defaultWriteLimitMs): WithWriteLimit => {
  const limits = deadlines(limitMs)
  return work =>
    new Promise((resolve, reject) => {
      const limit = { isOver: false }
      const deadline = limits.start(() => {
        limit.isOver = true
        reject(writeLate())
      })
      const settle =
        <T>(finish: (result: T) => void) =>
        (result: T): void => {
          limits.end(deadline)
          finish(result)
        }
      work(limit).then(settle(resolve), settle(reject))
    })
}
