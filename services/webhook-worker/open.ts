import { currentInstant } from '../platform/clock.ts'
import { emptyRoleModule, type RoleModule, type SharedDependencies } from '../platform/role-module.ts'
import type { Metrics } from '../platform/telemetry/metrics.ts'
import type { Attempt } from './attempt.ts'
import { startWebhookWorker } from './worker.ts'

/** Count attempts, and measure the time from each event to the end of its first attempt. */
const attemptCounter = ({ webhookAttempts, webhookLag }: Pick<Metrics, 'webhookAttempts' | 'webhookLag'>) => {
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

/** Start the webhook worker. It stops with the stack. */
export const openWebhookWorker = async (
  shared: SharedDependencies,
  opening: AsyncDisposableStack,
): Promise<RoleModule> => {
  const attempted = attemptCounter(shared.metrics)
  await shared.webhookClient.prepare()
  const worker = opening.use(
    await startWebhookWorker({ ...shared, secret: shared.secrets.secret, at: currentInstant, onAttempt: attempted }),
  )
  return { ...emptyRoleModule, liveChecks: [{ name: 'webhook-worker', isHealthy: worker.isLive }] }
}
