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

/**
 * Do a piece of work for each item, at most `width` at a time, and give the results in the order of the items. Throws
 * the first error.
 */
export const inParallel = async <Item, Result>(
  items: Iterable<Item>,
  width: number,
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> => {
  const results: Result[] = []
  const queue = items[Symbol.iterator]()
  let next = 0
  let failed = false
  const worker = async (): Promise<void> => {
    for (;;) {
      const index = next
      const { done, value } = queue.next()
      if (done || failed) return
      next += 1
      try {
        results[index] = await work(value)
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: width }, worker))
  return results
}
