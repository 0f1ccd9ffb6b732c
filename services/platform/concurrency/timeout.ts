import { Failure } from '../failure.ts'

const raceTimeout = async <T>(ms: number, work: Promise<T>, onTimeout: () => T): Promise<T> => {
  const timeout = Promise.withResolvers<T>()
  const timer = setTimeout(() => {
    try {
      timeout.resolve(onTimeout())
    } catch (error) {
      timeout.reject(error)
    }
  }, ms)
  try {
    return await Promise.race([work, timeout.promise])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Call a store with a time limit. A later answer is ignored.
 * Rejects with Failure `store_silent` (retriable) at the limit, or with the error of the call.
 */
export const withTimeout = async <T>(limitMs: number, work: () => Promise<T>): Promise<T> =>
  raceTimeout(limitMs, work(), () => {
    throw new Failure('store_silent', 'A store does not answer.', { retriable: true })
  })

/**
 * Wait for work for up to `limitMs` and return whether it is done. The work continues after the limit.
 * Rejects if the work fails before.
 */
export const isDoneWithin = async (limitMs: number, work: Promise<unknown>): Promise<boolean> =>
  raceTimeout(
    limitMs,
    work.then(() => true),
    () => false,
  )
