import { setTimeout as sleep } from 'node:timers/promises'
import { fairShare } from '../../platform/concurrency/fair-share.ts'
import { Failure, isFailure } from '../../platform/failure.ts'
import {
  type ClaimedPage,
  claimPage,
  extendClaim,
  finishPage,
  type PageResult,
  releasePage,
} from '../../platform/postgres/statements/statement-batches.ts'
import { withOperator } from '../../platform/postgres/transaction.ts'
import type { BatchDependencies, PageDependencies } from './batch-dependencies.ts'
import { isOutage, processPage } from './process-page.ts'

/** Work on the batches of all accounts. Disposing of it waits for the current page. */
export type BatchWork = AsyncDisposable & {
  /** Look for pages at once. */
  readonly wake: () => void
}

/** Time in ms for which a claim is valid. A third of it after the last extension, it is extended. */
const claimMs = 15_000
const restMs = 1_000
/**
 * Pages that a process works on at the same time: one is read and stored while another one is calculated. Only one of
 * them may have failed before, so that a page that ends the process again and again ends no second page each time.
 */
const claims = [{ onlyFirst: false }, { onlyFirst: true }]
/** Accounts do not wait for each other: the work of an account can wait long in the thread. */
const turnLimits = { maxConcurrent: claims.length, maxConcurrentPerAccount: 1, maxWaitingPerAccount: claims.length }
const failurePauseMs = 2_000

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

/** Claim a page and process it. Returns false if no page is due. */
const doPage = async (
  dependencies: PageDependencies,
  signal: AbortSignal,
  claim: { readonly onlyFirst: boolean },
): Promise<boolean> => {
  const { operator } = dependencies.database
  const page = await claimPage(operator, claimMs, claim)
  if (page === null) return false
  const extend = (): void => void extendClaim(operator, page, claimMs).catch(() => undefined)
  const timer = setInterval(extend, claimMs / 3)
  try {
    const result = await processPage(dependencies, page, signal)
    if (result === null) await releasePage(operator, page, { pauseMs: failurePauseMs, isCounted: false })
    else await storeResult(dependencies, page, result)
  } catch (error) {
    const isCounted = !signal.aborted && !isOutage(error)
    await releasePage(operator, page, { pauseMs: signal.aborted ? 0 : failurePauseMs, isCounted })
    if (!signal.aborted) throw error
  } finally {
    clearInterval(timer)
  }
  return true
}

/**
 * Work on batches of statements, two pages at a time. Each process of the query service does it: a claim gives a page to
 * one process. After a crash the claim expires, and the page is calculated again: drafts have the same ids, and a
 * statement that is FINAL already stays as it is.
 * Source: docs/rules/statement-batches.md #work.
 */
export const startBatchWork = (dependencies: BatchDependencies): BatchWork => {
  const stopping = new AbortController()
  const pauses = new Set<AbortController>()
  const pages = { ...dependencies, turns: fairShare(turnLimits) }
  const run = async (claim: { readonly onlyFirst: boolean }): Promise<void> => {
    while (!stopping.signal.aborted) {
      const pause = new AbortController()
      pauses.add(pause)
      const hasMore = await doPage(pages, stopping.signal, claim).catch(error => {
        if (!stopping.signal.aborted) dependencies.logger.warn({ err: error }, 'Page of a batch failed, retrying')
        return false
      })
      const signal = AbortSignal.any([stopping.signal, pause.signal])
      if (!hasMore) await sleep(restMs, undefined, { signal }).catch(() => undefined)
      pauses.delete(pause)
    }
  }
  const running = Promise.all(claims.map(run))
  return {
    wake: () => {
      for (const pause of pauses) pause.abort()
    },
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      await running
    },
  }
}
