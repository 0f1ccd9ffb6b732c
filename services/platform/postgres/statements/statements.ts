import sql from 'sql-template-tag'
import type { DayRange } from '../../../domain/charge/charge-days.ts'
import { parseDate, writeDate } from '../../../domain/civil-date.ts'
import type { LineSum } from '../../../domain/statement/adjustments.ts'
import { toTimestamp } from '../column.ts'
import { countRows, type Query, readFirst, readRows } from '../database.ts'
import { ownedBy } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'

/** Request of a statement with its last answer. `request` is JSON. `isFinal`: the answer is stored and does not change. */
export type StoredStatement = DayRange & {
  readonly id: string
  readonly locationId: string
  readonly request: string
  readonly revision: number
  readonly hash: string
  readonly requestedAt: number
  readonly createdAt: number
  readonly isFinal: boolean
}

/** Lines of a FINAL statement as they were calculated last. `basis`: hash of all that decided them. */
export type CurrentLines = { readonly basis: string; readonly lines: readonly LineSum[] }

/** FINAL statement with the lines that adjustments compare. `current`: null if it was not calculated again. */
export type StoredFinal = DayRange &
  Pick<StoredStatement, 'id' | 'request'> & {
    readonly lines: readonly LineSum[]
    readonly current: CurrentLines | null
  }

/** Time in ms for which a request is stored after it was last asked. */
export const statementRetentionMs = 90 * 86_400_000
/** Accuracy of `requestedAt` in ms: a request that is asked again earlier writes nothing. */
const requestedAccuracyMs = 86_400_000

type StatementRow = Omit<StoredStatement, keyof DayRange> & { readonly startDate: string; readonly endDate: string }

const columns = sql`id, location_id as "locationId", request, revision, hash, requested_at as "requestedAt",
  time_created as "createdAt", finalised_at is not null as "isFinal", start_date::text as "startDate",
  end_date::text as "endDate"`

const fromRow = <Row extends Pick<StatementRow, 'startDate' | 'endDate'>>({ startDate, endDate, ...row }: Row) => ({
  ...row,
  startDay: parseDate(startDate) as number,
  endDay: parseDate(endDate) as number,
})

/** Return the condition of stored statements at `at` (ms): FINAL ones, and requests of the last 90 days. */
const isRetained = (at: number) =>
  sql`(finalised_at is not null or requested_at > ${toTimestamp(at - statementRetentionMs)})`

/** Find a stored statement at `at` (ms); null if there is none. */
export const findStatement = async (
  transaction: TenantTransaction,
  id: string,
  at: number,
): Promise<StoredStatement | null> => {
  const row = await readFirst(transaction.query)<StatementRow>(sql`
    select ${columns} from statements where ${ownedBy(transaction)} and id = ${id} and ${isRetained(at)}`)
  return row === null ? null : fromRow(row)
}

/** Answer of a FINAL statement, and its parts for events; null if the statement is not FINAL. */
export type FinalAnswer = { readonly answer: string; readonly summary: string; readonly draftHash: string }

/** Read the stored answer of a FINAL statement; null if the statement is not FINAL. */
export const readFinalAnswer = (transaction: TenantTransaction, id: string): Promise<FinalAnswer | null> =>
  readFirst(transaction.query)(sql`
    select answer, summary, draft_hash as "draftHash" from statements
    where ${ownedBy(transaction)} and id = ${id} and finalised_at is not null`)

type LineRow = Omit<LineSum, 'amountRounded'> & { readonly amountRounded: string }

/** Read the stored sums of the lines of a FINAL statement. */
export const linesFromText = (text: string): readonly LineSum[] =>
  (JSON.parse(text) as readonly LineRow[]).map(line => ({ ...line, amountRounded: BigInt(line.amountRounded) }))

const linesToText = (lines: readonly LineSum[]): string =>
  JSON.stringify(lines.map(line => ({ ...line, amountRounded: String(line.amountRounded) })))

/** Read all FINAL statements of a location, by start. They do not overlap. */
export const readFinals = async (
  transaction: TenantTransaction,
  locationId: string,
): Promise<readonly StoredFinal[]> => {
  const rows = await readRows(transaction.query)<
    Pick<StatementRow, 'id' | 'request' | 'startDate' | 'endDate'> & {
      readonly lines: string
      readonly basis: string | null
      readonly currentLines: string | null
    }
  >(sql`
    select id, request, start_date::text as "startDate", end_date::text as "endDate", lines,
      current_basis as basis, current_lines as "currentLines"
    from statements
    where ${ownedBy(transaction)} and location_id = ${locationId} and finalised_at is not null order by start_date`)
  return rows.map(({ basis, currentLines, ...row }) => ({
    ...fromRow(row),
    lines: linesFromText(row.lines),
    current: basis === null || currentLines === null ? null : { basis, lines: linesFromText(currentLines) },
  }))
}

/** Store the lines of FINAL statements as they were calculated last. */
export const saveCurrentLines = async (
  transaction: TenantTransaction,
  currents: ReadonlyMap<string, CurrentLines>,
): Promise<void> => {
  for (const [id, { basis, lines }] of currents)
    await transaction.query(sql`
      update statements set current_basis = ${basis}, current_lines = ${linesToText(lines)}
      where ${ownedBy(transaction)} and id = ${id} and finalised_at is not null`)
}

