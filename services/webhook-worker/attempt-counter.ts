import type { Metrics } from '../platform/telemetry/metrics.ts'
import type { Attempt } from './attempt.ts'

/** Count attempts, and measure from each event to the end of the first attempt to deliver it. */
export const attemptCounter = ({ webhookAttempts, webhookLag }: Pick<Metrics, 'webhookAttempts' | 'webhookLag'>) => {
  const counters = {
    DELIVERED: webhookAttempts.labels('delivered'),
    RETRY: webhookAttempts.labels('retry'),
    EXHAUSTED: webhookAttempts.labels('exhausted'),
    GONE: webhookAttempts.labels('gone'),
  } as const satisfies Record<Attempt['decision'], unknown>
  return ({ claim, outcome, decision }: Attempt): void => {
    counters[decision].inc()
    const isFirst = claim.attempts === 0 && claim.round === 1
    if (isFirst && claim.eventCreatedAt !== null)
      webhookLag.observe(Math.max(0, outcome.at - claim.eventCreatedAt) / 1000)
  }
}
