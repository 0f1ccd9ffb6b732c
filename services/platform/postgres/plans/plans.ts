import sql, { raw } from 'sql-template-tag'
import { noObject } from '../../../domain/no-object.ts'
import {
  type PlanFailure,
  type PlanPrices,
  type PlanProgress,
  planLimits,
  type StoredPlan,
  type StoredPlanVersion,
} from '../../../domain/plan/plan.ts'
import { accepted, type Result, refused } from '../../../domain/refusal.ts'
import { newId } from '../../ids/new-id.ts'
import { toTimestamp } from '../column.ts'
import { hasRow, readFirst, readRows } from '../database.ts'
import { isActive, ownedBy, type Page, type Paging, readPage } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'
import { readPlanPrices, refuseSize, writePlanCharges, writePlanTariffs } from './plan-prices.ts'

/** Plan with its progress and its versions, ascending by their first day. */
export type PlanWithVersions<Version = StoredPlanVersion> = StoredPlan &
  PlanProgress & { readonly versions: readonly Version[] }

const notFound = noObject('plan')
const noVersion = refused('not_found', 'The plan has no version of this number.')

const planColumns = sql`
  id, account_id as "accountId", live_mode as "liveMode", name, currency_code as "currencyCode", revision,
  last_version as "lastVersion", time_created as "createdAt"`

const versionColumns = sql`plan_id as "planId", version, start_day as "startDay", time_created as "createdAt"`

/**
 * Create a plan with its first version at `at` (ms). Refuses `device_not_found`, and `too_many_versions` for too large
 * prices.
 */
export const createPlan = async (
  transaction: TenantTransaction,
  { name, currencyCode }: Pick<StoredPlan, 'name' | 'currencyCode'>,
  prices: PlanPrices,
  at: number,
): Promise<Result<StoredPlan>> => {
  const { accountId, liveMode, query } = transaction
  const id = newId('plan', at)
  await query(sql`
    insert into plans (account_id, live_mode, id, name, currency_code, time_created)
    values (${accountId}, ${liveMode}, ${id}, ${name}, ${currencyCode}, ${toTimestamp(at)})`)
  const plan = { id, accountId, liveMode, name, currencyCode, revision: 1, lastVersion: 1, createdAt: at }
  const refusal = await writeVersion(transaction, plan, { version: 1, startDay: null }, prices, at)
  return refusal ?? accepted(plan)
}

/** Retrieve a plan; null if there is none or it was deleted. */
export const retrievePlan = (transaction: TenantTransaction, id: string): Promise<StoredPlan | null> =>
  readFirst(transaction.query)(sql`
    select ${planColumns} from plans where ${ownedBy(transaction)} and id = ${id} and ${isActive}`)

/**
 * Retrieve a plan and lock it until the transaction ends: for `update` of its versions, or for `share`, so that its
 * versions stay. Lock a plan before its locations.
 */
export const lockPlan = async (
  transaction: TenantTransaction,
  id: string,
  how: 'share' | 'update',
): Promise<StoredPlan | null> => {
  // A separate statement, because a statement that waits for a lock reads data from before the wait.
  await transaction.query(sql`select 1 from plans where ${ownedBy(transaction)} and id = ${id} for ${raw(how)}`)
  return retrievePlan(transaction, id)
}

/** Change the name of a plan. Refuses `not_found`. */
export const renamePlan = async (
  transaction: TenantTransaction,
  id: string,
  name: string,
): Promise<Result<StoredPlan>> => {
  const plan = await readFirst(transaction.query)<StoredPlan>(sql`
    update plans set name = ${name} where ${ownedBy(transaction)} and id = ${id} and ${isActive}
    returning ${planColumns}`)
  return plan === null ? notFound : accepted(plan)
}

/** Delete a plan. Returns its last state. Refuses `not_found`, and `plan_in_use` with assignments. */
export const deletePlan = async (
  transaction: TenantTransaction,
  id: string,
  at: number,
): Promise<Result<PlanWithVersions>> => {
  const plan = await lockPlan(transaction, id, 'update')
  if (plan === null) return notFound
  const owned = ownedBy(transaction)
  const isAssigned = await hasRow(transaction.query)(sql`
    select 1 from plan_assignments where ${owned} and plan_id = ${id} and ${isActive} limit 1`)
  if (isAssigned)
    return refused(
      'plan_in_use',
      'The plan has assignments. Delete them first, or set their end_date and keep the plan.',
    )
  const [last] = await withVersions(transaction, [plan])
  await transaction.query(sql`update plans set deleted_at = ${toTimestamp(at)} where ${owned} and id = ${id}`)
  await transaction.query(sql`delete from plan_turns where ${owned} and plan_id = ${id}`)
  return last === undefined ? notFound : accepted(last)
}

