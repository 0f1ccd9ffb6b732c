import { setTimeout as sleep } from 'node:timers/promises'
import type { Outcome } from '../../support/ledger/journal.ts'
import type { Change, ChangeRequest } from '../history/plan-changes.ts'
import { isUnexpected, nullIfDisconnected, type SendContext, waitForCaller } from './entries.ts'

/** After a kill, an idempotency key can stay locked for 1 min. */
const pauseMs = 200

const outcomeOf = (status: number | null, { method }: ChangeRequest, isRetry: boolean): Outcome => {
  if (status === null || status >= 500 || status === 401) return 'unknown'
  // The previous request with the same key is still running.
  if (isRetry && status === 409) return 'unknown'
  // If a repeated DELETE finds no tariff, the previous request has voided the tariff.
  const isDone = status < 300 || (isRetry && method === 'DELETE' && status === 404)
  return isDone ? 'ok' : 'failed'
}

/** Send a change until its result is known. The journal has an entry before each request and after each answer. */
export const sendChange = async (
  { system, journal, progress }: SendContext,
  change: Change,
  operation: number,
): Promise<void> => {
  const since = performance.now()
  const request = change.request()
  const headers: Readonly<Record<string, string>> =
    request.method === 'POST' ? { 'Idempotency-Key': `audit ${operation}` } : {}
  for (let isRetry = false; ; isRetry = true) {
    const { client } = await waitForCaller(system, since, sleep)
    await journal.write({ kind: 'change', operation, ...request })
    const reply = await client.send(request.method, request.path, request.body, headers).catch(nullIfDisconnected)
    const status = reply?.status ?? null
    const outcome = outcomeOf(status, request, isRetry)
    await journal.write({ kind: 'changed', operation, outcome, status, text: reply?.text.slice(0, 500) ?? '' })
    if (isUnexpected(status, outcome))
      progress.refused.push(`${request.method} ${request.path}: ${status} ${reply?.text}`)
    if (outcome === 'ok') change.done((reply?.json ?? {}) as { id?: string })
    if (outcome !== 'unknown') break
    await sleep(pauseMs)
  }
  progress.changes += 1
}
