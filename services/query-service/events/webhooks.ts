import { apiVersionDates } from '../../contract/api-version.ts'
import {
  endpointFor,
  refuseFilters,
  webhookCreate,
  webhookDelete,
  webhookEndpointToWire,
  webhookList,
  webhookPatch,
  webhookRetrieve,
  webhookSecretRotate,
  webhookUpdate,
} from '../../contract/events/webhook-endpoint.ts'
import { refuseFixedChange } from '../../contract/fixed-member.ts'
import { noObject } from '../../domain/no-object.ts'
import { accepted, refused } from '../../domain/refusal.ts'
import { rotateSecret } from '../../domain/webhook/secret-rotation.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import {
  createEndpoint,
  deleteEndpoint,
  listEndpoints,
  replaceSecrets,
  retrieveEndpoint,
  type StoredEndpoint,
  updateEndpoint,
} from '../../platform/postgres/webhooks/webhook-endpoints.ts'
import { newWebhookSecret, webhookSeal } from '../../platform/postgres/webhooks/webhook-secret.ts'
import { type Change, change, omitUndefined } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { answerList, answerOne } from '../list.ts'

export const noEndpoint = noObject('webhook endpoint')

/** Describe a change of an endpoint. The audit entry contains the endpoint without its secret. */
const auditedChange = <T>(action: string, endpoint: StoredEndpoint, value: T): Change<T> => ({
  value,
  events: [],
  audit: [{ action: `webhook_endpoint.${action}`, objectId: endpoint.id, detail: webhookEndpointToWire(endpoint) }],
})

const createBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(webhookCreate, async request => {
    const { url: givenUrl, event_types: eventTypes = ['*'], description = null, api_version: version } = request.body
    const filterRefusal = refuseFilters(eventTypes)
    if (filterRefusal !== null) return { ok: false, refusal: filterRefusal }
    const requestVersion = apiVersionDates[request.apiVersion]
    if (version !== undefined && version !== requestVersion) {
      return refused(
        'field_invalid',
        `api_version must be ${requestVersion}, the Api-Version of this request. Change the header to use another version`,
        'api_version',
      )
    }
    const url = await dependencies.validateWebhookUrl(givenUrl, request.caller.liveMode)
    if (!url.ok) return url
    const secret = newWebhookSecret()
    const { seal } = webhookSeal(dependencies.secret)
    return change(dependencies, webhookCreate, request, async transaction => {
      const draft = {
        url: url.value,
        eventTypes,
        description,
        apiVersion: request.apiVersion,
        sealedSecret: (id: string) => seal(secret, id),
      }
      const outcome = await createEndpoint(transaction, draft, request.at)
      return outcome.ok
        ? accepted(auditedChange('create', outcome.value, { ...webhookEndpointToWire(outcome.value), secret }))
        : outcome
    })
  })

const updateBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(webhookUpdate, async request => {
    const { url: givenUrl, event_types: eventTypes, description, status } = request.body
    const url =
      givenUrl === undefined
        ? accepted(undefined)
        : await dependencies.validateWebhookUrl(givenUrl, request.caller.liveMode)
    if (!url.ok) return url
    const isEnabled = status === undefined ? undefined : status === 'ENABLED'
    const patch = omitUndefined({ url: url.value, eventTypes, description, isEnabled })
    return change(dependencies, webhookUpdate, request, async transaction => {
      const before = await retrieveEndpoint(transaction, request.id)
      const fixedFieldRefusal =
        before === null
          ? null
          : refuseFixedChange(request.body, webhookEndpointToWire(before), Object.keys(webhookPatch))
      if (fixedFieldRefusal !== null) return { ok: false, refusal: fixedFieldRefusal }
      const filterRefusal = refuseFilters(eventTypes ?? [], before?.eventTypes ?? [])
      if (filterRefusal !== null) return { ok: false, refusal: filterRefusal }
      const outcome = await updateEndpoint(transaction, request.id, patch, request.at)
      return outcome.ok
        ? accepted(auditedChange('update', outcome.value, webhookEndpointToWire(outcome.value)))
        : outcome
    })
  })

const rotateBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(webhookSecretRotate, request =>
    change(dependencies, webhookSecretRotate, request, async transaction => {
      const endpoint = await retrieveEndpoint(transaction, request.id, { forUpdate: true })
      if (endpoint === null) return noEndpoint
      const secret = newWebhookSecret()
      const sealedSecret = webhookSeal(dependencies.secret).seal(secret, endpoint.id)
      await replaceSecrets(transaction, endpoint.id, rotateSecret(endpoint.secrets, sealedSecret, request.at))
      return accepted(auditedChange('rotate_secret', endpoint, { ...webhookEndpointToWire(endpoint), secret }))
    }),
  )

/** Bind the operations on webhook endpoints. */
export const webhookOperations = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  createBinding(dependencies),
  bind(webhookList, request =>
    answerList(
      dependencies,
      request,
      '/webhooks',
      (transaction, page) => listEndpoints(transaction, page),
      endpoints => endpoints.map(webhookEndpointToWire).map(endpointFor(request.caller.scope)),
    ),
  ),
  bind(webhookRetrieve, request =>
    answerOne(dependencies, request, retrieveEndpoint, noEndpoint, endpoint =>
      endpointFor(request.caller.scope)(webhookEndpointToWire(endpoint)),
    ),
  ),
  updateBinding(dependencies),
  bind(webhookDelete, request =>
    change(dependencies, webhookDelete, request, async transaction => {
      const deleted = await deleteEndpoint(transaction, request.id, request.at)
      return deleted.ok ? accepted(auditedChange('delete', deleted.value, { message: 'Accepted' as const })) : deleted
    }),
  ),
  rotateBinding(dependencies),
]