const maxListedFailures = 100

/** Read the progress of plans. A location with two assignments counts once. */
const readProgress = async (
  transaction: TenantTransaction,
  planIds: readonly string[],
): Promise<(plan: StoredPlan) => PlanProgress> => {
  const owned = sql`a.account_id = ${transaction.accountId} and a.live_mode = ${transaction.liveMode}`
  const { rows: counts } = await transaction.query<{ planId: string; sites: number; pending: number }>(sql`
    select plan_id as "planId", count(*) as sites, count(*) filter (where is_pending) as pending
    from (
      select a.plan_id, a.location_id, bool_or(a.applied_revision <> p.revision) as is_pending
      from plan_assignments a join plans p on p.account_id = a.account_id and p.live_mode = a.live_mode
        and p.id = a.plan_id
      where ${owned} and a.plan_id = any(${planIds}) and a.deleted_at is null group by a.plan_id, a.location_id
    ) as site group by plan_id`)
  const countOf = new Map(counts.map(one => [one.planId, one]))
  const { rows: failures } = await transaction.query<PlanFailure & { readonly planId: string }>(sql`
    select f.* from unnest(${planIds}::text[]) as p(id), lateral (
      select distinct on (a.location_id) a.plan_id as "planId", a.location_id as "locationId", a.refusal_code as code,
        a.refusal_message as message
      from plan_assignments a
      where ${owned} and a.plan_id = p.id and a.deleted_at is null and a.refusal_code is not null
      order by a.location_id limit ${maxListedFailures}) as f`)
  const failuresOf = Map.groupBy(failures, ({ planId }) => planId)
  return ({ id }) => {
    const { sites, pending } = countOf.get(id) ?? { sites: 0, pending: 0 }
    const failed = (failuresOf.get(id) ?? []).map(({ locationId, code, message }) => ({ locationId, code, message }))
    return { sites, applied: sites - pending, failed }
  }
}

/** List the versions of plans without their prices, ascending by their first day. */
export const versionsOfPlans = (
  transaction: TenantTransaction,
  planIds: readonly string[],
): Promise<readonly StoredPlanVersion[]> =>
  readRows(transaction.query)(sql`
    select ${versionColumns} from plan_versions where ${ownedBy(transaction)} and plan_id = any(${planIds})
    order by start_day nulls first`)

/** Add progress and versions to plans. */
export const withVersions = async (
  transaction: TenantTransaction,
  plans: readonly StoredPlan[],
): Promise<readonly PlanWithVersions[]> => {
  const planIds = plans.map(({ id }) => id)
  const progressOf = await readProgress(transaction, planIds)
  const versionsOf = Map.groupBy(await versionsOfPlans(transaction, planIds), ({ planId }) => planId)
  return plans.map(plan => ({ ...plan, ...progressOf(plan), versions: versionsOf.get(plan.id) ?? [] }))
}

/** Add progress and versions with their prices to a plan. */
export const withPrices = async (
  transaction: TenantTransaction,
  plan: StoredPlan,
): Promise<PlanWithVersions<StoredPlanVersion & PlanPrices>> => {
  const [shown] = await withVersions(transaction, [plan])
  const pricesOf = await readPlanPrices(transaction, plan.id)
  if (shown === undefined) throw new Error('A plan was lost.')
  return { ...shown, versions: shown.versions.map(version => ({ ...version, ...pricesOf(version.version) })) }
}

/** List plans, newest first. Refuses `cursor_not_found`. */
export const listPlans = async (
  transaction: TenantTransaction,
  paging: Paging,
): Promise<Result<Page<PlanWithVersions>>> => {
  const listing = { table: 'plans', columns: planColumns, scope: ownedBy(transaction), filter: isActive }
  const page = await readPage<StoredPlan>(transaction.query, listing, paging)
  return page.ok ? accepted({ ...page.value, items: await withVersions(transaction, page.value.items) }) : page
}

type VersionDraft = Pick<StoredPlanVersion, 'version' | 'startDay'>

