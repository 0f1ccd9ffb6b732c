/** How many deliveries to one endpoint may be under way at a time. */
export const initialConcurrency = 8
export const maxConcurrency = 64

/**
 * Set the number of deliveries under way after an attempt: one more after each success, half after each failure, at least one. So an
 * endpoint that hangs holds one connection, and one that is well again soon has all of its backlog.
 */
export const concurrencyAfter = (concurrency: number, isSuccess: boolean): number =>
  isSuccess ? Math.min(maxConcurrency, concurrency + 1) : Math.max(1, Math.floor(concurrency / 2))
