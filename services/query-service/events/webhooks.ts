import { refuseFixedChange } from '../../contract/fixed-member.ts'
import { versionOf } from '../../contract/layout.ts'
import {
  refuseFilters,
  webhookCreate,
  webhookDelete,
  webhookEndpointToWire,
  webhookList,
  webhookPatch,
  webhookRetrieve,
  webhookSecretRotate,
  webhookUpdate,
} from '../../contract/webhook-endpoint.ts'
import { accepted, refused } from '../../domain/refusal.ts'
import { rotateSecret } from '../../domain/webhook/secret-rotation.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import {
  createEndpoint,
  deleteEndpoint,
  listEndpoints,
  replaceSecrets,
  retrieveEndpoint,
  type StoredEndpoint,
  updateEndpoint,
} from '../../platform/postgres/webhook-endpoints.ts'
import { mintWebhookSecret, webhookSeal } from '../../platform/postgres/webhook-secret.ts'
import { type Change, change, tenantOf } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { answerList } from '../list.ts'
import { present } from '../present.ts'

export const noEndpoint = refused('not_found', 'No webhook endpoint has this id')

/** What auditors read: the endpoint as it is now, without its secret. */
const audited = <T>(action: string, endpoint: StoredEndpoint, value: T): Change<T> => ({
  value,
  events: [],
  audit: [{ action: `webhook_endpoint.${action}`, objectId: endpoint.id, detail: webhookEndpointToWire(endpoint) }],
})

const createBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(webhookCreate, async request => {
    const { url: given, event_types: eventTypes = ['*'], description = null, api_version: version } = request.body
    const unknown = refuseFilters(eventTypes)
    if (unknown !== null) return { ok: false, refusal: unknown }
    const ownVersion = versionOf[request.layout]
    if (version !== undefined && version !== ownVersion) {
      return refused(
        'field_invalid',
        `api_version must be ${ownVersion}, the Api-Version of this request; send the other one as the header`,
        'api_version',
      )
    }
    const url = await dependencies.judgeWebhookUrl(given, request.caller.liveMode)
    if (!url.ok) return url
    const secret = mintWebhookSecret()
    const { seal } = webhookSeal(dependencies.secret)
    return change(dependencies, webhookCreate, request, async transaction => {
      const draft = { url: url.value, eventTypes, description, layout: request.layout, sealedSecret: (id: string) => seal(secret, id) }
      const made = await createEndpoint(transaction, draft, request.at)
      return made.ok ? accepted(audited('create', made.value, { ...webhookEndpointToWire(made.value), secret })) : made
    })
  })

const updateBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(webhookUpdate, async request => {
    const { url: given, event_types: eventTypes, description, status } = request.body
    const url = given === undefined ? accepted(undefined) : await dependencies.judgeWebhookUrl(given, request.caller.liveMode)
    if (!url.ok) return url
    const isEnabled = status === undefined ? undefined : status === 'ENABLED'
    const patch = present({ url: url.value, eventTypes, description, isEnabled })
    return change(dependencies, webhookUpdate, request, async transaction => {
      const before = await retrieveEndpoint(transaction, request.id)
      const fixed = before === null ? null : refuseFixedChange(request.body, webhookEndpointToWire(before), Object.keys(webhookPatch))
      if (fixed !== null) return { ok: false, refusal: fixed }
      const unknown = refuseFilters(eventTypes ?? [], before?.eventTypes ?? [])
      if (unknown !== null) return { ok: false, refusal: unknown }
      const made = await updateEndpoint(transaction, request.id, patch, request.at)
      return made.ok ? accepted(audited('update', made.value, webhookEndpointToWire(made.value))) : made
    })
  })

const rotateBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(webhookSecretRotate, request =>
    change(dependencies, webhookSecretRotate, request, async transaction => {
      const endpoint = await retrieveEndpoint(transaction, request.id, { forUpdate: true })
      if (endpoint === null) return noEndpoint
      const secret = mintWebhookSecret()
      const sealed = webhookSeal(dependencies.secret).seal(secret, endpoint.id)
      await replaceSecrets(transaction, endpoint.id, rotateSecret(endpoint.secrets, sealed, request.at))
      return accepted(audited('rotate_secret', endpoint, { ...webhookEndpointToWire(endpoint), secret }))
    }),
  )

/** Bind the operations on webhook endpoints. */
export const webhookOperations = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  createBinding(dependencies),
  bind(webhookList, request =>
    answerList(
      dependencies,
      request,
      request.query,
      '/webhooks',
      (transaction, page) => listEndpoints(transaction, page),
      endpoints => endpoints.map(webhookEndpointToWire),
    ),
  ),
  bind(webhookRetrieve, async request => {
    const endpoint = await withTenant(dependencies.database, tenantOf(request), transaction => retrieveEndpoint(transaction, request.id))
    return endpoint === null ? noEndpoint : accepted(webhookEndpointToWire(endpoint))
  }),
  updateBinding(dependencies),
  bind(webhookDelete, request =>
    change(dependencies, webhookDelete, request, async transaction => {
      const deleted = await deleteEndpoint(transaction, request.id, request.at)
      return deleted.ok ? accepted(audited('delete', deleted.value, { message: 'Accepted' as const })) : deleted
    }),
  ),
  rotateBinding(dependencies),
]
