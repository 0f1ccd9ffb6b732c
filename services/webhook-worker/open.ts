import { currentInstant } from '../platform/clock.ts'
import { emptyRoleModule, type RoleModule, type SharedDependencies } from '../platform/role-module.ts'
import { attemptCounter } from './attempt-counter.ts'
import { startWebhookWorker } from './worker.ts'

/** Start the webhook worker; it drains with the stack. */
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
