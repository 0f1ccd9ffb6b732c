import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import { statementFrame } from '../../contract/statements/statement.ts'
import { statementFinalise, statementVoid } from '../../contract/statements/statement-operations.ts'
import type { DayRange } from '../../domain/charge/charge-days.ts'
import { writeDate } from '../../domain/civil-date.ts'
import { isId } from '../../domain/identifier.ts'
import { accepted, type Refused, type Result, refused } from '../../domain/refusal.ts'
import type { Tenant } from '../../domain/tenant.ts'
import {
  deleteRequest,
  findStatement,
  lockFinals,
  readFinalAnswer,
  readFinals,
  recordAnswer,
  type StoredFinal,
  type StoredStatement,
  saveFinal,
  voidFinal,
} from '../../platform/postgres/statements/statements.ts'
import { type TenantTransaction, withTenant } from '../../platform/postgres/transaction.ts'
import { type Change, change, tenantOf } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { discardWork } from '../work-thread/run-work.ts'
import type { StatementFacts } from '../work-thread/statement-work.ts'
import { type BillingTerms, loadBillingTerms } from './gather-statement.ts'
import { calculateStatement, comparedFinals, readStoredRequest, type StatementDependencies } from './run-statement.ts'
import { answerText } from './statement-answer.ts'

export type FinaliseDependencies = QueryServiceDependencies &
  StatementDependencies & {
    /** Wait until the records of a location that were acknowledged before the call are stored; false after 5 s. */
    readonly recordsAreStored: (tenant: Tenant, locationId: string, signal: AbortSignal) => Promise<boolean>
  }

export type FinaliseRequest = RequestOf<typeof statementFinalise>
type FinaliseAnswer = Outcome<AnswerOf<typeof statementFinalise>>

export const noStatement = refused(
  'not_found',
  'No statement has this id. Requests of statements are stored for 90 days',
)

const changed = refused(
  'statement_changed',
  'The statement is not the one with this hash any more. Read it again and send its hash',
  'hash',
)

export const statementIncomplete = refused(
  'statement_incomplete',
  'The statement has gaps, so its amounts can still change. Send allow_incomplete: true to finalise it',
)

const recordsPending = refused(
  'unavailable',
  'Records of the location that were sent before are not stored yet. Send the request again',
)

/** Maximum number of calculations while FINAL statements of the location change. */
const maxAttempts = 5

type RequestedDays = DayRange & Pick<StoredStatement, 'id' | 'locationId' | 'request'>

/** Statement to finalise, with all FINAL statements of its location. */
export type Candidate = {
  readonly known: RequestedDays & Pick<StoredStatement, 'isFinal' | 'hash'>
  readonly terms: BillingTerms
  readonly finals: readonly StoredFinal[]
}

const loadCandidate = (dependencies: FinaliseDependencies, request: FinaliseRequest): Promise<Candidate | null> =>
  withTenant(dependencies.database, tenantOf(request), async transaction => {
    const known = await findStatement(transaction, request.id, request.at)
    if (known === null) return null
    const terms = await loadBillingTerms(dependencies, transaction, known.locationId)
    return terms === null ? null : { known, terms, finals: await readFinals(transaction, known.locationId) }
  })

/** Answer a repeated request for a statement that is FINAL already. */
const answerRepeat = async (
  { database }: FinaliseDependencies,
  request: FinaliseRequest,
  known: Candidate['known'],
): Promise<FinaliseAnswer> => {
  const final = await withTenant(database, tenantOf(request), transaction => readFinalAnswer(transaction, known.id))
  const { hash } = request.body
  if (final === null || (hash !== undefined && hash !== known.hash && hash !== final.draftHash)) return changed
  return { ok: true, serialized: { bytes: Buffer.from(final.answer) } }
}

const overlapRefusal = ({ id, startDay, endDay }: StoredFinal): Refused =>
  refused(
    'statement_overlap',
    `The FINAL statement ${id} has days from ${writeDate(startDay)} to before ${writeDate(endDay)}. Void it, or choose other days`,
  )

