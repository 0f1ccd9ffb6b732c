import * as calendar from '../calendars/calendar.ts'
import * as charge from '../charges/charge.ts'
import * as energyCost from '../costs/energy-cost.ts'
import * as instantCost from '../costs/instant-cost.ts'
import * as event from '../events/event.ts'
import * as webhookDelivery from '../events/webhook-delivery.ts'
import * as webhookEndpoint from '../events/webhook-endpoint.ts'
import * as webhookResend from '../events/webhook-resend.ts'
import * as exported from '../exports/export.ts'
import * as market from '../markets/market.ts'
import * as marketPrice from '../markets/market-price.ts'
import { correctionList } from '../metering/correction.ts'
import * as meterBatch from '../metering/meter-batch.ts'
import * as meterCumulative from '../metering/meter-cumulative.ts'
import * as meterImport from '../metering/meter-import.ts'
import * as meterRecordRead from '../metering/meter-record-read.ts'
import type { Operation } from '../operation.ts'
import * as plan from '../plans/plan.ts'
import * as planAssignment from '../plans/plan-assignment.ts'
import * as price from '../prices/price.ts'
import * as priceAudit from '../prices/price-audit.ts'
import * as account from '../registry/account.ts'
import { accountBrandRetrieve, accountBrandUpdate } from '../registry/account-brand.ts'
import { accountOverviewRetrieve } from '../registry/account-overview.ts'
import { auditEntryList } from '../registry/audit-entry.ts'
import * as customer from '../registry/customer.ts'
import * as device from '../registry/device.ts'
import * as location from '../registry/location.ts'
import * as locationStatus from '../registry/location-status.ts'
import * as provider from '../registry/provider.ts'
import { objectSearch } from '../registry/search.ts'
import * as scheduleAmount from '../schedules/schedule-amount.ts'
import * as scheduleSlots from '../schedules/schedule-slots.ts'
import * as simulation from '../simulations/simulation.ts'
import * as statementBatch from '../statements/statement-batch.ts'
import * as statement from '../statements/statement-operations.ts'
import * as tariff from '../tariffs/tariff.ts'
import * as user from '../users/user.ts'

/** Operations of a wing, and the operation after which the reference page shows them. */
export type AddedOperations = { readonly after: Operation; readonly operations: readonly Operation[] }

/** Add the operations of wings to the operations of the core. */
export const addOperations = (core: readonly Operation[], added: readonly AddedOperations[]): readonly Operation[] =>
  core.flatMap(operation => [
    operation,
    ...added.filter(({ after }) => after === operation).flatMap(({ operations }) => operations),
  ])

/** Operations of the core, in the order of the reference page. */
export const coreOperations: readonly Operation[] = [
  account.accountLogin,
  account.accountRetrieve,
  accountBrandRetrieve,
  accountBrandUpdate,
  accountOverviewRetrieve,
  objectSearch,
  auditEntryList,
  meterBatch.meterIntervalSubmit,
  meterCumulative.meterCumulativeSubmit,
  meterBatch.meterBatchRetrieve,
  meterBatch.meterBatchRead,
  meterRecordRead.meterRecordList,
  meterRecordRead.meterRecordRetrieve,
  correctionList,
  meterImport.meterImportList,
  meterImport.meterImportUndo,
  instantCost.instantCost,
  energyCost.intervalCost,
  energyCost.sessionCost,
  exported.exportCreate,
  exported.exportList,
  exported.exportRetrieve,
  exported.exportFile,
  exported.exportDelete,
  customer.customerCreate,
  customer.customerList,
  customer.customerRetrieve,
  customer.customerUpdate,
  customer.customerDelete,
  location.locationCreate,
  location.locationList,
  location.locationRetrieve,
  location.locationUpdate,
  location.locationDelete,
  locationStatus.locationStatusRetrieve,
  device.deviceCreate,
  device.deviceList,
  device.deviceRetrieve,
  device.deviceUpdate,
  device.deviceDelete,
  calendar.calendarCreate,
  calendar.calendarList,
  calendar.calendarRetrieve,
  calendar.calendarUpdate,
  calendar.calendarDelete,
  tariff.tariffCreate,
  tariff.tariffList,
  tariff.tariffRetrieve,
  tariff.tariffUpdate,
  tariff.tariffDelete,
  charge.chargeCreate,
  charge.chargeList,
  charge.chargeRetrieve,
  charge.chargeUpdate,
  charge.chargeDelete,
  plan.planCreate,
  plan.planList,
  plan.planRetrieve,
  plan.planUpdate,
  plan.planDelete,
  plan.planVersionCreate,
  plan.planVersionUpdate,
  plan.planVersionDelete,
  planAssignment.planAssign,
  planAssignment.planAssignmentList,
  planAssignment.planAssignmentRetrieve,
  planAssignment.planAssignmentUpdate,
  planAssignment.planAssignmentDelete,
  price.priceRetrieve,
  priceAudit.priceAuditRetrieve,
  scheduleSlots.scheduleDuration,
  scheduleSlots.scheduleLimit,
  scheduleAmount.scheduleAmount,
  scheduleAmount.scheduleAmountRetrieve,
  statement.statementCreate,
  statement.statementList,
  statement.statementRetrieve,
  statement.statementFinalise,
  statement.statementVoid,
  simulation.simulationCreate,
  simulation.simulationRetrieve,
  statementBatch.statementBatchCreate,
  statementBatch.statementBatchRetrieve,
  statementBatch.statementBatchExport,
  statementBatch.statementBatchStop,
  market.marketCreate,
  market.marketList,
  market.marketRetrieve,
  market.marketUpdate,
  market.marketDelete,
  marketPrice.marketPricePut,
  marketPrice.marketPriceList,
  provider.providerList,
  event.eventList,
  event.eventRetrieve,
  webhookEndpoint.webhookCreate,
  webhookEndpoint.webhookList,
  webhookEndpoint.webhookRetrieve,
  webhookEndpoint.webhookUpdate,
  webhookEndpoint.webhookDelete,
  webhookEndpoint.webhookSecretRotate,
  webhookDelivery.webhookTest,
  webhookDelivery.webhookDeliveryList,
  webhookDelivery.webhookDeliveryRetrieve,
  webhookDelivery.webhookAttemptList,
  webhookDelivery.webhookDeliveryResend,
  webhookResend.webhookResendCreate,
  webhookResend.webhookResendRetrieve,
  user.userCreate,
  user.userList,
  user.userRetrieve,
  user.userUpdate,
  user.userDelete,
  user.userLinkCreate,
  user.userPasswordDelete,
  user.userProviderLoginDelete,
]
