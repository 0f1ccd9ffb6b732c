import type { AnswerOf, Operation, Outcome, RequestOf } from '../../contract/operation.ts'
import { type StatementWire, statementCsvTexts } from '../../contract/statements/statement.ts'
import {
  statementCreate,
  statementFinalise,
  statementList,
  statementRetrieve,
  statementVoid,
} from '../../contract/statements/statement-operations.ts'
import { readStatementRequest, statementRequestText } from '../../contract/statements/statement-request.ts'
import { isId } from '../../domain/identifier.ts'
import { noObject } from '../../domain/no-object.ts'
import { type Result, refused } from '../../domain/refusal.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import { locationsOfSession } from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import {
  findStatement,
  mustRecord,
  readFinalAnswer,
  readFinals,
  recordAnswer,
  type StatementRevision,
  type StoredFinal,
  type StoredStatement,
} from '../../platform/postgres/statements/statements.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { tenantOf } from '../change.ts'
import { answerWork, discardWork } from '../work-thread/run-work.ts'
import { type FinaliseDependencies, finaliseStatement, noStatement, voidStatement } from './finalise-statement.ts'
import { type BillingTerms, loadBillingTerms, type StatementPlan } from './gather-statement.ts'
import { answerFinals } from './list-finals.ts'
import { type CalculatedStatement, calculateStatement, comparedFinals, readStoredRequest } from './run-statement.ts'
import { frameAnswer, statementId } from './statement-answer.ts'

export type StatementOperationDependencies = FinaliseDependencies & { readonly clickHouse: ClickHouse }

type StatementAnswer = Outcome<AnswerOf<typeof statementRetrieve>>
export type ReadRequest = Pick<RequestOf<Operation>, 'caller' | 'signal' | 'at' | 'wantsCsv' | 'apiVersion'>

/** Statement to answer: its terms, its stored state (null if it is new), and the FINAL statements of the location. */
type RequestedStatement = Pick<StatementPlan, 'request' | 'periods'> & {
  readonly id: string
  readonly terms: BillingTerms
  readonly known: StoredStatement | null
  readonly finals: readonly StoredFinal[]
}

/** Answer a FINAL statement as it was. */
const answerFinal = async (
  dependencies: FinaliseDependencies,
  request: ReadRequest,
  id: string,
): Promise<StatementAnswer> => {
  const final = await withTenant(dependencies.database, tenantOf(request), transaction =>
    readFinalAnswer(transaction, id),
  )
  if (final === null) return noStatement
  if (request.wantsCsv !== true) return { ok: true, serialized: { bytes: Buffer.from(final.answer) } }
  const work = {
    name: 'statementTable',
    input: { text: final.answer },
    isSmall: final.answer.length <= maxInlineLength,
  }
  const table = await answerWork(dependencies, request, { ...work, name: 'statementTable' })
  return table.ok ? { ...table, isTable: true } : table
}

/** Maximum length in characters of a stored answer that the request thread reads. */
const maxInlineLength = 65_536

/** Record the answer of a request if it is new. Null if the statement became FINAL. */
const recordIfNew = async (
  { database }: Pick<StatementOperationDependencies, 'database'>,
  request: ReadRequest,
  { id, terms, known, request: requested }: RequestedStatement,
  { facts: { hash } }: CalculatedStatement,
): Promise<StatementRevision | null> => {
  const { at } = request
  if (known !== null && !mustRecord(known, { hash, at })) return known
  const { startDay, endDay } = requested
  const answered = { id, hash, at, startDay, endDay, locationId: terms.location.id }
  return withTenant(database, tenantOf(request), transaction =>
    recordAnswer(transaction, { ...answered, request: statementRequestText(requested) }),
  )
}

