const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/**
 * What lies between an attempt and the next one, in ms; after the last gap nothing follows.
 * Source: docs/rules/events-and-webhooks.md #attempts.
 */
export const retryGapsMs: readonly number[] = [
  5 * secondMs,
  5 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  5 * hourMs,
  10 * hourMs,
  14 * hourMs,
  20 * hourMs,
  24 * hourMs,
]

/** How long an endpoint may give nothing but failures before it is disabled, in ms. */
export const maxFailingMs = 5 * dayMs

const minDelayShare = 0.8
const delayShareRange = 0.4

/**
 * Choose how long to wait before the next attempt, in ms; null when `attempts` (made so far, from 1) were the last ones.
 * `chance` (0 … 1) places the wait within ± 20 % of its gap. What the subscriber asked for is kept where it is longer, up to twice the gap.
 * Source: docs/rules/events-and-webhooks.md #attempts.
 */
export const retryDelayMs = (attempts: number, random: number, retryAfterMs: number | null): number | null => {
  const gapMs = retryGapsMs[attempts - 1]
  if (gapMs === undefined) return null
  const plannedMs = Math.round(gapMs * (minDelayShare + delayShareRange * random))
  return Math.max(plannedMs, Math.min(retryAfterMs ?? 0, 2 * gapMs))
}

const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/** Read a Retry-After header as ms from `at` on; null for one that says nothing, or nothing that can be read. Source: RFC 9110, 10.2.3. */
export const readRetryAfterMs = (header: string | null, at: number): number | null => {
  const text = header?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * secondMs
  const until = httpDate.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(until) ? null : Math.max(0, until - at)
}

/** What came back from an attempt; `status` null where no answer came. */
export type AttemptResponse = { readonly status: number | null; readonly retryAfter: string | null }

/** What an attempt makes of its delivery: when the next one is due (ms), or why there is none. `GONE` disables the endpoint too. */
export type AttemptDecision =
  | { readonly kind: 'DELIVERED' }
  | { readonly kind: 'RETRY'; readonly dueAt: number }
  | { readonly kind: 'EXHAUSTED' }
  | { readonly kind: 'GONE' }

/**
 * Judge an attempt that ended at `at` (ms), `attempts` with it. Only 2xx is success: a redirect is a failure like any other. 410 ends all;
 * Retry-After counts with 429 and 503. Source: docs/rules/events-and-webhooks.md #attempts.
 */
export const decideAttempt = (
  { status, retryAfter }: AttemptResponse,
  attempts: number,
  at: number,
  random: number,
): AttemptDecision => {
  if (status !== null && status >= 200 && status < 300) return { kind: 'DELIVERED' }
  if (status === 410) return { kind: 'GONE' }
  const requestedMs = status === 429 || status === 503 ? readRetryAfterMs(retryAfter, at) : null
  const delayMs = retryDelayMs(attempts, random, requestedMs)
  return delayMs === null ? { kind: 'EXHAUSTED' } : { kind: 'RETRY', dueAt: at + delayMs }
}

/** Tell whether an endpoint that has failed since then, without one success, is to be disabled at `at`. */
export const isDisableDue = (failingSince: number, at: number): boolean => at - failingSince >= maxFailingMs
