import sql from 'sql-template-tag'
import type { DayRange } from '../../../domain/charge/charge-days.ts'
import { noNamedObject } from '../../../domain/no-object.ts'
import { type Result, refused } from '../../../domain/refusal.ts'
import {
  type BatchFailure,
  batchPageSize,
  batchRetentionMs,
  maxBatchLocations,
  maxRunningBatches,
  type StoredBatch,
} from '../../../domain/statement/statement-batch.ts'
import { toTimestamp } from '../column.ts'
import { countRows, hasRow, type Query, readFirst, readRows } from '../database.ts'
import { type ClaimedJob, changeJob, claimJob, type JobKind } from '../jobs.ts'
import { isActive, ownedBy } from '../page.ts'
import type { Tenant, TenantTransaction } from '../transaction.ts'

/** Work of a batch. `request` is JSON, as of a statement. `actor`: id of the API key of the caller. */
export type BatchOrder = {
  readonly request: string
  readonly finalises: boolean
  readonly allowsGaps: boolean
  readonly actor: string
}

const columns = sql`id, account_id as "accountId", live_mode as "liveMode", status, total, done, failed,
  time_created as "createdAt", finished_at as "finishedAt"`

/** Return the condition of batches that are kept at `at` (ms). */
const isKept = (at: number) => sql`(finished_at is null or finished_at > ${toTimestamp(at - batchRetentionMs)})`

/** Locations of a batch: some by id, those of a customer or plan, or all. */
export type BatchSelection =
  | { readonly locationIds: readonly string[] }
  | { readonly customerId: string }
  | { readonly planId: string }
  | { readonly all: true }

/**
 * Find the locations of a selection, by id, `maxBatchLocations` + 1 at most. A plan
 * selects the locations with an assignment in `days`. A customer or an account selects no location that was deleted
 * before the first of the days.
 * Refuses `location_not_found`, `customer_not_found` and `plan_not_found`.
 */
export const locationsOfBatch = async (
  transaction: TenantTransaction,
  selection: BatchSelection,
  { startDay, endDay }: DayRange,
): Promise<Result<readonly string[]>> => {
  const { query } = transaction
  const owned = ownedBy(transaction)
  if ('locationIds' in selection) {
    const rows = await readRows(query)<{ id: string }>(sql`
      select id from locations where ${owned} and id = any(${selection.locationIds}) order by id`)
    const found = new Set(rows.map(({ id }) => id))
    const missing = selection.locationIds.findIndex(id => !found.has(id))
    return missing < 0 ? { ok: true, value: [...found] } : noNamedObject('location', `object_ids[${missing}]`)
  }
  if ('planId' in selection) {
    const { planId } = selection
    if (!(await hasRow(query)(sql`select 1 from plans where ${owned} and id = ${planId} and ${isActive}`)))
      return noNamedObject('plan', 'plan_id')
    const rows = await readRows(query)<{ id: string }>(sql`
      select distinct location_id as id from plan_assignments
      where ${owned} and plan_id = ${planId} and ${isActive} and start_day < ${endDay}
        and (end_day is null or end_day > ${startDay})
      order by id limit ${maxBatchLocations + 1}`)
    return { ok: true, value: rows.map(({ id }) => id) }
  }
  const customerId = 'customerId' in selection ? selection.customerId : null
  const isKnown =
    customerId === null ||
    (await hasRow(query)(sql`select 1 from customers where ${owned} and id = ${customerId} and ${isActive}`))
  if (!isKnown) return noNamedObject('customer', 'customer_id')
  // A local day starts up to 14 hours before the same day in UTC.
  const deletedAfter = toTimestamp((startDay - 1) * 86_400_000)
  const rows = await readRows(query)<{ id: string }>(sql`
    select id from locations
    where ${owned} and (${customerId}::text is null or customer_id = ${customerId})
      and (deleted_at is null or deleted_at > ${deletedAfter})
    order by id limit ${maxBatchLocations + 1}`)
  return { ok: true, value: rows.map(({ id }) => id) }
}

/**
 * Create a batch with its pages at `at` (ms). Concurrent requests of an account wait for each other.
 * Refuses `too_many_batches` if two batches run.
 */
