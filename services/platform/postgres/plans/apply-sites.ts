import sql from 'sql-template-tag'
import { decideSite, isUnchanged, type SiteChanges } from '../../../domain/plan/decide-site.ts'
import type { Refusal } from '../../../domain/refusal.ts'
import type { Location } from '../../../domain/registry/location.ts'
import { startTimeSlices } from '../../concurrency/time-slices.ts'
import { newId } from '../../ids/new-id.ts'
import { toTimestamp, toTimestampOrNull } from '../column.ts'
import { writeEvents } from '../events/events.ts'
import { newRecostRequest, type OutboxMessage, writeRecostRequests } from '../events/outbox.ts'
import { ownedBy } from '../page.ts'
import { priceEvent } from '../pricing/price-events.ts'
import { type LocationRow, locationColumns, locationFromRow } from '../registry/location-row.ts'
import type { TenantTransaction } from '../transaction.ts'
import { loadSites } from './plan-sites.ts'
import type { StoredPlanTerms } from './plan-terms.ts'

/** Changes of a plan at one location. */
export type DecidedSite = { readonly locationId: string; readonly changes: SiteChanges }

/** Changed locations after the changes, by their ids, and the recost requests of the changes. */
export type AppliedSites = {
  readonly locations: readonly Location[]
  readonly recostRequests: readonly OutboxMessage[]
}

/**
 * Write the changes of a plan at locations that the transaction has locked: tariffs, charges, `price.update` events and
 * recost requests. The caller writes `location.update`.
 */
export const applySites = async (
  transaction: TenantTransaction,
  plan: StoredPlanTerms,
  decided: readonly DecidedSite[],
  at: number,
): Promise<AppliedSites> => {
  const changed = decided.filter(({ changes }) => !isUnchanged(changes))
  if (changed.length === 0) return { locations: [], recostRequests: [] }
  await writeTariffs(transaction, plan, changed, at)
  await writeCharges(transaction, plan, changed, at)
  const recostRequests = await requestRecosts(transaction, changed, at)
  const { rows } = await transaction.query<LocationRow>(sql`
    select ${locationColumns} from locations
    where ${ownedBy(transaction)} and id = any(${changed.map(({ locationId }) => locationId)}) order by id`)
  return { locations: rows.map(locationFromRow), recostRequests }
}

/** Throw if a statement changed another number of rows: the plan was not locked. */
const expectRows = (rowCount: number, expected: number): void => {
  if (rowCount !== expected) throw new Error(`${rowCount} of ${expected} rows of a plan were written.`)
}

