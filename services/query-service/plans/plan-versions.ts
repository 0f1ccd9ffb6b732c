import type { Operation, RequestOf } from '../../contract/operation.ts'
import {
  planSummaryToWire,
  planVersionCreate,
  planVersionDelete,
  planVersionUpdate,
} from '../../contract/plans/plan.ts'
import { readPlanPrices, versionToWire } from '../../contract/plans/plan-version.ts'
import { decideSite, type PlanTerms } from '../../domain/plan/decide-site.ts'
import type { StoredPlan } from '../../domain/plan/plan.ts'
import { planLimits } from '../../domain/plan/plan.ts'
import { accepted, type Refusal, type Result, refused } from '../../domain/refusal.ts'
import { startTimeSlices, startTurns } from '../../platform/concurrency/time-slices.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { locationsOfPlan } from '../../platform/postgres/plans/plan-assignments.ts'
import { loadSites } from '../../platform/postgres/plans/plan-sites.ts'
import { readPlanTerms } from '../../platform/postgres/plans/plan-terms.ts'
import { wakePlans } from '../../platform/postgres/plans/plan-turns.ts'
import {
  createVersion,
  deleteVersion,
  lockPlan,
  retrievePlan,
  retrieveVersion,
  updateVersion,
  withPrices,
} from '../../platform/postgres/plans/plans.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { type Change, omitUndefined } from '../change.ts'
import { changeOrRehearse, type Impact } from '../change-or-rehearse.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { noPlan, planEvents } from './plans.ts'

const noVersion = refused('not_found', 'The plan has no version of this number')
const sitesPerPage = 500

/**
 * Return the number of charges from which a location can have too many. Null if the plan can be refused at any location:
 * it has market prices, or days that need a calendar.
 */
const minChargesToCheck = ({ versions }: PlanTerms): number | null => {
  const tariffs = versions.flatMap(version => version.tariffs)
  const charges = versions.flatMap(version => version.charges)
  const needsAll =
    tariffs.some(({ marketRates }) => marketRates) ||
    [...tariffs, ...charges].some(({ specialDays }) => specialDays.length > 0)
  return needsAll ? null : Math.max(0, planLimits.charges - charges.length)
}

/**
 * Check that the changed versions of a plan can be applied to all its locations. A dry run reports every location to
 * the impact. Returns the first refusal, or null.
 */
const checkSites = async (
  transaction: TenantTransaction,
  planId: string,
  impact: Impact | null,
): Promise<Refusal | null> => {
  const terms = await readPlanTerms(transaction, planId)
  if (terms === null) return noPlan.refusal
  const slices = startTimeSlices(terms.accountId)
  const minCharges = impact === null ? minChargesToCheck(terms) : null
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page: readonly string[] = await locationsOfPlan(transaction, planId, {
      after,
      limit: sitesPerPage,
      minCharges,
    })
    for (const [locationId, { site, assignments }] of await loadSites(transaction, planId, page, { mustLock: false })) {
      if (slices.isOver()) await slices.pause()
      const changes = decideSite(terms, assignments, site)
      if (changes.ok) impact?.addSite(locationId, changes.value)
      else if (impact === null) return { ...changes.refusal, field: 'from' }
      else impact.addError({ locationId, number: null, refusal: changes.refusal })
    }
    after = page.at(-1)
  }
  return null
}

/**
 * Describe a change of the versions of a plan, whose locations the background work changes after the commit. Refuses
 * what `checkSites` refuses.
 */
const versionChange = async <T extends object>(
  transaction: TenantTransaction,
  before: StoredPlan,
  { impact, action, at }: { readonly impact: Impact | null; readonly action: string; readonly at: number },
  answer: (plan: Awaited<ReturnType<typeof withPrices>>) => T,
): Promise<Result<Change<T>>> => {
  const refusal = await checkSites(transaction, before.id, impact)
  if (refusal !== null) return { ok: false, refusal }
  await wakePlans(transaction, [before.id], at)
  const plan = await retrievePlan(transaction, before.id)
  if (plan === null) return noPlan
  const shown = await withPrices(transaction, plan)
  const value = answer(shown)
  return accepted({
    value,
    events: await planEvents(transaction, 'plan.update', plan, [], at),
    audit: [{ action, objectId: plan.id, detail: { ...value, plan: planSummaryToWire(shown) } }],
  })
}

/** Return the function that answers with a version of a changed plan. */
const versionAnswer = (version: number) => (plan: Awaited<ReturnType<typeof withPrices>>) => {
  const found = plan.versions.find(one => one.version === version)
  if (found === undefined) throw new Error('A stored version was lost.')
  return versionToWire(found, plan)
}

const createBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(planVersionCreate, request =>
    changeOrRehearse(dependencies, planVersionCreate, request, async (transaction, impact) => {
      const { from, tariffs, charges } = request.body
      const read = await readPlanPrices({ tariffs, charges }, startTurns(request.caller.accountId))
      if (!read.ok) return read
      const plan = await lockPlan(transaction, request.id, 'update')
      if (plan === null) return noPlan
      const prices = { tariffs: read.value.tariffs ?? [], charges: read.value.charges ?? [] }
      const created = await createVersion(transaction, plan, from, prices, request.at)
      if (!created.ok) return created
      const context = { impact, action: 'plan.version_create', at: request.at }
      return versionChange(transaction, plan, context, versionAnswer(created.value.version))
    }),
  )

/** Read the number of a version in the path; 0 for another text. */
const versionNumber = ({ parameters }: Pick<RequestOf<Operation>, 'parameters'>): number =>
  /^[1-9]\d{0,8}$/.test(parameters['version'] ?? '') ? Number(parameters['version']) : 0

const updateBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(planVersionUpdate, request =>
    changeOrRehearse(dependencies, planVersionUpdate, request, async (transaction, impact) => {
      const { from: startDay, tariffs, charges } = request.body
      const read = await readPlanPrices({ tariffs, charges }, startTurns(request.caller.accountId))
      if (!read.ok) return read
      const plan = await lockPlan(transaction, request.id, 'update')
      if (plan === null) return noPlan
      const version = await retrieveVersion(transaction, plan.id, versionNumber(request))
      if (version === null) return noVersion
      if (startDay !== undefined && version.startDay === null)
        return refused('field_immutable', 'The first version applies from the beginning: leave from out', 'from')
      const patch = omitUndefined({ startDay, ...read.value })
      const updated = await updateVersion(transaction, plan, version, patch)
      if (!updated.ok) return updated
      const context = { impact, action: 'plan.version_update', at: request.at }
      return versionChange(transaction, plan, context, versionAnswer(version.version))
    }),
  )

const deleteBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(planVersionDelete, request =>
    changeOrRehearse(dependencies, planVersionDelete, request, async (transaction, impact) => {
      const plan = await lockPlan(transaction, request.id, 'update')
      if (plan === null) return noPlan
      const deleted = await deleteVersion(transaction, plan, versionNumber(request))
      if (!deleted.ok) return deleted
      const context = { impact, action: 'plan.version_delete', at: request.at }
      return versionChange(transaction, plan, context, () => ({ message: 'Accepted' as const }))
    }),
  )

/** Bind the operations on the versions of plans. */
export const planVersionOperations = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  createBinding(dependencies),
  updateBinding(dependencies),
  deleteBinding(dependencies),
]
