import { fairShare } from '../../platform/concurrency/fair-share.ts'
import { Failure, isFailure } from '../../platform/failure.ts'
import { type JobWork, startJobs } from '../../platform/jobs/jobs.ts'
import type { Loop } from '../../platform/jobs/loop.ts'
import {
  type ClaimedPage,
  claimPage,
  finishPage,
  type PageResult,
  pageJobs,
} from '../../platform/postgres/statements/statement-batches.ts'
import { withOperator } from '../../platform/postgres/transaction.ts'
import type { BatchDependencies } from './batch-dependencies.ts'
import { isOutage, processPage } from './process-page.ts'

/**
 * Pages that a process works on at the same time: one is read and stored while another one is calculated. Only one of
 * them may have failed before, so that a page that ends the process again and again ends no second page each time.
 */
const claims = [{ onlyFirst: false }, { onlyFirst: true }]
/** Accounts do not wait for each other: the work of an account can wait long in the thread. */
const turnLimits = { maxConcurrent: claims.length, maxConcurrentPerAccount: 1, maxWaitingPerAccount: claims.length }

const claimLost = (): Failure =>
  new Failure('claim_lost', 'Another process has the page, or the batch was stopped.', { retriable: true })

/** Store the result of a page, unless the claim was lost. */
const storeResult = async (
  { database, at }: BatchDependencies,
  page: ClaimedPage,
  result: PageResult,
): Promise<void> => {
  await withOperator(database, async ({ query }) => {
    if (!(await finishPage(query, page, result, at()))) throw claimLost()
  }).catch(error => {
    if (!isFailure(error) || error.code !== 'claim_lost') throw error
  })
}

/**
 * Work on batches of statements, two pages at a time. A page that is calculated again has the same result: drafts have
 * the same ids, and a statement that is FINAL already stays as it is.
 * Source: docs/rules/statement-batches.md #work.
 */
export const startBatchWork = (dependencies: BatchDependencies): Loop => {
  const { operator } = dependencies.database
  const pages = { ...dependencies, turns: fairShare(turnLimits) }
  const work: JobWork<ClaimedPage> = {
    name: 'statement-batches',
    kind: pageJobs,
    claims: claims.map(claim => durationMs => claimPage(operator, durationMs, claim)),
    isOutage,
    run: async (page, signal) => {
      const result = await processPage(pages, page, signal)
      if (result === null) return 'LATER'
      await storeResult(dependencies, page, result)
      return 'ENDED'
    },
  }
  return startJobs(dependencies, work)
}