/** Answer of a request as it is recorded. */
export type AnsweredStatement = DayRange &
  Pick<StoredStatement, 'id' | 'locationId' | 'request'> & { readonly hash: string; readonly at: number }

/** Return whether an answer must be recorded: it is new, or the last record is old. */
export const mustRecord = (known: StoredStatement | null, { hash, at }: Pick<AnsweredStatement, 'hash' | 'at'>) =>
  known === null || known.hash !== hash || known.requestedAt + requestedAccuracyMs < at

/** Revision of an answer, and the time of the first request in ms. */
export type StatementRevision = Pick<StoredStatement, 'revision' | 'createdAt'>

/**
 * Record the answer of a request: its time, and a new revision if its hash differs from that of the last answer.
 * A request that had expired starts again. Null if the statement became FINAL.
 */
export const recordAnswer = async (
  transaction: TenantTransaction,
  { id, locationId, hash, ...common }: AnsweredStatement,
): Promise<StatementRevision | null> =>
  (await recordAnswers(transaction, common, [{ id, locationId, hash }])).get(id) ?? null

/** Record answers of one request at several locations, as `recordAnswer`. Statements that became FINAL are left out. */
export const recordAnswers = async (
  { accountId, liveMode, query }: TenantTransaction,
  { request, startDay, endDay, at }: Omit<AnsweredStatement, 'id' | 'locationId' | 'hash'>,
  answers: readonly Pick<AnsweredStatement, 'id' | 'locationId' | 'hash'>[],
): Promise<ReadonlyMap<string, StatementRevision>> => {
  const isExpired = sql`known.requested_at <= ${toTimestamp(at - statementRetentionMs)}`
  const rows = await readRows(query)<StatementRevision & { readonly id: string }>(sql`
    insert into statements as known (account_id, live_mode, id, location_id, request, start_date, end_date, revision,
      hash, requested_at, time_created)
    select ${accountId}, ${liveMode}::boolean, id, location_id, ${request}, ${writeDate(startDay)}::date,
      ${writeDate(endDay)}::date, 1, hash, ${toTimestamp(at)}::timestamptz, ${toTimestamp(at)}::timestamptz
    from unnest(${answers.map(({ id }) => id)}::text[], ${answers.map(({ locationId }) => locationId)}::text[],
      ${answers.map(({ hash }) => hash)}::text[]) as answer (id, location_id, hash)
    order by id
    on conflict (account_id, live_mode, id) do update set
      revision = case when ${isExpired} then 1 when known.hash = excluded.hash then known.revision
        else known.revision + 1 end,
      time_created = case when ${isExpired} then excluded.time_created else known.time_created end,
      hash = excluded.hash, requested_at = greatest(known.requested_at, excluded.requested_at)
    where known.finalised_at is null
    returning id, revision, time_created as "createdAt"`)
  return new Map(rows.map(({ id, ...revision }) => [id, revision]))
}

/** Return which of some locations have a FINAL statement. */
export const locationsWithFinals = async (
  transaction: TenantTransaction,
  locationIds: readonly string[],
): Promise<ReadonlySet<string>> => {
  const rows = await readRows(transaction.query)<{ id: string }>(sql`
    select distinct location_id as id from statements
    where ${ownedBy(transaction)} and location_id = any(${locationIds}) and finalised_at is not null`)
  return new Set(rows.map(({ id }) => id))
}

/** Lock the FINAL statements of a location until the end of the transaction. */
export const lockFinals = async ({ query, accountId }: TenantTransaction, locationId: string): Promise<void> => {
  await query(sql`select pg_advisory_xact_lock(hashtextextended(${`statements of ${accountId} ${locationId}`}, 0))`)
}

/**
 * Keep the answer of a statement as FINAL. Call under `lockFinals`, after `recordAnswer` in the same transaction.
 * The constraint refuses a FINAL statement of the location with a common day.
 */
export const saveFinal = async (
  transaction: TenantTransaction,
  id: string,
  { answer, summary, draftHash, lines }: FinalAnswer & { readonly lines: readonly LineSum[] },
  at: number,
): Promise<void> => {
  await transaction.query(sql`
    update statements set finalised_at = ${toTimestamp(at)}, answer = ${answer}, summary = ${summary},
      draft_hash = ${draftHash}, lines = ${linesToText(lines)}
    where ${ownedBy(transaction)} and id = ${id}`)
}

/** Make a FINAL statement a request again, asked at `at` (ms). Call under `lockFinals`. */
export const voidFinal = async (transaction: TenantTransaction, id: string, at: number): Promise<void> => {
  await transaction.query(sql`
    update statements set finalised_at = null, answer = null, summary = null, draft_hash = null, lines = null,
      current_basis = null, current_lines = null, requested_at = ${toTimestamp(at)}
    where ${ownedBy(transaction)} and id = ${id}`)
}

/** Delete the request of a DRAFT. */
export const deleteRequest = async (transaction: TenantTransaction, id: string): Promise<void> => {
  await transaction.query(
    sql`delete from statements where ${ownedBy(transaction)} and id = ${id} and finalised_at is null`,
  )
}

/** Delete requests that were last asked 90 days before `at` (ms), up to `limit`. Returns their number. */
export const deleteExpiredStatements = (operator: Query, at: number, limit: number): Promise<number> =>
  countRows(operator)(sql`
    delete from statements where ctid = any(array(select ctid from statements
    where requested_at <= ${toTimestamp(at - statementRetentionMs)} and finalised_at is null limit ${limit}))`)
