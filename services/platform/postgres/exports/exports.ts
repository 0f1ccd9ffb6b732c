import sql from 'sql-template-tag'
import { type Refusal, type Result, refused } from '../../../domain/refusal.ts'
import type { OwnedObject } from '../../../domain/tenant.ts'
import { toTimestamp } from '../column.ts'
import { countRows, type Query, readFirst, readInserted, readRows } from '../database.ts'
import { type ClaimedJob, changeJob, claimJob, extendJob, type JobKind } from '../jobs.ts'
import { mapPage, ownedBy, type Page, type Paging, readPage } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'

/** Stored export. `request` and `manifest` are JSON. `claim`: part of the name of its file. */
export type StoredExport = OwnedObject & {
  readonly request: string
  readonly actor: string
  readonly status: 'PENDING' | 'RUNNING' | 'DONE' | 'FAILED'
  readonly claim: string | null
  readonly bytes: number
  readonly manifest: string | null
  readonly refusal: Refusal | null
  readonly finishedAt: number | null
}

/** Limits of the exports of an account, in both modes together. */
export type ExportLimits = { readonly unfinished: number; readonly bytes: number; readonly retentionMs: number }

type ExportRow = Omit<StoredExport, 'refusal' | 'bytes'> & { readonly refusal: string | null; readonly bytes: string }

const columns = sql`
  id, account_id as "accountId", live_mode as "liveMode", request::text as request, actor, status, claim, bytes::text,
  manifest::text as manifest, refusal::text as refusal, time_created as "createdAt", finished_at as "finishedAt"`

const fromRow = ({ refusal, bytes, ...row }: ExportRow): StoredExport => ({
  ...row,
  bytes: Number(bytes),
  refusal: refusal === null ? null : (JSON.parse(refusal) as Refusal),
})

const isKept = (at: number, { retentionMs }: Pick<ExportLimits, 'retentionMs'>) =>
  sql`(finished_at is null or finished_at > ${toTimestamp(at - retentionMs)})`

/** Store an export to write. Refuses `too_many_exports` above the limits of the mode. */
export const createExport = async (
  { query, ...tenant }: TenantTransaction,
  draft: Pick<StoredExport, 'id' | 'request' | 'actor'>,
  limits: ExportLimits,
  at: number,
): Promise<Result<StoredExport>> => {
  const { accountId, liveMode } = tenant
  const owned = ownedBy(tenant)
  await query(sql`select pg_advisory_xact_lock(hashtextextended(${`exports of ${accountId} ${liveMode}`}, 0))`)
  const used = await readInserted(query)<{ unfinished: number; bytes: number }>(sql`
    select count(*) filter (where finished_at is null)::float8 as unfinished, coalesce(sum(bytes), 0)::float8 as bytes
    from exports where ${owned} and ${isKept(at, limits)}`)
  if (used.unfinished >= limits.unfinished)
    return refused('too_many_exports', 'Two exports of the account run already. Wait until one ends, or delete one')
  if (used.bytes >= limits.bytes)
    return refused('too_many_exports', 'The files of the exports have 20 GiB. Delete an export that you have read')
  const row = await readInserted(query)<ExportRow>(sql`
    insert into exports (account_id, live_mode, id, request, actor, status, due_at, time_created)
    values (${accountId}, ${liveMode}, ${draft.id}, ${draft.request}, ${draft.actor}, 'PENDING', clock_timestamp(),
      ${toTimestamp(at)})
    returning ${columns}`)
  return { ok: true, value: fromRow(row) }
}

/** Find an export that is kept at `at` (ms); null if there is none. */
export const findExport = async (
  { query, ...tenant }: TenantTransaction,
  id: string,
  limits: Pick<ExportLimits, 'retentionMs'>,
  at: number,
): Promise<StoredExport | null> => {
  const row = await readFirst(query)<ExportRow>(sql`
    select ${columns} from exports where ${ownedBy(tenant)} and id = ${id} and ${isKept(at, limits)}`)
  return row === null ? null : fromRow(row)
}

