import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, answerOf } from '../../support/ledger/submitter.ts'
import type { Caller, ProcessLifetime } from '../audited-system.ts'
import {
  bodyOf,
  entryOf,
  isUnexpected,
  nullIfDisconnected,
  pathOf,
  pauseMs,
  type SendContext,
  type Submission,
  sizeOf,
  waitForCaller,
} from './entries.ts'

/** Result of a step: lifetimes of the processes to which a request was sent that has no answer. */
export type StepResult = { readonly uncertain: readonly ProcessLifetime[] }

const unanswered: Answer = { outcome: 'unknown', status: null, receipt: null }

type Attempt = {
  readonly step: Submission
  readonly operation: number
  readonly attempt: number
  readonly body: string
}

const sendOnce = async (
  { journal, progress }: SendContext,
  { client }: Caller,
  { step, operation, attempt, body }: Attempt,
): Promise<Answer> => {
  const reply = await client.send('PUT', pathOf[step.kind], body).catch(nullIfDisconnected)
  const answer = reply === null ? unanswered : answerOf(reply)
  if (isUnexpected(answer.status, answer.outcome))
    progress.refused.push(`submission ${operation}: ${reply?.status} ${reply?.text}`)
  await journal.write({ kind: 'answered', operation, attempt, ...answer })
  return answer
}

const maxWaitMs = 3_000

/** Wait until a batch is processed. Returns early if the system is killed meanwhile. */
const awaitProcessed = async ({ system }: SendContext, batchId: string): Promise<void> => {
  for (const end = performance.now() + maxWaitMs; performance.now() < end; await sleep(pauseMs)) {
    const reply = await system
      .caller()
      ?.client.send('GET', `/meters/batch?batch_id=${batchId}`)
      .catch(nullIfDisconnected)
    if (reply === undefined || reply === null) return
    const receipt = reply.json as {
      readonly records_submitted: number
      readonly records_processed: number
      readonly failed_records: []
    }
    if (reply.status === 200 && receipt.records_processed + receipt.failed_records.length >= receipt.records_submitted)
      return
  }
}

/**
 * Send a submission until its result is known. The journal has an entry before each request and after each answer.
 * The submission is left out if a request of the previous submission `before` can still arrive: it would overwrite this
 * one.
 */
export const submit = async (
  sending: SendContext,
  step: Submission,
  operation: number,
  before: StepResult,
): Promise<StepResult> => {
  const { system, journal, progress } = sending
  const since = performance.now()
  const uncertain = before.uncertain.filter(lifetime => !lifetime.isOver())
  if (uncertain.length > 0) {
    progress.leftOut += 1
    return before
  }
  await journal.write(entryOf(step, operation))
  const body = bodyOf(step)
  let batchId: string | null = null
  for (let attempts = 0, isKnown = false; !isKnown; await sleep(isKnown ? 0 : pauseMs)) {
    await waitForCaller(system, since, sleep)
    const copies = Array.from({ length: attempts === 0 ? step.copies : 1 }, () => attempts++)
    await journal.write(...copies.map(attempt => ({ kind: 'sent', operation, attempt }) as const))
    const outcomes = await Promise.all(
      copies.map(async attempt => {
        const caller = await waitForCaller(system, since, sleep)
        const answer = await sendOnce(sending, caller, { step, operation, attempt, body })
        if (answer.outcome === 'unknown') uncertain.push(...caller.lifetimes())
        batchId = answer.receipt?.batchId ?? batchId
        return answer.outcome
      }),
    )
    isKnown = outcomes.some(outcome => outcome !== 'unknown')
  }
  if (step.isAwaited && batchId !== null) await awaitProcessed(sending, batchId)
  progress.records += sizeOf(step)
  return { uncertain }
}