export const createBatch = async (
  { query, ...tenant }: TenantTransaction,
  id: string,
  { request, finalises, allowsGaps, actor }: BatchOrder,
  locationIds: readonly string[],
  at: number,
): Promise<Result<StoredBatch>> => {
  const { accountId, liveMode } = tenant
  const now = toTimestamp(at)
  await query(sql`select pg_advisory_xact_lock(hashtextextended(${`batches of ${accountId} ${liveMode}`}, 0))`)
  const { rows: running } = await query<{ id: string }>(sql`
    select id from statement_batches where ${ownedBy(tenant)} and finished_at is null order by id`)
  if (running.length >= maxRunningBatches) {
    const names = running.map(one => one.id).join(' and ')
    const advice = 'Wait until one is DONE, or stop one with DELETE /statements/batch/{id}'
    return refused('too_many_batches', `The batches ${names} of the account run already. ${advice}`)
  }
  const isEmpty = locationIds.length === 0
  const batch = await readFirst(query)<StoredBatch>(sql`
    insert into statement_batches (account_id, live_mode, id, request, finalises, allows_gaps, actor, status, total,
      served_at, time_created, finished_at)
    values (${accountId}, ${liveMode}, ${id}, ${request}, ${finalises}, ${allowsGaps}, ${actor},
      ${isEmpty ? 'DONE' : 'RUNNING'}, ${locationIds.length}, clock_timestamp(), ${now}, ${isEmpty ? now : null})
    returning ${columns}`)
  await query(sql`
    insert into statement_batch_pages (account_id, live_mode, batch_id, first_index, location_ids, due_at)
    select ${accountId}, ${liveMode}::boolean, ${id}, min(n) - 1, array_agg(location_id order by n), clock_timestamp()
    from unnest(${locationIds}::text[]) with ordinality as location (location_id, n)
    group by (n - 1) / ${batchPageSize}::int`)
  return { ok: true, value: batch as StoredBatch }
}

/** Find a batch that is kept at `at` (ms); null if there is none. */
export const findBatch = (transaction: TenantTransaction, id: string, at: number): Promise<StoredBatch | null> =>
  readFirst(transaction.query)(sql`
    select ${columns} from statement_batches where ${ownedBy(transaction)} and id = ${id} and ${isKept(at)}`)

/** Read the first failures of a batch, by location. */
export const readFailures = async (
  transaction: TenantTransaction,
  id: string,
  limit: number,
): Promise<readonly BatchFailure[]> => {
  const rows = await readRows(transaction.query)<{ failures: string }>(sql`
    select failures from statement_batch_pages
    where ${ownedBy(transaction)} and batch_id = ${id} and finished_at is not null and failures::text <> '[]'
    order by first_index limit ${limit}`)
  return rows.flatMap(({ failures }) => JSON.parse(failures) as readonly BatchFailure[]).slice(0, limit)
}

/**
 * Stop a batch at `at` (ms) and delete its pages. A batch that has ended does not change. Returns false if there is
 * none.
 */
export const stopBatch = async (transaction: TenantTransaction, id: string, at: number): Promise<boolean> => {
  const { query } = transaction
  const owned = ownedBy(transaction)
  const stopped = await countRows(query)(sql`
    update statement_batches set status = 'STOPPED', finished_at = ${toTimestamp(at)}
    where ${owned} and id = ${id} and finished_at is null`)
  if (stopped > 0) await query(sql`delete from statement_batch_pages where ${owned} and batch_id = ${id}`)
  return stopped > 0 || (await findBatch(transaction, id, at)) !== null
}

/** Compressed statements of a page, and the index of the first location of the page. */
export type ExportPage = { readonly firstIndex: number; readonly answers: Buffer }

/** Read the first page of an export after an index; null if there is none. */
export const readExportPage = (transaction: TenantTransaction, id: string, after: number): Promise<ExportPage | null> =>
  readFirst(transaction.query)(sql`
    select first_index as "firstIndex", answers from statement_batch_pages
    where ${ownedBy(transaction)} and batch_id = ${id} and first_index > ${after} and finished_at is not null
    order by first_index limit 1`)

/** Page that a process has claimed. */
export type ClaimedPage = ClaimedJob &
  BatchOrder & {
    readonly batchId: string
    readonly firstIndex: number
    readonly locationIds: readonly string[]
  }

/** Pages of batches as jobs. Their batch has the other columns of a claimed page. */
export const pageJobs: JobKind<ClaimedPage> = {
  table: 'statement_batch_pages',
  key: sql`account_id, live_mode, batch_id, first_index`,
  keyOf: page => sql`${page.accountId}, ${page.liveMode}, ${page.batchId}, ${page.firstIndex}`,
  isOpen: sql`finished_at is null`,
  columns: sql`first_index as "firstIndex", location_ids as "locationIds"`,
}