/** List the exports that are kept at `at` (ms). */
export const listExports = async (
  { query, ...tenant }: TenantTransaction,
  limits: Pick<ExportLimits, 'retentionMs'>,
  at: number,
  paging: Paging,
): Promise<Result<Page<StoredExport>>> => {
  const listing = { table: 'exports', columns, scope: ownedBy(tenant), filter: isKept(at, limits) }
  return mapPage(await readPage<ExportRow>(query, listing, paging), fromRow)
}

/** Delete an export. Returns false if there is none. */
export const deleteExport = async ({ query, ...tenant }: TenantTransaction, id: string): Promise<boolean> =>
  (await countRows(query)(sql`delete from exports where ${ownedBy(tenant)} and id = ${id}`)) > 0

/** Export that a process has claimed. `usedBytes`: of other files. */
export type ClaimedExport = ClaimedJob & {
  readonly id: string
  readonly request: string
  readonly actor: string
  readonly usedBytes: number
}

/** Exports as jobs. A released export has no bytes. */
export const exportJobs: JobKind<ClaimedExport> = {
  table: 'exports',
  key: sql`account_id, live_mode, id`,
  keyOf: ({ accountId, liveMode, id }) => sql`${accountId}, ${liveMode}, ${id}`,
  isOpen: sql`finished_at is null`,
  columns: sql`id, request::text as request, actor,
    (select coalesce(sum(other.bytes), 0)::float8 from exports other
      where other.account_id = job.account_id and other.live_mode = job.live_mode and other.id <> job.id) as "usedBytes"`,
  onClaim: sql`, status = 'RUNNING', bytes = 0`,
  onRelease: sql`, status = 'PENDING', bytes = 0`,
}

/** Claim the export that waits longest for `durationMs`; null if none is due. */
export const claimExport = (operator: Query, durationMs: number): Promise<ClaimedExport | null> => {
  const next = sql`
    select ${exportJobs.key} from exports where ${exportJobs.isOpen} and due_at <= clock_timestamp() order by due_at`
  return claimJob(operator, exportJobs, next, durationMs)
}

/** Extend a claim by `durationMs` and store the bytes written so far. Returns false if the claim was lost. */
export const extendExport = (operator: Query, claimed: ClaimedExport, durationMs: number, bytes: number) =>
  extendJob(operator, exportJobs, claimed, durationMs, sql`, bytes = ${bytes}`)

/** Store the end of a claimed export at `at` (ms). Returns false if the claim was lost or the export deleted. */
export const finishExport = (
  operator: Query,
  claimed: ClaimedExport,
  end: { readonly manifest: string; readonly bytes: number } | { readonly refusal: Refusal },
  at: number,
): Promise<boolean> => {
  const isDone = 'manifest' in end
  const assignments = sql`status = ${isDone ? 'DONE' : 'FAILED'}, finished_at = ${toTimestamp(at)},
    manifest = ${isDone ? end.manifest : null}, bytes = ${isDone ? end.bytes : 0},
    refusal = ${isDone ? null : JSON.stringify(end.refusal)}`
  return changeJob(operator, exportJobs, claimed, assignments)
}

/** Return those of some claims whose export exists. */
export const knownClaims = async (operator: Query, claims: readonly string[]): Promise<ReadonlySet<string>> => {
  const rows = await readRows(operator)<{ claim: string }>(
    sql`select claim from exports where claim = any(${claims}::uuid[])`,
  )
  return new Set(rows.map(({ claim }) => claim))
}

/** Delete exports that ended `retentionMs` before `at` (ms), up to `limit`. Returns their number. */
export const deleteExpiredExports = (
  operator: Query,
  at: number,
  { retentionMs, limit }: { readonly retentionMs: number; readonly limit: number },
): Promise<number> =>
  countRows(operator)(sql`
    delete from exports where ctid = any(array(select ctid from exports
    where finished_at <= ${toTimestamp(at - retentionMs)} limit ${limit}))`)
