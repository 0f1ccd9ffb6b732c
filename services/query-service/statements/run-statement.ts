import type { Operation, RequestOf } from '../../contract/operation.ts'
import { readShape } from '../../contract/read-shape.ts'
import type { StatementView } from '../../contract/statements/statement.ts'
import { readStatementRequest, statementInput } from '../../contract/statements/statement-request.ts'
import { accepted, type Result } from '../../domain/refusal.ts'
import type { FinalStatement, LineSum } from '../../domain/statement/adjustments.ts'
import { Failure } from '../../platform/failure.ts'
import { type CurrentLines, type StoredFinal, saveCurrentLines } from '../../platform/postgres/statements/statements.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import type { WorkThread } from '../../platform/work-thread/work-thread.ts'
import { tenantOf } from '../change.ts'
import { discardWork, runWork, type StartedWork } from '../work-thread/run-work.ts'
import type { StatementFacts, StatementHead, StatementInput } from '../work-thread/statement-work.ts'
import { type BillingTerms, type StatementPlan, type StatementStores, withSources } from './gather-statement.ts'
import { readBases } from './statement-basis.ts'

export type StatementDependencies = StatementStores & {
  /** Thread that runs the work of large requests. */
  readonly thread: Pick<WorkThread, 'begin'>
}

export type StatementCaller = Pick<RequestOf<Operation>, 'caller' | 'signal' | 'at'>

/** Maximum size of records in bytes that the request thread calculates, which takes some ms. */
const maxInlineBytes = 65_536
/** Maximum number of days × charges that the request thread calculates. */
const maxInlineDays = 400

/** Calculated statement with the bytes of its answer. The bytes must be read or discarded. */
export type CalculatedStatement = { readonly facts: StatementFacts; readonly work: StartedWork }

export const viewOf = (
  { caller }: StatementCaller,
  { terms, request }: StatementPlan,
  status: StatementView['status'],
) => ({
  liveMode: caller.liveMode,
  accountId: caller.accountId,
  locationId: terms.location.id,
  timezone: terms.location.timezone,
  currencyCode: terms.location.currencyCode,
  startDay: request.startDay,
  endDay: request.endDay,
  rounding: {
    profile: request.rounding.profile,
    decimals: request.rounding.decimals ?? decimalsOf(terms.location.currencyCode),
  },
  status,
})

/** Return the usual decimals of a currency. */
export const decimalsOf = (currencyCode: string): number =>
  new Intl.NumberFormat('en', { style: 'currency', currency: currencyCode }).resolvedOptions().maximumFractionDigits ??
  2

const isSmall = ({ charges, periods }: Pick<StatementInput, 'charges' | 'periods'>, bytes: number): boolean => {
  const days = periods.reduce((sum, { startDay, endDay }) => sum + endDay - startDay, 0)
  return bytes <= maxInlineBytes && days * (charges.length + 1) <= maxInlineDays
}

export const changing = (): Failure =>
  new Failure('costs_changing', 'The stored costs changed during the read. Repeat the request.', { retriable: true })

/**
 * Calculate a statement. Refuses what `calculateStatement` refuses, too many records, and `unavailable` if too much
 * work of the account waits. Throws `Failure` if a store is unavailable.
 */
export const calculateStatement = (
  dependencies: StatementDependencies,
  request: StatementCaller,
  plan: StatementPlan,
  { status, output }: Pick<StatementView, 'status'> & Pick<StatementInput, 'output'>,
): Promise<Result<CalculatedStatement>> =>
  withSources(dependencies, tenantOf(request), plan, request.signal, async ({ bytes, ...sources }) => {
    const work = await runWork(dependencies.thread, {
      name: 'statement',
      input: { ...sources, view: viewOf(request, plan, status), output },
      isSmall: isSmall(sources, bytes),
      bytes,
      account: request.caller.accountId,
      signal: request.signal,
    })
    if (!work.ok) return work
    const head = work.value.head as StatementHead
    if (head.state === 'CALCULATED') return accepted({ facts: head.facts, work: work.value })
    await discardWork(work.value)
    if (head.state === 'CHANGING') throw changing()
    return { ok: false, refusal: head.refusal }
  })

/** Read the request of a stored statement. */
export const readStoredRequest = (text: string) => {
  const body = readShape(statementInput, JSON.parse(text), 'body')
  const read = body.ok ? readStatementRequest(body.value) : body
  if (!read.ok) throw new TypeError(`A stored request of a statement is invalid: ${read.refusal.message}`)
  return read.value
}

const adjustmentsOf = (lines: readonly LineSum[], statementId: string): readonly LineSum[] =>
  lines.filter(line => line.statementId === statementId)

/** Calculate the lines of a FINAL statement from the present rows, charges and tariffs. */
const calculateLines = async (
  dependencies: StatementDependencies,
  request: StatementCaller,
  terms: BillingTerms,
  { request: text }: StoredFinal,
): Promise<Result<readonly LineSum[]>> => {
  const plan = { terms, ...readStoredRequest(text), finals: [], at: request.at }
  const now = await calculateStatement(dependencies, request, plan, { status: 'DRAFT', output: 'LINES' })
  if (!now.ok) return now
  await discardWork(now.value.work)
  return accepted(now.value.facts.lines)
}

/**
 * Return the FINAL statements that end at or before a day with their lines of now, so that a draft from this day can
 * adjust them. A statement is calculated again only if something that decides its lines has changed. `finals`: all FINAL
 * statements of the location.
 */
export const comparedFinals = async (
  dependencies: StatementDependencies,
  request: StatementCaller,
  terms: BillingTerms,
  finals: readonly StoredFinal[],
  startDay: number,
): Promise<Result<readonly FinalStatement[]>> => {
  const earlier = finals.filter(({ endDay }) => endDay <= startDay)
  if (earlier.length === 0) return accepted([])
  const tenant = tenantOf(request)
  const bases = await readBases(dependencies, tenant, terms, earlier)
  const compared: FinalStatement[] = []
  const calculated = new Map<string, CurrentLines>()
  for (const final of earlier) {
    const { id: statementId, lines, current: known } = final
    const basis = bases.get(statementId)
    const isKnown = basis !== undefined && known?.basis === basis
    const current = isKnown ? accepted(known.lines) : await calculateLines(dependencies, request, terms, final)
    if (!current.ok) return current
    if (basis !== undefined && !isKnown) calculated.set(statementId, { basis, lines: current.value })
    const adjusted = finals.flatMap(one => adjustmentsOf(one.lines, statementId))
    compared.push({ statementId, final: lines, current: current.value, adjusted })
  }
  if (calculated.size > 0)
    await withTenant(dependencies.database, tenant, transaction => saveCurrentLines(transaction, calculated))
  return accepted(compared)
}
