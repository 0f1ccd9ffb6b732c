import { refuseFixedChange } from '../../contract/fixed-member.ts'
import { listAnswer, pageRequest } from '../../contract/list.ts'
import {
  assignmentResultToWire,
  assignmentToWire,
  type FailedAssignment,
  planAssign,
  planAssignmentDelete,
  planAssignmentList,
  planAssignmentRetrieve,
  planAssignmentUpdate,
} from '../../contract/plans/plan-assignment.ts'
import type { StoredAssignment } from '../../domain/plan/assignment.ts'
import { decideSite, refuseOverlap } from '../../domain/plan/decide-site.ts'
import type { PlanAssignment, StoredPlan } from '../../domain/plan/plan.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { Location } from '../../domain/registry/location.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import type { OutboxMessage } from '../../platform/postgres/events/outbox.ts'
import {
  type AppliedSites,
  applySites,
  type DecidedSite,
  storeOutcomes,
} from '../../platform/postgres/plans/apply-sites.ts'
import {
  countAssignments,
  createAssignments,
  deleteAssignment,
  listAssignments,
  moveAssignmentEnd,
  readAssignments,
  retrieveAssignment,
} from '../../platform/postgres/plans/plan-assignments.ts'
import { loadSites } from '../../platform/postgres/plans/plan-sites.ts'
import { readPlanTerms, type StoredPlanTerms } from '../../platform/postgres/plans/plan-terms.ts'
import { wakePlans } from '../../platform/postgres/plans/plan-turns.ts'
import { lockPlan, retrievePlan } from '../../platform/postgres/plans/plans.ts'
import { type TenantTransaction, withTenant } from '../../platform/postgres/transaction.ts'
import { tenantOf } from '../change.ts'
import { changeOrRehearse, type Impact } from '../change-or-rehearse.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import {
  type DecidedPage,
  decideLocation,
  type Element,
  readElements,
  refuseAssignmentCount,
} from './decide-assignments.ts'
import { noPlan, planEvents } from './plans.ts'

const noAssignment = refused('not_found', 'The plan has no assignment of this id')

/** Tariffs and charges that a request creates at most. The background work creates the rest within seconds. */
const maxCreatedObjects = 20_000

const createdObjects = ({ changes: { tariffs, charges } }: DecidedSite): number =>
  tariffs.created.length + charges.created.length

/** Result of a request with assignments. */
type AssignedPlan = {
  readonly ids: readonly { readonly id: string; readonly number: number }[]
  readonly failed: readonly FailedAssignment[]
  readonly locations: readonly Location[]
  readonly recostRequests: readonly OutboxMessage[]
}

/**
 * Assign a plan to the locations of the elements, page by page in the order of location ids. A dry run reports the
 * locations and the refused elements to the impact and writes nothing.
 */
const assignLocations = async (
  transaction: TenantTransaction,
  terms: StoredPlanTerms,
  elements: readonly Element[],
  impact: Impact | null,
  at: number,
): Promise<AssignedPlan> => {
  const byLocation = Map.groupBy(elements, ({ locationId }) => locationId)
  const locationIds = [...byLocation.keys()].sort((a, b) => (a < b ? -1 : 1))
  const assigned: { [Name in keyof AssignedPlan]: AssignedPlan[Name][number][] } = {
    ids: [],
    failed: [],
    locations: [],
    recostRequests: [],
  }
  let left = maxCreatedObjects
  for (let start = 0; start < locationIds.length; start += terms.locationsPerPage) {
    const page = locationIds.slice(start, start + terms.locationsPerPage)
    const sites = await loadSites(transaction, terms.planId, page, { mustLock: impact === null })
    const results: DecidedPage[] = []
    for (const id of page) results.push(await decideLocation(terms, sites.get(id), byLocation.get(id) ?? [], at))
    assigned.failed.push(...results.flatMap(({ failed }) => failed))
    const decided = results.flatMap(result => result.decided)
    for (const { locationId, changes } of decided) impact?.addSite(locationId, changes)
    if (impact !== null) continue
    const drafts = results.flatMap(result => result.drafts)
    await createAssignments(transaction, terms.planId, drafts, at)
    const now = decided.filter(one => {
      left -= createdObjects(one)
      return left >= 0
    })
    const applied = await applySites(transaction, terms, now, at)
    await storeOutcomes(
      transaction,
      terms,
      now.map(({ locationId }) => locationId),
      [],
      at,
    )
    if (now.length < decided.length) await wakePlans(transaction, [terms.planId], at)
    assigned.ids.push(...drafts.map(({ id, number }) => ({ id, number })))
    assigned.locations.push(...applied.locations)
    assigned.recostRequests.push(...applied.recostRequests)
  }
  return assigned
}