const writeTariffs = async (
  transaction: TenantTransaction,
  { planId }: StoredPlanTerms,
  decided: readonly DecidedSite[],
  at: number,
): Promise<void> => {
  const { accountId, liveMode, query } = transaction
  const owned = ownedBy(transaction)
  const removed = decided.flatMap(({ changes }) => changes.tariffs.removed.map(({ tariff }) => tariff.id))
  const moved = decided.flatMap(({ changes }) => changes.tariffs.moved)
  const movedIds = moved.map(({ before }) => before.tariff.id)
  // Moved tariffs leave the constraint first, because the order in which a statement moves them is not known.
  if (removed.length + moved.length > 0)
    await query(sql`
      update tariffs set voided_at = ${toTimestamp(at)} where ${owned} and id = any(${[...removed, ...movedIds]})`)
  if (moved.length > 0)
    await query(sql`
      update tariffs t set voided_at = null, contract_start = n.contract_start, contract_end = n.contract_end
      from unnest(${movedIds}::text[], ${moved.map(({ after }) => toTimestampOrNull(after.contractStart))}::timestamptz[],
        ${moved.map(({ after }) => toTimestampOrNull(after.contractEnd))}::timestamptz[])
        as n(id, contract_start, contract_end)
      where t.account_id = ${accountId} and t.live_mode = ${liveMode} and t.id = n.id`)
  const created = decided.flatMap(({ locationId, changes }) =>
    changes.tariffs.created.map(tariff => ({ ...tariff, locationId })),
  )
  if (created.length === 0) return
  const { rowCount } = await query(sql`
    insert into tariffs (account_id, live_mode, id, location_id, direction, type, connection_type, status, display_name,
      provider_id, component, market_rates, contract_start, contract_end, terms, special_days, time_created, plan_id,
      plan_version, plan_assignment_id, plan_key)
    select p.account_id, p.live_mode, n.id, n.location_id, p.direction, p.type, 'MANUAL', 'CONNECTED', p.display_name,
      p.provider_id, p.component, p.market_rates, n.contract_start, n.contract_end, p.terms, p.special_days,
      ${toTimestamp(at)}, p.plan_id, p.version, n.assignment_id, p.key
    from unnest(${created.map(() => newId('tariff', at))}::text[], ${created.map(one => one.locationId)}::text[],
      ${created.map(one => toTimestampOrNull(one.contractStart))}::timestamptz[],
      ${created.map(one => toTimestampOrNull(one.contractEnd))}::timestamptz[],
      ${created.map(one => one.assignmentId)}::text[], ${created.map(one => one.version)}::integer[],
      ${created.map(one => one.key)}::text[])
      as n(id, location_id, contract_start, contract_end, assignment_id, version, key)
    join plan_tariffs p on p.account_id = ${accountId} and p.live_mode = ${liveMode} and p.plan_id = ${planId}
      and p.version = n.version and p.key = n.key`)
  expectRows(rowCount, created.length)
}

const writeCharges = async (
  transaction: TenantTransaction,
  { planId }: StoredPlanTerms,
  decided: readonly DecidedSite[],
  at: number,
): Promise<void> => {
  const { accountId, liveMode, query } = transaction
  const removed = decided.flatMap(({ changes }) => changes.charges.removed.map(({ id }) => id))
  if (removed.length > 0)
    await query(sql`
      update charges set deleted_at = ${toTimestamp(at)} where ${ownedBy(transaction)} and id = any(${removed})`)
  const moved = decided.flatMap(({ changes }) => changes.charges.moved)
  if (moved.length > 0)
    await query(sql`
      update charges c set terms = c.terms || jsonb_build_object('startDay', n.start_day, 'endDay', n.end_day)
      from unnest(${moved.map(({ before }) => before.id)}::text[], ${moved.map(({ after }) => after.startDay)}::integer[],
        ${moved.map(({ after }) => after.endDay)}::integer[]) as n(id, start_day, end_day)
      where c.account_id = ${accountId} and c.live_mode = ${liveMode} and c.id = n.id`)
  const created = decided.flatMap(({ locationId, changes }) =>
    changes.charges.created.map(charge => ({ ...charge, locationId })),
  )
  if (created.length === 0) return
  const { rowCount } = await query(sql`
    insert into charges (account_id, live_mode, id, location_id, plan_id, plan_version, plan_assignment_id, plan_key, terms,
      schedule, time_created)
    select p.account_id, p.live_mode, n.id, n.location_id, p.plan_id, p.version, n.assignment_id, p.key,
      p.terms || jsonb_build_object('startDay', n.start_day, 'endDay', n.end_day), p.schedule, ${toTimestamp(at)}
    from unnest(${created.map(() => newId('charge', at))}::text[], ${created.map(one => one.locationId)}::text[],
      ${created.map(one => one.startDay)}::integer[], ${created.map(one => one.endDay)}::integer[],
      ${created.map(one => one.assignmentId)}::text[], ${created.map(one => one.version)}::integer[],
      ${created.map(one => one.key)}::text[])
      as n(id, location_id, start_day, end_day, assignment_id, version, key)
    join plan_charges p on p.account_id = ${accountId} and p.live_mode = ${liveMode} and p.plan_id = ${planId}
      and p.version = n.version and p.key = n.key`)
  expectRows(rowCount, created.length)
}

