import { setTimeout as sleep } from 'node:timers/promises'
import { refusalOf, type ServiceClient } from '../../services/command-line/service-client.ts'

const timeoutMs = 60_000

/** Send a request, and retry for up to 60 s while the service answers 429 or 503. Throws `CallError`. */
export const requestWithRetries = async <T>(
  client: ServiceClient,
  method: string,
  path: string,
  body?: unknown,
): Promise<T> => {
  for (const deadline = performance.now() + timeoutMs; ; ) {
    const answer = await client.call<T>(method, path, body)
    if (answer.status >= 200 && answer.status < 300 && answer.body !== null) return answer.body
    const isBusy = answer.status === 429 || answer.status === 503
    if (!isBusy || performance.now() > deadline) throw refusalOf(method, path, answer)
    await sleep(Math.min(answer.retryAfterMs ?? 250, 2_000))
  }
}
