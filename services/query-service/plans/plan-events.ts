import { planSummaryToWire } from '../../contract/plans/plan.ts'
import { locationEvent } from '../../contract/registry/location-view.ts'
import type { EventDraft } from '../../platform/postgres/events/events.ts'
import { type StoredPlan, withVersions } from '../../platform/postgres/plans/plans.ts'
import type { StoredLocation } from '../../platform/postgres/registry/location-row.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'

/** Create the event of a changed plan, with its progress, and one event for each changed location. */
export const planEvents = async (
  transaction: TenantTransaction,
  type: 'plan.create' | 'plan.update',
  plan: StoredPlan,
  locations: readonly StoredLocation[],
  at: number,
): Promise<readonly EventDraft[]> => {
  const [shown] = await withVersions(transaction, [plan])
  const own = shown === undefined ? [] : [{ type, objectId: plan.id, data: planSummaryToWire(shown) }]
  return [...locations.map(location => locationEvent('location.update', location, at)), ...own]
}
