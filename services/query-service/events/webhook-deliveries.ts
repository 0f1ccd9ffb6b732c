import {
  webhookAttemptList,
  webhookAttemptToWire,
  webhookDeliveryList,
  webhookDeliveryResend,
  webhookDeliveryRetrieve,
  webhookDeliveryToWire,
  webhookTest,
} from '../../contract/events/webhook-delivery.ts'
import { webhookEndpointToWire } from '../../contract/events/webhook-endpoint.ts'
import {
  webhookResendCreate,
  webhookResendRetrieve,
  webhookResendToWire,
} from '../../contract/events/webhook-resend.ts'
import type { Operation, RequestOf } from '../../contract/operation.ts'
import { testEventType } from '../../domain/event-types.ts'
import { noObject } from '../../domain/no-object.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import {
  createTestDelivery,
  listAttempts,
  listDeliveries,
  resendDelivery,
  retrieveDelivery,
} from '../../platform/postgres/webhooks/webhook-deliveries.ts'
import { retrieveEndpoint, type StoredEndpoint } from '../../platform/postgres/webhooks/webhook-endpoints.ts'
import { createResend, retrieveResend } from '../../platform/postgres/webhooks/webhook-resends.ts'
import { change, tenantOf } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { answerList } from '../list.ts'
import { noEndpoint } from './webhooks.ts'

const noDelivery = noObject('delivery of this webhook endpoint')

const endpointDisabled = refused(
  'webhook_endpoint_disabled',
  'This webhook endpoint is disabled. Set its status to ENABLED first',
)

/** Find the endpoint of a request that sends an event. Refuses `not_found` and `webhook_endpoint_disabled`. */
const enabledEndpoint = async (transaction: TenantTransaction, id: string): Promise<Result<StoredEndpoint>> => {
  const endpoint = await retrieveEndpoint(transaction, id)
  if (endpoint === null) return noEndpoint
  return endpoint.disabledReason === null ? accepted(endpoint) : endpointDisabled
}

const pathParameter = ({ parameters }: Pick<RequestOf<Operation>, 'parameters'>, name: string): string =>
  parameters[name] ?? ''

const deliveryBindings = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  bind(webhookTest, request =>
    change(dependencies, webhookTest, request, async transaction => {
      const endpoint = await enabledEndpoint(transaction, request.id)
      if (!endpoint.ok) return endpoint
      const event = { type: testEventType, data: webhookEndpointToWire(endpoint.value) }
      const delivery = await createTestDelivery(transaction, request.id, event, request.at)
      return accepted({ value: webhookDeliveryToWire(delivery), events: [] })
    }),
  ),
  bind(webhookDeliveryList, request =>
    answerList(
      dependencies,
      request,
      `/webhooks/${request.id}/deliveries`,
      async (transaction, page) => {
        if ((await retrieveEndpoint(transaction, request.id)) === null) return noEndpoint
        const { status = null, event_id: eventId = null } = request.query
        return listDeliveries(transaction, request.id, { status, eventId }, page)
      },
      deliveries => deliveries.map(webhookDeliveryToWire),
    ),
  ),
  bind(webhookDeliveryRetrieve, request =>
    withTenant(dependencies.database, tenantOf(request), async transaction => {
      if ((await retrieveEndpoint(transaction, request.id)) === null) return noEndpoint
      const delivery = await retrieveDelivery(transaction, request.id, pathParameter(request, 'delivery_id'))
      return delivery === null ? noDelivery : accepted(webhookDeliveryToWire(delivery))
    }),
  ),
  bind(webhookAttemptList, request => {
    const deliveryId = pathParameter(request, 'delivery_id')
    return answerList(
      dependencies,
      request,
      `/webhooks/${request.id}/deliveries/${deliveryId}/attempts`,
      async (transaction, page) => {
        if ((await retrieveEndpoint(transaction, request.id)) === null) return noEndpoint
        if ((await retrieveDelivery(transaction, request.id, deliveryId)) === null) return noDelivery
        return listAttempts(transaction, deliveryId, page)
      },
      attempts => attempts.map(webhookAttemptToWire),
    )
  }),
  bind(webhookDeliveryResend, request =>
    change(dependencies, webhookDeliveryResend, request, async transaction => {
      const endpoint = await enabledEndpoint(transaction, request.id)
      if (!endpoint.ok) return endpoint
      const delivery = await resendDelivery(transaction, request.id, pathParameter(request, 'delivery_id'), request.at)
      return delivery.ok ? accepted({ value: webhookDeliveryToWire(delivery.value), events: [] }) : delivery
    }),
  ),
]

/** Bind the operations on deliveries, attempts and resends of webhook endpoints. */
export const webhookDeliveryOperations = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  ...deliveryBindings(dependencies),
  bind(webhookResendCreate, request =>
    change(dependencies, webhookResendCreate, request, async transaction => {
      const endpoint = await enabledEndpoint(transaction, request.id)
      if (!endpoint.ok) return endpoint
      const { start_time: start, end_time: end, include_delivered: includeDelivered = false } = request.body
      const draft = { endpointId: request.id, from: start.at, to: end.at, includeDelivered }
      return accepted({ value: webhookResendToWire(await createResend(transaction, draft, request.at)), events: [] })
    }),
  ),
  bind(webhookResendRetrieve, async request => {
    const resend = await withTenant(dependencies.database, tenantOf(request), async transaction =>
      (await retrieveEndpoint(transaction, request.id)) === null
        ? null
        : retrieveResend(transaction, request.id, pathParameter(request, 'resend_id')),
    )
    return resend === null ? noObject('resend of this webhook endpoint') : accepted(webhookResendToWire(resend))
  }),
]
