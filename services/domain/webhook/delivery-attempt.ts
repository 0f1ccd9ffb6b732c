import { dayMs, hourMs, minuteMs } from '../interval.ts'

const secondMs = 1_000

/**
 * Pauses between the attempts of a delivery, in ms. There is no attempt after the last pause.
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

/** Time in ms after which an endpoint that only fails is disabled. */
export const maxFailingMs: number = 5 * dayMs

const minDelayShare = 0.8
const delayShareRange = 0.4

/**
 * Return the pause before the next attempt, in ms; null if `attempts` (made so far, from 1) are all attempts.
 * `random` in [0, 1) moves the pause by up to ± 20 %. A longer Retry-After is respected, up to twice the planned pause.
 * Source: docs/rules/events-and-webhooks.md #attempts.
 */
export const retryDelayMs = (attempts: number, random: number, retryAfterMs: number | null): number | null => {
  const gapMs = retryGapsMs[attempts - 1]
  if (gapMs === undefined) return null
  const plannedMs = Math.round(gapMs * (minDelayShare + delayShareRange * random))
  return Math.max(plannedMs, Math.min(retryAfterMs ?? 0, 2 * gapMs))
}

const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/**
 * Read a Retry-After header as ms after `at`; null if it is absent or invalid.
 * Source: RFC 9110, 10.2.3.
 */
export const readRetryAfterMs = (header: string | null, at: number): number | null => {
  const text = header?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * secondMs
  const until = httpDate.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(until) ? null : Math.max(0, until - at)
}

/** Response to an attempt; `status` is null if there was no response. */
export type AttemptResponse = { readonly status: number | null; readonly retryAfter: string | null }

/** Decision after an attempt: delivered, retry at `dueAt` (ms), or stop. `GONE` also disables the endpoint. */
export type AttemptDecision =
  | { readonly kind: 'DELIVERED' }
  | { readonly kind: 'RETRY'; readonly dueAt: number }
  | { readonly kind: 'EXHAUSTED' }
  | { readonly kind: 'GONE' }

/**
 * Decide what follows an attempt that ended at `at` (ms). `attempts` includes this attempt.
 * Only 2xx is a success: a redirect is a failure. 410 stops all attempts. Retry-After applies to 429 and 503.
 * Source: docs/rules/events-and-webhooks.md #attempts.
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

/** Check if an endpoint that has only failed since `failingSince` must be disabled at `at` (both ms). */
export const isDisableDue = (failingSince: number, at: number): boolean => at - failingSince >= maxFailingMs

/** Concurrent deliveries to one endpoint: initial and maximum number. */
export const initialConcurrency = 8
export const maxConcurrency = 64

/**
 * Return the number of concurrent deliveries after an attempt: one more after a success, half after a failure, at least
 * one.
 * An endpoint that hangs therefore uses one connection, and an endpoint that recovers soon receives all of its backlog.
 */
export const concurrencyAfter = (concurrency: number, isSuccess: boolean): number =>
  isSuccess ? Math.min(maxConcurrency, concurrency + 1) : Math.max(1, Math.floor(concurrency / 2))
