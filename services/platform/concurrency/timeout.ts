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
 * Ask a store, and take an answer that has not come after `limitMs` for a failure; what comes later is ignored.
 * Rejects with `store_silent` (retriable) then, else with what asking threw.
 */
export const withTimeout = async <T>(limitMs: number, work: () => Promise<T>): Promise<T> =>
  raceTimeout(limitMs, work(), () => {
    throw new Failure('store_silent', 'A store does not answer.', { retriable: true })
  })

/** Wait for a piece of work for up to `patienceMs`; tells whether it is done. The work goes on; rejects with what it threw until then. */
export const isDoneWithin = async (limitMs: number, work: Promise<unknown>): Promise<boolean> =>
  raceTimeout(
    limitMs,
    work.then(() => true),
    () => false,
  )
