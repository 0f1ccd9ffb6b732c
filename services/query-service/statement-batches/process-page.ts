import { promisify } from 'node:util'
import { zstdCompress } from 'node:zlib'
import { statementFrame } from '../../contract/statements/statement.ts'
import { statementRequestText } from '../../contract/statements/statement-request.ts'
import type { Refusal, RefusalCode } from '../../domain/refusal.ts'
import type { BatchFailure } from '../../domain/statement/statement-batch.ts'
import { canComeFromWork, isFailure } from '../../platform/failure.ts'
import { devicesIn } from '../../platform/postgres/statements/erase-batches.ts'
import type { ClaimedPage, PageResult } from '../../platform/postgres/statements/statement-batches.ts'
import { recordAnswers } from '../../platform/postgres/statements/statements.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import {
  type FinaliseRequest,
  finalDraftOf,
  finaliseRequested,
  newCandidate,
  statementIncomplete,
  storeFinal,
} from '../statements/finalise-statement.ts'
import { readStoredRequest } from '../statements/run-statement.ts'
import { answerText, statementId } from '../statements/statement-answer.ts'
import { answerStatement } from '../statements/statements.ts'
import type { PageDependencies } from './batch-dependencies.ts'
import { calculatePage, type PageOutcome, type PagePlan } from './calculate-page.ts'

const compress = promisify(zstdCompress)

/** Time in ms after which the other locations of a page are left to the next claim. */
const pageTimeMs = 10_000
/** Maximum length of the statements of a page in characters. */
const maxPageLength = 16 * 2 ** 20
/** Pause in ms after a temporary failure. */
const failurePauseMs = 2_000
/** Attempts after which a page is processed one location at a time, and after which its first location fails. */
const attemptLimits = { together: 3, alone: 8 } as const

/** Statement of a location as one line of JSON, or the reason why there is none. LATER: a temporary failure. */
type LocationResult = { readonly text: string } | { readonly refusal: Refusal } | 'LATER'

type PageContext = {
  readonly dependencies: PageDependencies
  readonly page: ClaimedPage
  readonly request: FinaliseRequest
  readonly plan: PagePlan
}

/** Return the request of a batch for one statement, as of the caller who created the batch. */
const requestOf = ({ accountId, liveMode, actor, allowsGaps }: ClaimedPage, at: number, signal: AbortSignal) => ({
  caller: { accountId, liveMode, keyId: actor, scope: 'all', defaultApiVersion: 'current' } as const,
  ...({ at, signal, requestId: '', apiVersion: 'current', parameters: {}, id: '', query: {} } as const),
  body: { hash: undefined, allow_incomplete: allowsGaps },
  idempotency: null,
})

const idOf = ({ page, plan }: PageContext, locationId: string): string =>
  statementId(page, locationId, statementRequestText(plan.request))

const requestedOf = (context: PageContext, locationId: string) => {
  const { request } = context.plan
  const { startDay, endDay } = request
  return { id: idOf(context, locationId), locationId, request: statementRequestText(request), startDay, endDay }
}

/** Return whether an error has a cause outside of the page, so that it does not count as an attempt. */
export const isOutage = (error: unknown): boolean => isFailure(error) && error.retriable && !canComeFromWork(error)

/** Return whether a refusal is temporary. */
const isTemporary = ({ code }: Refusal): boolean => code === 'unavailable'

/** Calculate the statement of a location like a single request. */
const calculateAlone = async (context: PageContext, locationId: string): Promise<LocationResult> => {
  const { dependencies, page, request, plan } = context
  const requested = requestedOf(context, locationId)
  try {
    const answer = page.finalises
      ? await finaliseRequested(dependencies, { ...request, id: requested.id }, requested)
      : await answerStatement(dependencies, request, locationId, plan)
    if (!answer.ok) return isTemporary(answer.refusal) ? 'LATER' : { refusal: answer.refusal }
    if (answer.serialized === undefined) throw new TypeError('A statement was not written as JSON.')
    return { text: await answerText(answer.serialized) }
  } catch (error) {
    if (isOutage(error)) return 'LATER'
    throw error
  }
}

/** Record the drafts of a page. Statements that became FINAL meanwhile are left out. */
const recordDrafts = async (
  context: PageContext,
  outcomes: ReadonlyMap<string, PageOutcome>,
): Promise<ReadonlyMap<string, LocationResult>> => {
  const { dependencies, page, plan, request } = context
  const results = new Map<string, LocationResult>()
  const drafts = [...outcomes].flatMap(([locationId, outcome]) => {
    if ('refusal' in outcome) results.set(locationId, outcome)
    return 'refusal' in outcome
      ? []
      : [{ id: idOf(context, locationId), locationId, hash: outcome.facts.hash, content: outcome.content }]
  })
  const { startDay, endDay } = plan.request
  const common = { request: statementRequestText(plan.request), startDay, endDay, at: request.at }
  const revisions = await withTenant(dependencies.database, page, transaction =>
    recordAnswers(transaction, common, drafts),
  )
  for (const { id, locationId, hash, content } of drafts) {
    const revision = revisions.get(id)
    if (revision === undefined) continue
    const { before, after } = statementFrame({ id, hash, ...revision, accountId: page.accountId })
    results.set(locationId, { text: `${before}${content}${after}` })
  }
  return results
}