/** Batches that a process may try in one claim. Other processes work on those whose pages are all claimed. */
const maxTriedBatches = 50

/**
 * Claim a page for `durationMs`: of the account that waits longest, then of its batch that waits longest. Null if no page
 * is due. `onlyFirst`: only pages without an earlier attempt.
 */
export const claimPage = async (
  operator: Query,
  durationMs: number,
  { onlyFirst }: { readonly onlyFirst: boolean } = { onlyFirst: false },
): Promise<ClaimedPage | null> => {
  const isDue = sql`finished_at is null and due_at <= clock_timestamp() and (attempts = 0 or not ${onlyFirst}::boolean)`
  const batches = await readRows(operator)<Tenant & BatchOrder & { readonly batchId: string }>(sql`
    select account_id as "accountId", live_mode as "liveMode", id as "batchId", request, finalises,
      allows_gaps as "allowsGaps", actor
    from statement_batches batch
    where finished_at is null and exists (
      select from statement_batch_pages page
      where page.batch_id = batch.id and page.account_id = batch.account_id and page.live_mode = batch.live_mode
        and ${isDue})
    order by max(served_at) over (partition by account_id), served_at limit ${maxTriedBatches}`)
  for (const batch of batches) {
    // The batch is locked before its pages, as in every other transaction.
    const served = sql`with served as (
      update statement_batches set served_at = clock_timestamp()
      where ${ownedBy(batch)} and id = ${batch.batchId} and finished_at is null returning id)`
    const next = sql`
      select ${pageJobs.key} from statement_batch_pages
      where ${ownedBy(batch)} and batch_id = (select id from served) and ${isDue} order by first_index`
    const page = await claimJob(operator, pageJobs, next, durationMs, served)
    if (page !== null) return { ...batch, ...page }
  }
  return null
}

/** Result of the first locations of a page: `processed` of them, of which `done` have a statement. */
export type PageResult = {
  readonly processed: number
  readonly done: number
  readonly failures: readonly BatchFailure[]
  readonly answers: Buffer
  readonly deviceIds: readonly string[]
  /** Attempts that count for the other locations of the page already. */
  readonly attempts: number
  /** Pause in ms before the other locations of the page are due. */
  readonly pauseMs: number
}

/**
 * Store the result of a page at `at` (ms), and the other locations as a new page; the last page ends the batch. Call in a
 * transaction. Returns false, and the transaction must be undone, if the claim has expired and another process has the
 * page, or if the batch was stopped.
 */
export const finishPage = async (
  operator: Query,
  page: ClaimedPage,
  { processed, done, failures, answers, deviceIds, attempts, pauseMs }: PageResult,
  at: number,
): Promise<boolean> => {
  const { batchId, firstIndex, locationIds } = page
  const owned = ownedBy(page)
  // The batch is locked before its pages, as in every other transaction.
  const counted = await countRows(operator)(sql`
    update statement_batches set done = done + ${done}, failed = failed + ${failures.length},
      status = case when done + failed + ${processed} = total then 'DONE' else status end,
      finished_at = case when done + failed + ${processed} = total then ${toTimestamp(at)}::timestamptz end
    where ${owned} and id = ${batchId} and finished_at is null`)
  if (counted === 0) return false
  const assignments = sql`finished_at = ${toTimestamp(at)}, claim = null,
    location_ids = ${locationIds.slice(0, processed)}, failures = ${JSON.stringify(failures)}, answers = ${answers},
    device_ids = ${deviceIds}`
  if (!(await changeJob(operator, pageJobs, page, assignments))) return false
  if (processed < locationIds.length) {
    await operator(sql`
      insert into statement_batch_pages (account_id, live_mode, batch_id, first_index, location_ids, attempts, due_at)
      values (${page.accountId}, ${page.liveMode}, ${batchId}, ${firstIndex + processed},
        ${locationIds.slice(processed)}, ${attempts}, clock_timestamp() + ${pauseMs} * interval '1 millisecond')`)
  }
  return true
}

/** Delete batches that ended 30 days before `at` (ms), up to `limit`. Returns their number. */
export const deleteExpiredBatches = (operator: Query, at: number, limit: number): Promise<number> =>
  countRows(operator)(sql`
    delete from statement_batches where ctid = any(array(select ctid from statement_batches
    where finished_at <= ${toTimestamp(at - batchRetentionMs)} limit ${limit}))`)