const idsOf = (finals: readonly StoredFinal[]): string => finals.map(({ id }) => id).join(' ')

/** FINAL statement as it is stored: its answer and its event. */
type FinalTexts = { readonly answer: string; readonly summary: string }

/** Calculated FINAL statement that is not stored yet. */
export type FinalDraft = {
  readonly facts: StatementFacts
  readonly textsOf: (revision: number, createdAt: number) => FinalTexts
}

/** Return the FINAL form of a calculated statement. `content`: its members as JSON without braces. */
export const finalDraftOf = (
  { accountId }: Tenant,
  id: string,
  { facts, content }: { readonly facts: StatementFacts; readonly content: string },
): FinalDraft => ({
  facts,
  textsOf: (revision, createdAt) => {
    const { before, after } = statementFrame({ id, revision, hash: facts.hash, createdAt, accountId })
    return { answer: `${before}${content}${after}`, summary: `${before}${facts.summary}${after}` }
  },
})

/** Calculate the FINAL form of a statement. Refuses another hash, and gaps. */
const calculateFinal = async (
  dependencies: FinaliseDependencies,
  request: FinaliseRequest,
  { known, terms, finals: stored }: Candidate,
): Promise<Result<FinalDraft>> => {
  const finals = await comparedFinals(dependencies, request, terms, stored, known.startDay)
  if (!finals.ok) return finals
  const plan = { terms, ...readStoredRequest(known.request), finals: finals.value, at: request.at }
  const calculated = await calculateStatement(dependencies, request, plan, { status: 'FINAL', output: 'JSON' })
  if (!calculated.ok) return calculated
  const { facts, work } = calculated.value
  const { hash, allow_incomplete: allowsGaps = false } = request.body
  const isOther = hash !== undefined && hash !== facts.draftHash
  if (isOther || !(facts.isComplete || allowsGaps)) {
    await discardWork(work)
    return isOther ? changed : statementIncomplete
  }
  return accepted(finalDraftOf(request.caller, known.id, { facts, content: await answerText(work.answer) }))
}

/** Store a FINAL statement. Null if the FINAL statements changed since the calculation. */
const store = async (
  transaction: TenantTransaction,
  { known, finals }: Candidate,
  { facts, textsOf }: FinalDraft,
  at: number,
): Promise<Result<Change<null>> | null> => {
  const { id, locationId, request, startDay, endDay } = known
  await lockFinals(transaction, locationId)
  const current = await readFinals(transaction, locationId)
  if (idsOf(current) !== idsOf(finals)) return null
  const other = current.find(final => final.startDay < endDay && final.endDay > startDay)
  if (other !== undefined) return overlapRefusal(other)
  const answered = { id, locationId, request, startDay, endDay, hash: facts.hash, at }
  const revision = await recordAnswer(transaction, answered)
  if (revision === null) return null
  const { answer, summary } = textsOf(revision.revision, revision.createdAt)
  await saveFinal(transaction, id, { answer, summary, draftHash: facts.draftHash, lines: facts.lines }, at)
  const detail = { location_id: locationId, start_date: writeDate(startDay), end_date: writeDate(endDay) }
  return accepted({
    value: null,
    bytes: Buffer.from(answer),
    events: [{ type: 'statement.finalised', objectId: id, text: summary }],
    audit: [{ action: 'statement.finalise', objectId: id, detail: { ...detail, hash: facts.hash } }],
  })
}

/** Bytes of a stored FINAL statement; STALE if the FINAL statements of the location changed since the calculation. */
type StoredBytes = { readonly bytes: Uint8Array<ArrayBuffer> } | 'STALE'

/** Store a FINAL statement with its event and its audit entry in one transaction. */
export const storeFinal = async (
  dependencies: FinaliseDependencies,
  request: FinaliseRequest,
  candidate: Candidate,
  draft: FinalDraft,
): Promise<Result<StoredBytes>> => {
  let bytes: Uint8Array<ArrayBuffer> | null = null
  let isStale = false
  const stored = await change(dependencies, statementFinalise, request, async transaction => {
    const saved = await store(transaction, candidate, draft, request.at)
    isStale = saved === null
    if (saved?.ok === true && saved.value.bytes !== undefined) bytes = new Uint8Array(saved.value.bytes)
    return saved ?? recordsPending
  })
  if (isStale) return accepted('STALE')
  if (!stored.ok) return stored
  if (bytes === null) throw new Error('A FINAL statement was stored without its answer.')
  return accepted({ bytes })
}

