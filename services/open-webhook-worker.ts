import { emptyPart, type Part, type Shared } from './part.ts'
import { presentInstant } from './platform/clock.ts'
import { attemptCounter } from './webhook-worker/attempt-counter.ts'
import { startWebhookWorker } from './webhook-worker/worker.ts'

/** Start the webhook worker; it drains with the stack. */
export const openWebhookWorker = async (shared: Shared, opening: AsyncDisposableStack): Promise<Part> => {
  const attempted = attemptCounter(shared.metrics)
  await shared.dialler.prepare()
  const worker = opening.use(await startWebhookWorker({ ...shared, secret: shared.secrets.secret, at: presentInstant, attempted }))
  return { ...emptyPart, live: [{ name: 'webhook-worker', isWell: worker.isLive }] }
}
