import { refuseFixedChange } from '../../contract/fixed-member.ts'
import {
  planCreate,
  planDelete,
  planList,
  planRetrieve,
  planSummaryToWire,
  planToWire,
  planUpdate,
} from '../../contract/plans/plan.ts'
import { readPlanPrices } from '../../contract/plans/plan-version.ts'
import { locationEvent } from '../../contract/registry/location-view.ts'
import { noObject } from '../../domain/no-object.ts'
import type { StoredPlan } from '../../domain/plan/plan.ts'
import { accepted, refused } from '../../domain/refusal.ts'
import type { Location } from '../../domain/registry/location.ts'
import { startTurns } from '../../platform/concurrency/time-slices.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import type { EventDraft } from '../../platform/postgres/events/events.ts'
import {
  createPlan,
  deletePlan,
  listPlans,
  lockPlan,
  renamePlan,
  retrievePlan,
  withPrices,
  withVersions,
} from '../../platform/postgres/plans/plans.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { deletion } from '../change.ts'
import { changeOrRehearse } from '../change-or-rehearse.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { answerList, answerOne } from '../list.ts'

/** Refusal of an unknown plan. */
export const noPlan = noObject('plan')

/** Create the event of a changed plan, with its progress, and one event for each changed location. */
export const planEvents = async (
  transaction: TenantTransaction,
  type: 'plan.create' | 'plan.update',
  plan: StoredPlan,
  locations: readonly Location[],
  at: number,
): Promise<readonly EventDraft[]> => {
  const [shown] = await withVersions(transaction, [plan])
  const own = shown === undefined ? [] : [{ type, objectId: plan.id, data: planSummaryToWire(shown) }]
  return [...locations.map(location => locationEvent('location.update', location, at)), ...own]
}

const createBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(planCreate, request =>
    changeOrRehearse(dependencies, planCreate, request, async transaction => {
      const { name, currency_code: currencyCode, tariffs, charges } = request.body
      if (!dependencies.isCurrency(currencyCode)) {
        const message = 'currency_code must be the code of a currency in use, such as EUR'
        return refused('field_invalid', message, 'currency_code')
      }
      const read = await readPlanPrices({ tariffs, charges }, startTurns(request.caller.accountId))
      if (!read.ok) return read
      const prices = { tariffs: read.value.tariffs ?? [], charges: read.value.charges ?? [] }
      const plan = await createPlan(transaction, { name, currencyCode }, prices, request.at)
      if (!plan.ok) return plan
      const value = planToWire(await withPrices(transaction, plan.value))
      return accepted({
        value,
        events: await planEvents(transaction, 'plan.create', plan.value, [], request.at),
        audit: [{ action: 'plan.create', objectId: value.id, detail: value }],
      })
    }),
  )

const updateBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(planUpdate, request =>
    changeOrRehearse(dependencies, planUpdate, request, async transaction => {
      const before = await lockPlan(transaction, request.id, 'update')
      if (before === null) return noPlan
      const { name, dry_run: _, ...others } = request.body
      const shown = planToWire(await withPrices(transaction, before))
      const advice = 'change prices with a version, or create another plan'
      const fixedFieldRefusal = refuseFixedChange(others, shown, [], advice)
      if (fixedFieldRefusal !== null) return { ok: false, refusal: fixedFieldRefusal }
      const renamed = await renamePlan(transaction, request.id, name ?? before.name)
      if (!renamed.ok) return renamed
      const value = { ...shown, name: renamed.value.name }
      return accepted({
        value,
        events: await planEvents(transaction, 'plan.update', renamed.value, [], request.at),
        audit: [{ action: 'plan.update', objectId: value.id, detail: value }],
      })
    }),
  )

const deleteBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(planDelete, request =>
    changeOrRehearse(dependencies, planDelete, request, async transaction => {
      const deleted = await deletePlan(transaction, request.id, request.at)
      if (!deleted.ok) return deleted
      const data = planSummaryToWire(deleted.value)
      return accepted(deletion([{ type: 'plan.delete', objectId: request.id, data }]))
    }),
  )

/** Bind the operations on plans. */
export const planOperations = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  createBinding(dependencies),
  bind(planList, request =>
    answerList(dependencies, request, '/plans', listPlans, plans => plans.map(planSummaryToWire)),
  ),
  bind(planRetrieve, request =>
    answerOne(
      dependencies,
      request,
      async (transaction, id) => {
        const plan = await retrievePlan(transaction, id)
        return plan === null ? null : withPrices(transaction, plan)
      },
      noPlan,
      plan => planToWire(plan),
    ),
  ),
  updateBinding(dependencies),
  deleteBinding(dependencies),
]
