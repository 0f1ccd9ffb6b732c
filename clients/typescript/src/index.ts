import { type Client, type ClientOptions, createAnyClient } from './client.js'
import {
  apiVersion,
  type Inputs,
  integers,
  type Operations,
  operations,
  type WebhookEvent,
} from './generated/current/operations.gen.js'
import type { MeterBatch, MeterRecordInput } from './generated/current/types.gen.js'
import { type Delivery, verifyDelivery } from './webhooks.js'

export type { ClientOptions } from './client.js'
export { type Decimal, decimal, fromUnits, isDecimal, toUnits } from './decimal.js'
export { ApiError, ConnectionError, type ErrorCode, WattledgerError, WebhookVerificationError } from './errors.js'
export { parseExact, writeExact } from './exact-json.js'
export type { WebhookEvent } from './generated/current/operations.gen.js'
export type * from './generated/current/types.gen.js'
export type { CallOptions, Input } from './operation.js'
export type { Page, Pages } from './pages.js'
export type { Delivery } from './webhooks.js'

/** Client of the current API version. */
export type Wattledger = Client<Operations, Inputs, MeterRecordInput, MeterBatch>

/** Create a client of the current API version. */
export const createClient = (options: ClientOptions): Wattledger =>
  createAnyClient({ apiVersion, integers, operations }, options) as unknown as Wattledger

/** Check a webhook delivery and return its event. Throws a WebhookVerificationError. */
export const verifyWebhook = (delivery: Delivery): WebhookEvent => verifyDelivery(delivery, integers) as WebhookEvent
