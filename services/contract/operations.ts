import * as account from './account.ts'
import * as connect from './connect.ts'
import * as connectBatch from './connect-batch.ts'
import * as connectCall from './connect-call.ts'
import * as customer from './customer.ts'
import * as device from './device.ts'
import * as energyCost from './energy-cost.ts'
import * as event from './event.ts'
import * as instantCost from './instant-cost.ts'
import * as location from './location.ts'
import * as locationStatus from './location-status.ts'
import * as market from './market.ts'
import * as marketPrice from './market-price.ts'
import * as meterBatch from './meter-batch.ts'
import * as meterCumulative from './meter-cumulative.ts'
import * as meterRecordRead from './meter-record-read.ts'
import type { Operation } from './operation.ts'
import * as price from './price.ts'
import * as priceAudit from './price-audit.ts'
import * as provider from './provider.ts'
import * as scheduleAmount from './schedule-amount.ts'
import * as scheduleDuration from './schedule-duration.ts'
import * as scheduleLimit from './schedule-limit.ts'
import * as tariff from './tariff.ts'
import * as webhookDelivery from './webhook-delivery.ts'
import * as webhookEndpoint from './webhook-endpoint.ts'
import * as webhookResend from './webhook-resend.ts'

/** Every operation of the interface, in the order of the reference page. */
export const operations: readonly Operation[] = [
  account.accountLogin,
  account.accountRetrieve,
  meterBatch.meterIntervalSubmit,
  meterCumulative.meterCumulativeSubmit,
  meterBatch.meterBatchRetrieve,
  meterBatch.meterBatchRead,
  meterRecordRead.meterRecordList,
  meterRecordRead.meterRecordRetrieve,
  instantCost.instantCost,
  energyCost.intervalCost,
  energyCost.sessionCost,
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
  tariff.tariffCreate,
  tariff.tariffList,
  tariff.tariffRetrieve,
  tariff.tariffUpdate,
  tariff.tariffDelete,
  price.priceRetrieve,
  priceAudit.priceAuditRetrieve,
  scheduleDuration.scheduleDuration,
  scheduleLimit.scheduleLimit,
  scheduleAmount.scheduleAmount,
  scheduleAmount.scheduleAmountRetrieve,
  market.marketCreate,
  market.marketList,
  market.marketRetrieve,
  market.marketDelete,
  marketPrice.marketPricePut,
  marketPrice.marketPriceList,
  provider.providerList,
  connect.connectTokenCreate,
  connect.connectTokenRetrieve,
  connect.connectSessionRetrieve,
  connectBatch.connectBatchImport,
  connectCall.connectStep,
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
]