/** Make the statements of a page FINAL. Those whose location got another FINAL statement are left out. */
const storeFinals = async (
  context: PageContext,
  outcomes: ReadonlyMap<string, PageOutcome>,
): Promise<ReadonlyMap<string, LocationResult>> => {
  const { dependencies, page, request } = context
  const results = new Map<string, LocationResult>()
  const storeOne = async (locationId: string, outcome: PageOutcome): Promise<LocationResult | null> => {
    if ('refusal' in outcome) return outcome
    const { facts, terms } = outcome
    if (!facts.isComplete && !page.allowsGaps) return { refusal: statementIncomplete.refusal }
    const requested = requestedOf(context, locationId)
    const candidate = { known: newCandidate(requested), terms, finals: [] }
    const draft = finalDraftOf(page, requested.id, outcome)
    const stored = await storeFinal(dependencies, { ...request, id: requested.id }, candidate, draft)
    if (!stored.ok) return isTemporary(stored.refusal) ? null : { refusal: stored.refusal }
    return stored.value === 'STALE' ? null : { text: Buffer.from(stored.value.bytes).toString() }
  }
  const waiting = [...outcomes]
  const storeSome = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const result = await storeOne(...next)
      if (result !== null) results.set(next[0], result)
    }
  }
  await Promise.all([storeSome(), storeSome()])
  return results
}

/** Calculate the statements of a page that can be read together, until some of them are enough for a result. */
const calculateTogether = async (
  context: PageContext,
  deadline: number,
): Promise<ReadonlyMap<string, LocationResult>> => {
  const { dependencies, page, request, plan } = context
  if (page.attempts > attemptLimits.together) return new Map()
  for (const locationId of page.finalises ? page.locationIds : []) {
    if (!(await dependencies.recordsAreStored(page, locationId, request.signal))) return new Map()
  }
  const results = new Map<string, LocationResult>()
  let length = 0
  for (let ids = page.locationIds; ids.length > 0 && length <= maxPageLength && performance.now() <= deadline; ) {
    const { outcomes, left } = await calculatePage(dependencies, request, ids, plan)
    if (outcomes.size === 0) break
    const some = await (page.finalises ? storeFinals(context, outcomes) : recordDrafts(context, outcomes))
    for (const [locationId, result] of some) {
      results.set(locationId, result)
      if (result !== 'LATER' && 'text' in result) length += result.text.length
    }
    ids = left
  }
  return results
}

const cannotCalculate = {
  code: 'unavailable' as RefusalCode,
  message: 'The statement could not be calculated. Request it alone to see the reason.',
}

const resultOf = async (
  results: readonly (readonly [string, Exclude<LocationResult, 'LATER'>])[],
  { attempts, pauseMs }: Pick<PageResult, 'attempts' | 'pauseMs'>,
): Promise<PageResult> => {
  const texts = results.flatMap(([, result]) => ('text' in result ? [result.text] : []))
  const failures = results.flatMap(([locationId, result]): BatchFailure[] =>
    'text' in result ? [] : [{ locationId, code: result.refusal.code, message: result.refusal.message }],
  )
  const lines = texts.map(text => `${text}\n`).join('')
  const answers = await compress(Buffer.from(lines))
  return {
    processed: results.length,
    done: texts.length,
    failures,
    answers,
    deviceIds: devicesIn(lines),
    attempts,
    pauseMs,
  }
}

/**
 * Calculate the statements of the first locations of a page, for up to 10 s. Stores that are unavailable, and records
 * that are not stored yet, end it early. Null if there is no result yet.
 */
export const processPage = async (
  dependencies: PageDependencies,
  page: ClaimedPage,
  signal: AbortSignal,
): Promise<PageResult | null> => {
  const deadline = performance.now() + pageTimeMs
  const at = dependencies.at()
  const request = requestOf(page, at, signal)
  const plan: PagePlan = { ...readStoredRequest(page.request), at, status: page.finalises ? 'FINAL' : 'DRAFT' }
  const context = { dependencies, page, request, plan }
  const [first] = page.locationIds
  if (first !== undefined && page.attempts > attemptLimits.alone)
    return resultOf([[first, { refusal: cannotCalculate }]], { attempts: 0, pauseMs: 0 })
  const together = await calculateTogether(context, deadline)
  const results: [string, Exclude<LocationResult, 'LATER'>][] = []
  let length = 0
  let pauseMs = 0
  const isEnough = (): boolean => length > maxPageLength || performance.now() > deadline || signal.aborted
  for (const locationId of page.locationIds) {
    const known = together.get(locationId)
    // Statements that are calculated already count, also if their calculation took longer than a page may.
    if (known === undefined && results.length > 0 && isEnough()) break
    const result = known ?? (await calculateAlone(context, locationId))
    if (result === 'LATER') {
      pauseMs = failurePauseMs
      break
    }
    results.push([locationId, result])
    length += 'text' in result ? result.text.length : 0
    if (page.attempts > attemptLimits.together) break
  }
  // Until the location that ended the process is found, each location of the page is calculated alone.
  const attempts = page.attempts > attemptLimits.together ? attemptLimits.together : 0
  return results.length === 0 ? null : resultOf(results, { attempts, pauseMs })
}
