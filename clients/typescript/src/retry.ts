/** Result of one attempt that was not a success. `status` is null if no answer arrived. */
export type FailedAttempt = {
  readonly status: number | null
  readonly code: string | null
  /** Text of the header `Retry-After`. */
  readonly retryAfter: string | null
}

export type RetryOptions = {
  /** Attempts of a request, the first one included. Default: 5. */
  readonly maxAttempts: number
  /** Longest wait between two attempts in ms. A longer `Retry-After` ends the attempts. Default: 60,000. */
  readonly maxDelayMs: number
}

const firstDelayMs = 250

/** Return the wait of a `Retry-After` header in ms: seconds or a date. Returns null for another text. */
export const retryAfterMs = (text: string | null, at: number): number | null => {
  if (text === null) return null
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  // A date has a letter. Without one, `Date.parse` reads a number such as "0.5" as a date.
  const date = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? null : Math.max(0, date - at)
}

/**
 * Return true if a request can be sent again. The service did not perform a request that it answered with 429 or 503.
 * After a lost answer only a repeatable request is sent again: a second time must have the effect of one.
 */
const canRetry = ({ status, code }: FailedAttempt, isRepeatable: boolean): boolean => {
  if (status === 429 || status === 503 || code === 'idempotency_in_progress') return true
  return isRepeatable && (status === null || status === 502 || status === 504)
}

/** Return the wait in ms before the next attempt, or null if there is none. `chance` is a random number in [0, 1). */
export const retryDelay = (
  failed: FailedAttempt,
  attempt: number,
  isRepeatable: boolean,
  { maxAttempts, maxDelayMs }: RetryOptions,
  { at, chance }: { readonly at: number; readonly chance: number },
): number | null => {
  if (attempt >= maxAttempts || !canRetry(failed, isRepeatable)) return null
  const requested = retryAfterMs(failed.retryAfter, at)
  if (requested !== null) return requested > maxDelayMs ? null : requested
  const ceiling = Math.min(maxDelayMs, firstDelayMs * 2 ** (attempt - 1))
  return ceiling / 2 + (ceiling / 2) * chance
}