/**
 * Make a statement FINAL: its answer, its event and its audit entry are written in one transaction. It is calculated
 * again if another FINAL statement of the location was stored meanwhile, so that each adjustment is FINAL once.
 * A repeated request gets the same answer.
 * Source: docs/rules/statements.md #final-statements.
 */
export const finaliseStatement = (
  dependencies: FinaliseDependencies,
  request: FinaliseRequest,
): Promise<FinaliseAnswer> => finalise(dependencies, request, () => loadCandidate(dependencies, request))

const finalise = async (
  dependencies: FinaliseDependencies,
  request: FinaliseRequest,
  load: () => Promise<Candidate | null>,
): Promise<FinaliseAnswer> => {
  if (!isId('statement', request.id)) return noStatement
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const candidate = await load()
    if (candidate === null) return noStatement
    const { known } = candidate
    if (known.isFinal) return answerRepeat(dependencies, request, known)
    const isReady =
      attempt > 0 || (await dependencies.recordsAreStored(tenantOf(request), known.locationId, request.signal))
    if (!isReady) return recordsPending
    const draft = await calculateFinal(dependencies, request, candidate)
    if (!draft.ok) return draft
    const stored = await storeFinal(dependencies, request, candidate, draft.value)
    if (!stored.ok) return stored
    if (stored.value !== 'STALE') return { ok: true, serialized: { bytes: stored.value.bytes } }
  }
  return recordsPending
}

/** Make the statement of a location FINAL, also if it was never requested. */
export const finaliseRequested = (
  dependencies: FinaliseDependencies,
  request: FinaliseRequest,
  requested: RequestedDays,
): Promise<FinaliseAnswer> => {
  const load = () =>
    withTenant(dependencies.database, tenantOf(request), async transaction => {
      const terms = await loadBillingTerms(dependencies, transaction, requested.locationId)
      if (terms === null) return null
      const known = (await findStatement(transaction, requested.id, request.at)) ?? newCandidate(requested)
      return { known, terms, finals: await readFinals(transaction, requested.locationId) }
    })
  return finalise(dependencies, request, load)
}

/** Return a statement without a stored request as a candidate. */
export const newCandidate = (requested: RequestedDays): Candidate['known'] => ({
  ...requested,
  isFinal: false,
  hash: '',
})

/** Void a FINAL statement, or delete the request of a DRAFT. Source: docs/rules/statements.md #final-statements. */
export const voidStatement = (
  dependencies: FinaliseDependencies,
  request: RequestOf<typeof statementVoid>,
): Promise<Result<AnswerOf<typeof statementVoid>>> =>
  change(dependencies, statementVoid, request, async transaction => {
    const { id, at } = request
    const found = await findStatement(transaction, id, at)
    if (found === null) return noStatement
    const { locationId } = found
    await lockFinals(transaction, locationId)
    const final = await readFinalAnswer(transaction, id)
    const value = { message: 'Accepted' as const }
    if (final === null) {
      await deleteRequest(transaction, id)
      return accepted({ value, events: [] })
    }
    const finals = await readFinals(transaction, locationId)
    const adjusting = finals.find(({ lines }) => lines.some(({ statementId }) => statementId === id))
    if (adjusting !== undefined) {
      const message = `The FINAL statement ${adjusting.id} adjusts this statement. Void that statement first`
      return refused('statement_adjusted', message)
    }
    await voidFinal(transaction, id, at)
    const dates = { start_date: writeDate(found.startDay), end_date: writeDate(found.endDay) }
    return accepted({
      value,
      events: [{ type: 'statement.voided', objectId: id, text: final.summary }],
      audit: [{ action: 'statement.void', objectId: id, detail: { location_id: locationId, ...dates } }],
    })
  })
