import sql from 'sql-template-tag'
import type { Tenant } from '../../../domain/tenant.ts'
import { toTimestamp } from '../column.ts'
import { countRows, type Query, readFirst } from '../database.ts'
import { ownedBy } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'

/** Plan with locations that do not have all changes yet. `wakes` rises with every change. */
export type PlanTurn = Tenant & { readonly planId: string; readonly wakes: number; readonly isReported: boolean }

/** Make plans due at `at` (ms), in the transaction that changes them or their locations. */
export const wakePlans = async (
  { accountId, liveMode, query }: TenantTransaction,
  planIds: readonly string[],
  at: number,
): Promise<void> => {
  if (planIds.length === 0) return
  await query(sql`
    insert into plan_turns as turn (account_id, live_mode, plan_id, due_at)
    select ${accountId}, ${liveMode}, id, ${toTimestamp(at)} from unnest(${planIds}::text[]) as n(id) order by id
    on conflict (account_id, live_mode, plan_id) do update set
      due_at = least(turn.due_at, excluded.due_at), wakes = turn.wakes + 1, is_reported = false`)
}

/**
 * Make the plans of a location due, so that their tariffs and charges there are compared again: its time zone changed.
 */
export const wakePlansOfLocation = async (
  transaction: TenantTransaction,
  locationId: string,
  at: number,
): Promise<void> => {
  const { rows } = await transaction.query<{ planId: string }>(sql`
    update plan_assignments set applied_revision = 0
    where ${ownedBy(transaction)} and location_id = ${locationId} and deleted_at is null
    returning plan_id as "planId"`)
  await wakePlans(transaction, [...new Set(rows.map(({ planId }) => planId))], at)
}

/**
 * Return the next due plan at `at` (ms): of the account after `accountId` in the order of ids, so that accounts take
 * turns; of an account the plan that has waited longest. Null if no plan is due.
 */
export const nextPlanTurn = async (operator: Query, accountId: string, at: number): Promise<PlanTurn | null> => {
  const first = (after: string) =>
    readFirst(operator)<PlanTurn>(sql`
      select account_id as "accountId", live_mode as "liveMode", plan_id as "planId", wakes, is_reported as "isReported"
      from plan_turns where account_id > ${after} and due_at <= ${toTimestamp(at)}
      order by account_id, due_at limit 1`)
  return (await first(accountId)) ?? (await first(''))
}

const isStale = ({ accountId, liveMode, planId }: PlanTurn) => sql`
  a.account_id = ${accountId} and a.live_mode = ${liveMode} and a.plan_id = ${planId} and a.deleted_at is null
  and a.applied_revision <> (select revision from plans p
    where p.account_id = ${accountId} and p.live_mode = ${liveMode} and p.id = ${planId})`

/** Return the first locations of a plan, ascending, that have an earlier revision and no refusal until `at` (ms). */
export const staleLocations = async (
  query: Query,
  turn: PlanTurn,
  at: number,
  limit: number,
): Promise<readonly string[]> => {
  const { rows } = await query<{ id: string }>(sql`
    select distinct a.location_id as id from plan_assignments a
    where ${isStale(turn)} and (a.retry_at is null or a.retry_at <= ${toTimestamp(at)})
    order by a.location_id limit ${limit}`)
  return rows.map(({ id }) => id)
}

/** Move a plan after the other plans of its account, at `at` (ms). */
export const delayPlan = async (query: Query, turn: PlanTurn, at: number): Promise<void> => {
  await query(sql`
    update plan_turns set due_at = ${toTimestamp(at)}
    where ${ownedBy(turn)} and plan_id = ${turn.planId} and wakes = ${turn.wakes}`)
}

/**
 * End the turns of a plan without a location that can be changed now. With refused locations the plan is due again at
 * their next attempt. Returns true if the end must be reported: no change came in between, and all locations are done or
 * the refusals were not reported yet.
 */
export const endPlanTurns = async (query: Query, turn: PlanTurn): Promise<boolean> => {
  const unmoved = sql`${ownedBy(turn)} and plan_id = ${turn.planId} and wakes = ${turn.wakes}`
  const ended = await countRows(query)(sql`
    delete from plan_turns where ${unmoved} and not exists (select from plan_assignments a where ${isStale(turn)})`)
  if (ended > 0) return true
  const delayed = await countRows(query)(sql`
    update plan_turns set is_reported = true, due_at = greatest(due_at,
      (select min(a.retry_at) from plan_assignments a where ${isStale(turn)} and a.retry_at is not null))
    where ${unmoved} and not exists (
      select from plan_assignments a where ${isStale(turn)} and a.retry_at is null)`)
  return delayed > 0 && !turn.isReported
}