/** Raise the pricing revisions of the locations whose prices change, and write their recost requests and events. */
const requestRecosts = async (
  transaction: TenantTransaction,
  decided: readonly DecidedSite[],
  at: number,
): Promise<readonly OutboxMessage[]> => {
  const { accountId, liveMode, query } = transaction
  const priced = decided.filter(({ changes }) => changes.prices.length > 0)
  if (priced.length === 0) return []
  const { rows } = await query<{ id: string; revision: number }>(sql`
    update locations set pricing_revision = pricing_revision + 1
    where ${ownedBy(transaction)} and id = any(${priced.map(({ locationId }) => locationId)})
    returning id, pricing_revision as revision`)
  const revisionOf = new Map(rows.map(({ id, revision }) => [id, revision]))
  const events = priced.flatMap(({ locationId, changes }) =>
    changes.prices.map(price => priceEvent(transaction, { locationId, ...price })),
  )
  await writeEvents(transaction, events, at)
  const recostRequests = priced.map(({ locationId, changes: { prices } }) => {
    const revision = revisionOf.get(locationId)
    if (revision === undefined) throw new Error('A locked location does not exist.')
    const starts = prices.map(({ from }) => from ?? Number.NEGATIVE_INFINITY)
    const ends = prices.map(({ to }) => to ?? Number.POSITIVE_INFINITY)
    const [from, to] = [Math.min(...starts), Math.max(...ends)]
    return newRecostRequest({
      accountId,
      liveMode,
      locations: [locationId],
      revision,
      from: Number.isFinite(from) ? from : null,
      to: Number.isFinite(to) ? to : null,
    })
  })
  return writeRecostRequests(query, recostRequests, at)
}

/** Maximum pause after a refusal, before the plan is applied to the location again. */
const retryMs = 600_000

/** Store that the assignments of locations have a revision of their plan, or why they cannot have it. */
export const storeOutcomes = async (
  transaction: TenantTransaction,
  { planId, revision }: StoredPlanTerms,
  applied: readonly string[],
  refused: readonly { readonly locationId: string; readonly refusal: Refusal }[],
  at: number,
): Promise<void> => {
  const { accountId, liveMode, query } = transaction
  if (applied.length > 0)
    await query(sql`
      update plan_assignments
      set applied_revision = ${revision}, refusal_code = null, refusal_message = null, retry_at = null
      where ${ownedBy(transaction)} and plan_id = ${planId} and location_id = any(${applied}) and deleted_at is null`)
  if (refused.length > 0)
    await query(sql`
      update plan_assignments a
      set refusal_code = n.code, refusal_message = n.message, retry_at = ${toTimestamp(at + retryMs)}
      from unnest(${refused.map(({ locationId }) => locationId)}::text[],
        ${refused.map(({ refusal }) => refusal.code)}::text[], ${refused.map(({ refusal }) => refusal.message)}::text[])
        as n(location_id, code, message)
      where a.account_id = ${accountId} and a.live_mode = ${liveMode} and a.plan_id = ${planId}
        and a.location_id = n.location_id and a.deleted_at is null`)
}

/**
 * Apply a plan to locations by their ids, and store the outcome of each. The caller has locked the plan. The caller
 * writes `location.update`.
 */
export const applyPlan = async (
  transaction: TenantTransaction,
  plan: StoredPlanTerms,
  locationIds: readonly string[],
  at: number,
): Promise<AppliedSites> => {
  const decided: DecidedSite[] = []
  const refused: { readonly locationId: string; readonly refusal: Refusal }[] = []
  const slices = startTimeSlices(plan.accountId)
  for (const [locationId, { site, assignments }] of await loadSites(transaction, plan.planId, locationIds, {
    mustLock: true,
  })) {
    if (slices.isOver()) await slices.pause()
    const changes = decideSite(plan, assignments, site)
    if (changes.ok) decided.push({ locationId, changes: changes.value })
    else refused.push({ locationId, refusal: changes.refusal })
  }
  const applied = await applySites(transaction, plan, decided, at)
  await storeOutcomes(
    transaction,
    plan,
    decided.map(({ locationId }) => locationId),
    refused,
    at,
  )
  return applied
}