const lockTerms = async (
  transaction: TenantTransaction,
  planId: string,
  impact: Impact | null,
): Promise<Result<{ readonly plan: StoredPlan; readonly terms: StoredPlanTerms }>> => {
  const plan = impact === null ? await lockPlan(transaction, planId, 'share') : await retrievePlan(transaction, planId)
  const terms = plan === null ? null : await readPlanTerms(transaction, planId)
  return plan === null || terms === null ? noPlan : accepted({ plan, terms })
}

const assignBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(planAssign, request =>
    changeOrRehearse(dependencies, planAssign, request, async (transaction, impact) => {
      const { at } = request
      const locked = await lockTerms(transaction, request.id, impact)
      if (!locked.ok) return locked
      const { plan, terms } = locked.value
      const { elements, failed } = readElements(request.body)
      const refusal = refuseAssignmentCount(await countAssignments(transaction, plan.id), elements.length)
      if (refusal !== null) return { ok: false, refusal }
      const assigned = await assignLocations(transaction, terms, elements, impact, at)
      const allFailed = [...failed, ...assigned.failed].sort((a, b) => a.number - b.number)
      for (const { number, locationId, refusal } of allFailed) impact?.addError({ number, locationId, refusal })
      const stored = new Map(
        (
          await readAssignments(
            transaction,
            assigned.ids.map(({ id }) => id),
          )
        ).map(one => [one.id, one]),
      )
      const inOrder = assigned.ids.toSorted((a, b) => a.number - b.number).flatMap(({ id }) => stored.get(id) ?? [])
      const detail = { assignments: inOrder.map(({ id }) => id), failed: allFailed.length }
      const value = assignmentResultToWire(plan.id, inOrder, allFailed)
      if (inOrder.length === 0) return accepted({ value, events: [] })
      return accepted({
        value,
        events: await planEvents(transaction, 'plan.update', plan, assigned.locations, at),
        audit: [{ action: 'plan.assign', objectId: plan.id, detail }],
        recostRequests: assigned.recostRequests,
      })
    }),
  )

/** Change of the assignments of a location. `save` stores the change, after the location is locked. */
type LocationChange = {
  readonly change: (assignments: readonly PlanAssignment[]) => readonly PlanAssignment[]
  readonly save: () => Promise<unknown>
  readonly impact: Impact | null
  readonly at: number
}

/**
 * Apply a plan to one location with changed assignments. A dry run reports the location to the impact. Refuses what
 * `decideSite` refuses, and assignments that overlap.
 */
const applyToLocation = async (
  transaction: TenantTransaction,
  terms: StoredPlanTerms,
  locationId: string,
  { change, save, impact, at }: LocationChange,
): Promise<Result<AppliedSites>> => {
  const loaded = (await loadSites(transaction, terms.planId, [locationId], { mustLock: impact === null })).get(
    locationId,
  )
  if (loaded === undefined) return noAssignment
  const assignments = change(loaded.assignments)
  for (const one of assignments) {
    const overlap = refuseOverlap(locationId, one, assignments)
    if (overlap !== null) return { ok: false, refusal: { ...overlap, field: 'end_date' } }
  }
  const decided = decideSite(terms, assignments, loaded.site)
  if (!decided.ok) return { ok: false, refusal: { ...decided.refusal, field: 'end_date' } }
  impact?.addSite(locationId, decided.value)
  if (impact !== null) return accepted({ locations: [], recostRequests: [] })
  await save()
  const applied = await applySites(transaction, terms, [{ locationId, changes: decided.value }], at)
  await storeOutcomes(transaction, terms, [locationId], [], at)
  return accepted(applied)
}