/** Calculate a statement and answer it. */
const answerDraft = async (
  dependencies: FinaliseDependencies,
  request: ReadRequest,
  requested: RequestedStatement,
): Promise<StatementAnswer> => {
  const { id, terms, finals: stored } = requested
  const finals = await comparedFinals(dependencies, request, terms, stored, requested.request.startDay)
  if (!finals.ok) return finals
  const isTable = request.wantsCsv === true
  const plan = { ...requested, finals: finals.value, at: request.at }
  const output = isTable ? 'CSV' : 'JSON'
  const calculated = await calculateStatement(dependencies, request, plan, { status: 'DRAFT', output })
  if (!calculated.ok) return calculated
  const { facts, work } = calculated.value
  const revision = await recordIfNew(dependencies, request, requested, calculated.value).catch(async error => {
    await discardWork(work)
    throw error
  })
  if (revision === null) {
    await discardWork(work)
    return answerFinal(dependencies, request, id)
  }
  if (isTable) return { ok: true, serialized: work.answer, isTable }
  const identity = { id, hash: facts.hash, accountId: request.caller.accountId, ...revision }
  return { ok: true, serialized: frameAnswer(work, identity) }
}

/** Refuse an id that is not the id of a location. */
const refuseId = async (
  { clickHouse }: StatementOperationDependencies,
  request: RequestOf<typeof statementCreate>,
): Promise<Result<never>> => {
  const { id } = request
  const isOther = isId('device', id) || (await locationsOfSession(clickHouse, tenantOf(request), id)).length > 0
  return isOther
    ? refused('location_required', 'A statement needs the id of a location, not of a device or session')
    : noObject('location')
}

/** Calculate the statement of a location, record its request, and answer it. */
export const answerStatement = async (
  dependencies: FinaliseDependencies,
  request: ReadRequest,
  locationId: string,
  requested: Pick<StatementPlan, 'request' | 'periods'>,
): Promise<StatementAnswer> => {
  const tenant = tenantOf(request)
  const id = statementId(tenant, locationId, statementRequestText(requested.request))
  const found = await withTenant(dependencies.database, tenant, async transaction => {
    const terms = await loadBillingTerms(dependencies, transaction, locationId)
    if (terms === null) return null
    const known = await findStatement(transaction, id, request.at)
    return { terms, known, finals: await readFinals(transaction, locationId) }
  })
  if (found === null) return noObject('location')
  if (found.known?.isFinal === true) return answerFinal(dependencies, request, id)
  return answerDraft(dependencies, request, { ...found, ...requested, id })
}

const createStatement = async (
  dependencies: StatementOperationDependencies,
  request: RequestOf<typeof statementCreate>,
): Promise<StatementAnswer> => {
  const read = readStatementRequest(request.body)
  if (!read.ok) return read
  if (!isId('location', request.id)) return refuseId(dependencies, request)
  return answerStatement(dependencies, request, request.id, read.value)
}

const retrieveStatement = async (
  dependencies: StatementOperationDependencies,
  request: RequestOf<typeof statementRetrieve>,
): Promise<StatementAnswer> => {
  const { id, at } = request
  if (!isId('statement', id)) return noStatement
  const found = await withTenant(dependencies.database, tenantOf(request), async transaction => {
    const known = await findStatement(transaction, id, at)
    if (known === null) return null
    const terms = await loadBillingTerms(dependencies, transaction, known.locationId)
    return { known, terms, finals: await readFinals(transaction, known.locationId) }
  })
  if (found === null) return noStatement
  const { known, terms, finals } = found
  if (known.isFinal) return answerFinal(dependencies, request, id)
  if (terms === null) return noStatement
  return answerDraft(dependencies, request, { id, known, terms, finals, ...readStoredRequest(known.request) })
}

/** Bind the operations on statements. */
export const statementOperations = (dependencies: StatementOperationDependencies): readonly Binding[] => {
  const csv = (answer: StatementWire): string => [...statementCsvTexts(answer)].join('')
  return [
    bind(statementCreate, request => createStatement(dependencies, request), csv),
    bind(statementList, request => answerFinals(dependencies, request)),
    bind(statementRetrieve, request => retrieveStatement(dependencies, request), csv),
    bind(statementFinalise, request => finaliseStatement(dependencies, request)),
    bind(statementVoid, request => voidStatement(dependencies, request)),
  ]
}
