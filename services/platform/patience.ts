import { Failure } from './failure.ts'

const afterMs = async <T>(ms: number, work: Promise<T>, late: () => T): Promise<T> => {
  const passed = Promise.withResolvers<T>()
  const timer = setTimeout(() => {
    try {
      passed.resolve(late())
    } catch (error) {
      passed.reject(error)
    }
  }, ms)
  try {
    return await Promise.race([work, passed.promise])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Ask a store, and take an answer that has not come after `limitMs` for a failure; what comes later is ignored.
 * Rejects with `store_silent` (retriable) then, else with what asking threw.
 */
export const answerWithin = async <T>(limitMs: number, ask: () => Promise<T>): Promise<T> =>
  afterMs(limitMs, ask(), () => {
    throw new Failure('store_silent', 'A store does not answer.', { retriable: true })
  })

/** Wait for a piece of work for up to `patienceMs`; tells whether it is done. The work goes on; rejects with what it threw until then. */
export const isDoneWithin = async (patienceMs: number, work: Promise<unknown>): Promise<boolean> =>
  afterMs(
    patienceMs,
    work.then(() => true),
    () => false,
  )