/** Lock a plan, and retrieve one of its assignments. Refuses `not_found`. */
const findAssignment = async (
  transaction: TenantTransaction,
  request: { readonly id: string; readonly parameters: Readonly<Record<string, string>> },
  impact: Impact | null,
): Promise<
  Result<{ readonly plan: StoredPlan; readonly terms: StoredPlanTerms; readonly before: StoredAssignment }>
> => {
  const locked = await lockTerms(transaction, request.id, impact)
  if (!locked.ok) return locked
  const before = await retrieveAssignment(transaction, request.id, request.parameters['assignment_id'] ?? '')
  return before === null ? noAssignment : accepted({ ...locked.value, before })
}

const updateBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(planAssignmentUpdate, request =>
    changeOrRehearse(dependencies, planAssignmentUpdate, request, async (transaction, impact) => {
      const found = await findAssignment(transaction, request, impact)
      if (!found.ok) return found
      const { plan, terms, before } = found.value
      const { dry_run: _, end_date: sentEnd, ...others } = request.body
      const advice = 'delete the assignment, and create another one'
      const fixedFieldRefusal = refuseFixedChange(others, assignmentToWire(before), [], advice)
      if (fixedFieldRefusal !== null) return { ok: false, refusal: fixedFieldRefusal }
      const endDay = sentEnd === undefined ? before.endDay : sentEnd
      if (endDay !== null && endDay <= before.startDay)
        return refused('end_before_start', 'end_date must be after start_date', 'end_date')
      const applied = await applyToLocation(transaction, terms, before.locationId, {
        change: assignments => assignments.map(one => (one.id === before.id ? { ...one, endDay } : one)),
        save: () => moveAssignmentEnd(transaction, before.id, endDay),
        impact,
        at: request.at,
      })
      if (!applied.ok) return applied
      const after = await retrieveAssignment(transaction, plan.id, before.id)
      if (after === null) return noAssignment
      const value = assignmentToWire(after)
      return accepted({
        value,
        events: await planEvents(transaction, 'plan.update', plan, applied.value.locations, request.at),
        audit: [{ action: 'plan.assignment_update', objectId: before.id, detail: value }],
        recostRequests: applied.value.recostRequests,
      })
    }),
  )

const deleteBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(planAssignmentDelete, request =>
    changeOrRehearse(dependencies, planAssignmentDelete, request, async (transaction, impact) => {
      const found = await findAssignment(transaction, request, impact)
      if (!found.ok) return found
      const { plan, terms, before } = found.value
      const applied = await applyToLocation(transaction, terms, before.locationId, {
        change: assignments => assignments.filter(one => one.id !== before.id),
        save: () => deleteAssignment(transaction, before.id, request.at),
        impact,
        at: request.at,
      })
      if (!applied.ok) return applied
      return accepted({
        value: { message: 'Accepted' as const },
        events: await planEvents(transaction, 'plan.update', plan, applied.value.locations, request.at),
        audit: [{ action: 'plan.assignment_delete', objectId: before.id, detail: assignmentToWire(before) }],
        recostRequests: applied.value.recostRequests,
      })
    }),
  )

/** Bind the operations on the assignments of plans. */
export const planAssignmentOperations = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  assignBinding(dependencies),
  bind(planAssignmentList, request =>
    withTenant(dependencies.database, tenantOf(request), async transaction => {
      if ((await retrievePlan(transaction, request.id)) === null) return noPlan
      const locationId = request.query.location_id ?? null
      const page = await listAssignments(transaction, request.id, locationId, pageRequest(request.query))
      if (!page.ok) return page
      const items = page.value.items.map(assignmentToWire)
      return accepted(listAnswer(`/plans/${request.id}/assignments`, { items, hasMore: page.value.hasMore }))
    }),
  ),
  bind(planAssignmentRetrieve, request =>
    withTenant(dependencies.database, tenantOf(request), async transaction => {
      const found = await retrieveAssignment(transaction, request.id, request.parameters['assignment_id'] ?? '')
      return found === null ? noAssignment : accepted(assignmentToWire(found))
    }),
  ),
  updateBinding(dependencies),
  deleteBinding(dependencies),
]
