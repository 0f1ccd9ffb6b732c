import { eventList } from '../contract/events/event.ts'
import type { Operation } from '../contract/operation.ts'
import { tariffList } from '../contract/tariffs/tariff.ts'
import type { Binding } from '../platform/http/binding.ts'
import { chargeOperations } from './charges/charges.ts'
import { correctionOperations } from './costs/corrections.ts'
import { intervalCostOperation } from './costs/interval-costs.ts'
import { meterBatchOperations } from './costs/meter-batches.ts'
import { meterImportOperations } from './costs/meter-imports.ts'
import { meterRecordOperations } from './costs/meter-records.ts'
import { sessionCostOperation } from './costs/session-costs.ts'
import type { CostDependencies, QueryServiceDependencies } from './dependencies.ts'
import { eventOperations } from './events/events.ts'
import { webhookDeliveryOperations } from './events/webhook-deliveries.ts'
import { webhookOperations } from './events/webhooks.ts'
import type { ExportedOperations } from './exports/write-objects.ts'
import { marketOperations } from './markets/markets.ts'
import { planAssignmentOperations } from './plans/plan-assignments.ts'
import { planVersionOperations } from './plans/plan-versions.ts'
import { planOperations } from './plans/plans.ts'
import { accountBrandOperations, accountOperations } from './registry/account.ts'
import { accountReadOperations } from './registry/account-reads.ts'
import { calendarOperations } from './registry/calendars.ts'
import { customerOperations } from './registry/customers.ts'
import { deviceOperations } from './registry/devices.ts'
import { locationOperations } from './registry/locations.ts'
import { providerOperations } from './registry/providers.ts'
import { tariffOperations } from './registry/tariffs.ts'
import { userOperations } from './users/users.ts'

/** Bind the operations on costs, records and receipts, and the reads that combine several kinds of objects. */
export const costOperations = (dependencies: CostDependencies): readonly Binding[] => [
  intervalCostOperation(dependencies),
  sessionCostOperation(dependencies),
  ...meterBatchOperations(dependencies),
  ...meterRecordOperations(dependencies),
  ...correctionOperations(dependencies),
  ...meterImportOperations(dependencies),
  ...accountReadOperations(dependencies),
]

/** Bind the operations whose answers an export writes. */
export const exportedOperations = (
  costs: CostDependencies,
  dependencies: QueryServiceDependencies,
): { readonly operations: ExportedOperations } => {
  const lists = [...tariffOperations(dependencies), ...eventOperations(dependencies)]
  const find = (operation: Operation): Binding => {
    const found = lists.find(binding => binding.operation === operation)
    if (found === undefined) throw new Error(`${operation.id} is not bound.`)
    return found
  }
  return {
    operations: {
      intervalCost: intervalCostOperation(costs),
      tariffList: find(tariffList),
      eventList: find(eventList),
    },
  }
}

/** Bind the operations on the objects of an account: registry, tariffs, market sources, events and webhooks. */
export const queryServiceOperations = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  ...accountOperations(dependencies),
  ...accountBrandOperations(dependencies),
  ...customerOperations(dependencies),
  ...locationOperations(dependencies),
  ...deviceOperations(dependencies),
  ...tariffOperations(dependencies),
  ...chargeOperations(dependencies),
  ...planOperations(dependencies),
  ...planVersionOperations(dependencies),
  ...planAssignmentOperations(dependencies),
  ...providerOperations(dependencies),
  ...calendarOperations(dependencies),
  ...marketOperations(dependencies),
  ...eventOperations(dependencies),
  ...webhookOperations(dependencies),
  ...webhookDeliveryOperations(dependencies),
  ...userOperations(dependencies),
]
