const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/**
 * What lies between an attempt and the next one, in ms; after the last gap nothing follows.
 * Source: docs/rules/events-and-webhooks.md #attempts.
 */
export const retryGapsMs: readonly number[] = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
]

/** How long an endpoint may give nothing but failures before it is disabled, in ms. */
export const failingLimitMs = 5 * day

const leastShare = 0.8
const spread = 0.4

/**
 * Choose how long to wait before the next attempt, in ms; null when `attempts` (made so far, from 1) were the last ones.
 * `chance` (0 … 1) places the wait within ± 20 % of its gap. What the subscriber asked for is kept where it is longer, up to twice the gap.
 * Source: docs/rules/events-and-webhooks.md #attempts.
 */
export const retryDelayMs = (attempts: number, chance: number, retryAfterMs: number | null): number | null => {
  const gap = retryGapsMs[attempts - 1]
  if (gap === undefined) return null
  const planned = Math.round(gap * (leastShare + spread * chance))
  return Math.max(planned, Math.min(retryAfterMs ?? 0, 2 * gap))
}

const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/** Read a Retry-After header as ms from `at` on; null for one that says nothing, or nothing that can be read. Source: RFC 9110, 10.2.3. */
export const readRetryAfterMs = (header: string | null, at: number): number | null => {
  const text = header?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * second
  const until = httpDate.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(until) ? null : Math.max(0, until - at)
}

/** What came back from an attempt; `status` null where no answer came. */
export type Answered = { readonly status: number | null; readonly retryAfter: string | null }

/** What an attempt makes of its delivery: when the next one is due (ms), or why there is none. `GONE` disables the endpoint too. */
export type Judgement =
  | { readonly kind: 'DELIVERED' }
  | { readonly kind: 'RETRY'; readonly dueAt: number }
  | { readonly kind: 'EXHAUSTED' }
  | { readonly kind: 'GONE' }

/**
 * Judge an attempt that ended at `at` (ms), `attempts` with it. Only 2xx is success: a redirect is a failure like any other. 410 ends all;
 * Retry-After counts with 429 and 503. Source: docs/rules/events-and-webhooks.md #attempts.
 */
export const judgeAttempt = ({ status, retryAfter }: Answered, attempts: number, at: number, chance: number): Judgement => {
  if (status !== null && status >= 200 && status < 300) return { kind: 'DELIVERED' }
  if (status === 410) return { kind: 'GONE' }
  const asked = status === 429 || status === 503 ? readRetryAfterMs(retryAfter, at) : null
  const delayMs = retryDelayMs(attempts, chance, asked)
  return delayMs === null ? { kind: 'EXHAUSTED' } : { kind: 'RETRY', dueAt: at + delayMs }
}

/** Tell whether an endpoint that has failed since then, without one success, is to be disabled at `at`. */
export const mustDisable = (failingSince: number, at: number): boolean => at - failingSince >= failingLimitMs