const writeVersion = async (
  transaction: TenantTransaction,
  { id: planId }: StoredPlan,
  { version, startDay }: VersionDraft,
  { tariffs, charges }: PlanPrices,
  at: number,
): Promise<Result<never> | null> => {
  const { accountId, liveMode, query } = transaction
  await query(sql`
    insert into plan_versions (account_id, live_mode, plan_id, version, start_day, time_created)
    values (${accountId}, ${liveMode}, ${planId}, ${version}, ${startDay}, ${toTimestamp(at)})`)
  await writePlanTariffs(transaction, { planId, version }, tariffs)
  return (await writePlanCharges(transaction, { planId, version }, charges)) ?? (await refuseSize(transaction, planId))
}

/** Raise the revision of a plan after a change of its versions, so that all locations have an earlier one. */
const raiseRevision = async (
  { query, ...tenant }: TenantTransaction,
  { id }: StoredPlan,
  lastVersion: number,
): Promise<void> => {
  await query(sql`
    update plans set revision = revision + 1, last_version = ${lastVersion} where ${ownedBy(tenant)} and id = ${id}`)
}

/**
 * Add a version to a plan that the transaction has locked for update. The constraint refuses a second version of a day.
 * Refuses `device_not_found` and `too_many_versions`.
 */
export const createVersion = async (
  transaction: TenantTransaction,
  plan: StoredPlan,
  startDay: number,
  prices: PlanPrices,
  at: number,
): Promise<Result<StoredPlanVersion>> => {
  const { rows } = await transaction.query<{ versions: number }>(sql`
    select count(*) as versions from plan_versions where ${ownedBy(transaction)} and plan_id = ${plan.id}`)
  if ((rows[0]?.versions ?? 0) >= planLimits.versions) {
    const message = `A plan has at most ${planLimits.versions} versions. Delete one that is not needed, or create another plan.`
    return refused('too_many_versions', message, 'from')
  }
  const version = plan.lastVersion + 1
  const refusal = await writeVersion(transaction, plan, { version, startDay }, prices, at)
  if (refusal !== null) return refusal
  await raiseRevision(transaction, plan, version)
  return accepted({ planId: plan.id, version, startDay, createdAt: at })
}

/** Retrieve a version of a plan; null if there is none. */
export const retrieveVersion = (
  transaction: TenantTransaction,
  planId: string,
  version: number,
): Promise<StoredPlanVersion | null> =>
  readFirst(transaction.query)(sql`
    select ${versionColumns} from plan_versions
    where ${ownedBy(transaction)} and plan_id = ${planId} and version = ${version}`)

/** New first day and prices of a version; absent members stay unchanged. */
export type VersionPatch = Partial<PlanPrices> & { readonly startDay?: number }

/**
 * Change a version of a plan that the transaction has locked for update. The constraint refuses a second version of a
 * day. Refuses `device_not_found`, and `too_many_versions` for too large prices.
 */
export const updateVersion = async (
  transaction: TenantTransaction,
  plan: StoredPlan,
  { version }: StoredPlanVersion,
  { startDay, tariffs, charges }: VersionPatch,
): Promise<Result<null>> => {
  const key = { planId: plan.id, version }
  if (startDay !== undefined)
    await transaction.query(sql`
      update plan_versions set start_day = ${startDay}
      where ${ownedBy(transaction)} and plan_id = ${plan.id} and version = ${version}`)
  if (tariffs !== undefined) await writePlanTariffs(transaction, key, tariffs)
  const missing = charges === undefined ? null : await writePlanCharges(transaction, key, charges)
  const refusal = missing ?? (await refuseSize(transaction, plan.id))
  if (refusal !== null) return refusal
  await raiseRevision(transaction, plan, plan.lastVersion)
  return accepted(null)
}

/**
 * Delete a version of a plan that the transaction has locked for update. Refuses `not_found`, and `field_immutable` for
 * the first version.
 */
export const deleteVersion = async (
  transaction: TenantTransaction,
  plan: StoredPlan,
  version: number,
): Promise<Result<null>> => {
  const found = await retrieveVersion(transaction, plan.id, version)
  if (found === null) return noVersion
  if (found.startDay === null) {
    const advice = 'change its tariffs and charges, or delete the plan'
    return refused('field_immutable', `The first version applies from the beginning and cannot be deleted: ${advice}.`)
  }
  await transaction.query(sql`
    delete from plan_versions where ${ownedBy(transaction)} and plan_id = ${plan.id} and version = ${version}`)
  await raiseRevision(transaction, plan, plan.lastVersion)
  return accepted(null)
}
