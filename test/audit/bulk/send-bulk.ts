import { setTimeout as sleep } from 'node:timers/promises'
import { toWire } from '../../support/ledger/generate-submission.ts'
import type { LedgerReceipt } from '../../support/ledger/journal.ts'
import { answerOf } from '../../support/ledger/submitter.ts'
import type { AuditedSystem } from '../audited-system.ts'
import { isUnexpected, nullIfDisconnected, waitForCaller } from '../send/entries.ts'
import type { BulkSubmission } from './plan-bulk.ts'

/**
 * Progress of the load. `sent` counts requests; `uncertain` counts the requests with an unknown result, which were
 * repeated.
 */
export type BulkProgress = {
  records: number
  sent: number
  uncertain: number
  /** Records of additional copies. */
  repeated: number
  readonly receipts: { readonly given: LedgerReceipt; readonly submission: BulkSubmission }[]
  /** Unexpected answers. */
  readonly refused: string[]
}

/** Longer than for small submissions, because the service must read a large body even to refuse it. */
const retryMs = 250
/** In test mode the gateway refuses submissions while the workers have a large backlog. */
const timeoutMs = 900_000

/** Send one copy until its result is known. */
const sendCopy = async (
  system: AuditedSystem,
  progress: BulkProgress,
  submission: BulkSubmission,
  body: string,
): Promise<void> => {
  for (const since = performance.now(); ; await sleep(retryMs)) {
    if (performance.now() - since > timeoutMs)
      throw new Error(`A submission was not accepted within ${timeoutMs / 1_000} s.`)
    const { client } = await waitForCaller(system, performance.now(), sleep)
    progress.sent += 1
    const reply = await client.send('PUT', '/meters/interval', body).catch(nullIfDisconnected)
    const answer = reply === null ? null : answerOf(reply)
    if (answer !== null && isUnexpected(answer.status, answer.outcome)) {
      progress.refused.push(`a submission: ${reply?.status} ${reply?.text.slice(0, 500)}`)
      return
    }
    if (answer?.receipt) {
      progress.receipts.push({ given: answer.receipt, submission })
      return
    }
    progress.uncertain += 1
  }
}

/** Send submissions over `connections` senders. The copies of a submission are sent concurrently. */
export const sendBulk = async (
  system: AuditedSystem,
  progress: BulkProgress,
  submissions: readonly BulkSubmission[],
  connections: number,
): Promise<void> => {
  const left = submissions.values()
  const sender = async (): Promise<void> => {
    for (const submission of left) {
      const { records, copies } = submission
      const body = toWire(records)
      await Promise.all(Array.from({ length: copies }, () => sendCopy(system, progress, submission, body)))
      progress.records += records.length
      progress.repeated += records.length * (copies - 1)
    }
  }
  await Promise.all(Array.from({ length: connections }, sender))
}
