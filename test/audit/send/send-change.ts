import { setTimeout as sleep } from 'node:timers/promises'
import type { Outcome } from '../../support/ledger/journal.ts'
import type { Change, ChangeRequest } from '../history/plan-changes.ts'
import { isUnexpected, nullIfBroken, type SendContext, waitForCaller } from './entries.ts'

/** A key whose request was killed may stay taken for a minute. */
const pauseMs = 200

const outcomeOf = (status: number | null, { method }: ChangeRequest, isRetry: boolean): Outcome => {
  if (status === null || status >= 500 || status === 401) return 'unknown'
  // Its twin of before is still at work.
  if (isRetry && status === 409) return 'unknown'
  // A tariff that is gone when it is made void again was made void by the sending before.
  const isDone = status < 300 || (isRetry && method === 'DELETE' && status === 404)
  return isDone ? 'ok' : 'failed'
}

/** Send a change as often as it takes until its fate is known; written down before each sending and after each answer. */
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
    const reply = await client.send(request.method, request.path, request.body, headers).catch(nullIfBroken)
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
