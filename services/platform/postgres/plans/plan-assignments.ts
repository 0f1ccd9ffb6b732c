import sql, { raw } from 'sql-template-tag'
import type { AssignmentDraft, StoredAssignment } from '../../../domain/plan/assignment.ts'
import type { RefusalCode, Result } from '../../../domain/refusal.ts'
import { newId } from '../../ids/new-id.ts'
import { toTimestamp } from '../column.ts'
import { readFirst } from '../database.ts'
import { allOf, isActive, mapPage, matching, ownedBy, type Page, type Paging, readPage } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'

type Row = Omit<StoredAssignment, 'refusal'> & {
  readonly refusalCode: RefusalCode | null
  readonly refusalMessage: string | null
}

const columns = sql`
  id, account_id as "accountId", live_mode as "liveMode", plan_id as "planId", location_id as "locationId",
  start_day as "startDay", end_day as "endDay", refusal_code as "refusalCode", refusal_message as "refusalMessage",
  applied_revision = (select p.revision from plans p
    where p.account_id = plan_assignments.account_id and p.live_mode = plan_assignments.live_mode
      and p.id = plan_assignments.plan_id) as "isApplied",
  time_created as "createdAt"`

const fromRow = ({ refusalCode: code, refusalMessage: message, ...row }: Row): StoredAssignment => ({
  ...row,
  refusal: code === null || message === null ? null : { code, message },
})

/** Create the id of an assignment at `at` (ms). */
export const newAssignmentId = (at: number): string => newId('planAssignment', at)

/** Store assignments that are not applied yet. The constraint refuses overlapping ones. */
export const createAssignments = async (
  transaction: TenantTransaction,
  planId: string,
  drafts: readonly AssignmentDraft[],
  at: number,
): Promise<void> => {
  const { accountId, liveMode, query } = transaction
  if (drafts.length === 0) return
  await query(sql`
    insert into plan_assignments (account_id, live_mode, id, plan_id, location_id, start_day, end_day, applied_revision,
      time_created)
    select ${accountId}, ${liveMode}, n.id, ${planId}, n.location_id, n.start_day, n.end_day, 0, ${toTimestamp(at)}
    from unnest(${drafts.map(({ id }) => id)}::text[], ${drafts.map(({ locationId }) => locationId)}::text[],
      ${drafts.map(({ startDay }) => startDay)}::integer[], ${drafts.map(({ endDay }) => endDay)}::integer[])
      as n(id, location_id, start_day, end_day)`)
}

/** Retrieve an assignment of a plan; null if there is none or it was deleted. */
export const retrieveAssignment = async (
  transaction: TenantTransaction,
  planId: string,
  id: string,
): Promise<StoredAssignment | null> => {
  const row = await readFirst(transaction.query)<Row>(sql`
    select ${columns} from plan_assignments
    where ${ownedBy(transaction)} and plan_id = ${planId} and id = ${id} and ${isActive}`)
  return row === null ? null : fromRow(row)
}

/** Read assignments by their ids, in the order of the ids. */
export const readAssignments = async (
  transaction: TenantTransaction,
  ids: readonly string[],
): Promise<readonly StoredAssignment[]> => {
  const { rows } = await transaction.query<Row>(sql`
    select ${columns} from plan_assignments where ${ownedBy(transaction)} and id = any(${ids}) order by id`)
  return rows.map(fromRow)
}

/** List the assignments of a plan, newest first; of one location if it is given. Refuses `cursor_not_found`. */
export const listAssignments = async (
  transaction: TenantTransaction,
  planId: string,
  locationId: string | null,
  paging: Paging,
): Promise<Result<Page<StoredAssignment>>> => {
  const scope = sql`${ownedBy(transaction)} and plan_id = ${planId}`
  const filter = allOf(isActive, matching('location_id', locationId))
  const page = await readPage<Row>(transaction.query, { table: 'plan_assignments', columns, scope, filter }, paging)
  return mapPage(page, fromRow)
}

/** Change the end of an assignment, which is not applied then. The caller has locked its location. */
export const moveAssignmentEnd = async (
  transaction: TenantTransaction,
  id: string,
  endDay: number | null,
): Promise<void> => {
  await transaction.query(sql`
    update plan_assignments set end_day = ${endDay}, applied_revision = 0
    where ${ownedBy(transaction)} and id = ${id} and ${isActive}`)
}

/** Delete an assignment at `at` (ms). The caller has locked its location. */
export const deleteAssignment = async (transaction: TenantTransaction, id: string, at: number): Promise<void> => {
  await transaction.query(sql`
    update plan_assignments set deleted_at = ${toTimestamp(at)}
    where ${ownedBy(transaction)} and id = ${id} and ${isActive}`)
}

/** Count the assignments of a plan. */
export const countAssignments = async (transaction: TenantTransaction, planId: string): Promise<number> => {
  const { rows } = await transaction.query<{ count: number }>(sql`
    select count(*) as count from plan_assignments
    where ${ownedBy(transaction)} and plan_id = ${planId} and ${isActive}`)
  return rows[0]?.count ?? 0
}

/** Page of the locations of a plan, ascending, after a location. */
type LocationPage = {
  readonly after: string
  readonly limit: number
  /**
   * Only locations with a tariff that is not of the plan, or with more charges than this number. Null: all locations.
   */
  readonly minCharges: number | null
}

/** Return a page of the locations of a plan. */
export const locationsOfPlan = async (
  transaction: TenantTransaction,
  planId: string,
  { after, limit, minCharges }: LocationPage,
): Promise<readonly string[]> => {
  const { accountId, liveMode, query } = transaction
  const isAt = (table: string) => sql`
    ${raw(table)}.account_id = ${accountId} and ${raw(table)}.live_mode = ${liveMode}
      and ${raw(table)}.location_id = a.location_id`
  const hasOthers = sql`(
    exists (select from tariffs t where ${isAt('t')} and t.closed_at is null and t.voided_at is null
      and t.plan_id is distinct from ${planId})
    or (select count(*) from charges c where ${isAt('c')} and c.deleted_at is null) > ${minCharges ?? 0})`
  const { rows } = await query<{ id: string }>(sql`
    select distinct a.location_id as id from plan_assignments a
    where a.account_id = ${accountId} and a.live_mode = ${liveMode} and a.plan_id = ${planId} and a.deleted_at is null
      and a.location_id > ${after} and ${minCharges === null ? sql`true` : hasOthers}
    order by a.location_id limit ${limit}`)
  return rows.map(({ id }) => id)
}
