import type { ApiVersion } from '../../contract/api-version.ts'
import { isId } from '../../domain/identifier.ts'
import { noNamedObject } from '../../domain/no-object.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { Customer } from '../../domain/registry/customer.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { newConnectToken, newId } from '../../platform/ids/new-id.ts'
import { retrieveTariff } from '../../platform/postgres/pricing/tariffs.ts'
import { retrieveCustomer } from '../../platform/postgres/registry/customers.ts'
import { retrieveLocation } from '../../platform/postgres/registry/locations.ts'
import { type TenantTransaction, withTenant } from '../../platform/postgres/transaction.ts'
import { change, tenantOf } from '../../query-service/change.ts'
import type { ConnectDraft } from '../contract/connect-draft.ts'
import {
  connectSessionRetrieve,
  connectTokenCreate,
  connectTokenRetrieve,
  connectTokenToWire,
  sessionToWire,
} from '../contract/connect-session.ts'
import { isWaitingForProvider } from '../domain/completed-session.ts'
import { type ConnectConfig, newConnectState } from '../domain/session.ts'
import {
  createConnectSession,
  findSessionByName,
  retrieveConnectSession,
  type StoredSession,
  summaryNameOf,
} from '../postgres/connect-sessions.ts'
import { type ConnectDependencies, sessionNote } from './connect-dependencies.ts'
import { isSessionPriced, sessionIdsOf } from './finish-session.ts'
import { locationOf } from './open-session.ts'

/** Time in ms for which a token is valid. */
const tokenLifetimeMs = 86_400_000

type TokenRequest = { readonly apiVersion: ApiVersion; readonly keyId: string; readonly at: number }

/** Check that the objects of a draft exist. Refuses `customer_not_found`, `location_not_found`, `tariff_not_found`. */
const validateReferences = async (
  transaction: TenantTransaction,
  { request }: ConnectDraft,
): Promise<Result<Pick<ConnectConfig, 'direction' | 'type'> | null>> => {
  const { customerId, locationId, tariffId } = request
  if (customerId !== null && (await retrieveCustomer(transaction, customerId)) === null) {
    return noNamedObject('customer', 'customer_id')
  }
  if (locationId !== null && (await retrieveLocation(transaction, locationId)) === null) {
    return noNamedObject('location', 'location_id')
  }
  if (tariffId === null) return accepted(null)
  const tariff = await retrieveTariff(transaction, tariffId)
  if (tariff === null || (locationId !== null && tariff.locationId !== locationId)) {
    return refused('tariff_not_found', 'No tariff of this location has this id', 'tariff_id')
  }
  return accepted({ direction: tariff.direction, type: tariff.type })
}

/**
 * Find the customer of a session's location; null if the location is new or has none, or if the caller names a
 * customer.
 */
const customerOfLocation = async (
  transaction: TenantTransaction,
  request: Omit<StoredSession['request'], 'callbackUrl'>,
): Promise<Customer | null> => {
  if (request.customerId !== null || request.customerReferenceId !== null) return null
  const location = await locationOf(transaction, { locationId: null, request })
  return location?.customerId === null || location === null ? null : retrieveCustomer(transaction, location.customerId)
}

/** Create a session for a draft. Only a hash of the returned token is stored. Refuses unknown objects of the draft. */
export const makeSession = async (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  draft: ConnectDraft,
  { apiVersion, keyId, at }: TokenRequest,
): Promise<Result<{ readonly session: StoredSession; readonly token: string }>> => {
  const renewedKind = await validateReferences(transaction, draft)
  if (!renewedKind.ok) return renewedKind
  const { options, address, request } = draft
  const tariff = request.tariffId === null ? null : await retrieveTariff(transaction, request.tariffId)
  const customer = await customerOfLocation(transaction, {
    ...request,
    locationId: tariff?.locationId ?? request.locationId,
  })
  const token = newConnectToken()
  const [id] = sessionIdsOf(dependencies, token)
  const type = renewedKind.value?.type ?? draft.type ?? 'COMMODITY'
  const config: ConnectConfig = {
    layout: apiVersion,
    summaryName: draft.summaryName ?? (await summaryNameOf(transaction)),
    direction: renewedKind.value?.direction ?? draft.direction ?? 'IMPORT',
    type,
    disconnect: options.disconnect_tariff,
    edit: options.edit_tariff || request.tariffId !== null,
    editsWhenComplete: options.edit_tariff,
    capturesAdvanced: options.advanced_tariff_capture,
    capturesName: options.tariff_name_capture,
    capturesTerm: options.contract_term_capture,
  }
  const { accountId, liveMode } = transaction
  const session: StoredSession = {
    accountId,
    liveMode,
    id,
    sessionId: newId('connectSessionName', at),
    keyId,
    config,
    request: {
      ...request,
      customerReferenceId: customer?.referenceId ?? request.customerReferenceId,
      callbackUrl: request.callbackUrl ?? '',
      locationId: tariff?.locationId ?? request.locationId,
    },
    state: { ...newConnectState, address },
    customerId: customer?.id ?? null,
    locationId: null,
    tariffId: null,
    savedPrint: null,
    replaced: [],
    completeAction: null,
    completedAt: null,
    announcedAt: null,
    createdAt: at,
    expiresAt: at + tokenLifetimeMs,
  }
  await createConnectSession(transaction, session)
  return accepted({ session, token })
}

const notFinished = refused(
  'pending_connect',
  'The person has not finished this session yet. Send the request again later',
)
const notDelivered = refused('pending_connect', 'The provider has not delivered the tariff yet.')
const noSession = refused('not_found', 'No Connect session has this token, or it has expired')

/** Return a complete session. `token` is null if the caller named the session by its id. */
const showSession = async (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  session: StoredSession | null,
  { token, apiVersion, at }: { readonly token: string | null; readonly apiVersion: ApiVersion; readonly at: number },
) => {
  if (session === null || session.expiresAt <= at) return noSession
  if (session.completedAt === null) return isWaitingForProvider(session.state) ? notDelivered : notFinished
  const hasPrice = await isSessionPriced(dependencies, transaction, session, at)
  return accepted(sessionToWire({ ...session, token, isPriced: hasPrice }, apiVersion))
}

/** Bind the operations on Connect tokens. */
export const connectTokenOperations = (dependencies: ConnectDependencies): readonly Binding[] => [
  bind(connectTokenCreate, async request => {
    const { body: draft, apiVersion, caller, at } = request
    if (apiVersion === 'current' && draft.request.connectUrl === null) {
      return refused(
        'field_required',
        'connect_url is required. Send the URL to which the browser returns after a login at a provider',
        'connect_url',
      )
    }
    return change(dependencies, connectTokenCreate, request, async transaction => {
      const created = await makeSession(dependencies, transaction, draft, { apiVersion, keyId: caller.keyId, at })
      if (!created.ok) return created
      const { session, token } = created.value
      const value = connectTokenToWire({ ...session, token, isPriced: false })
      return accepted({ value, events: [], audit: [sessionNote(connectTokenCreate, session)] })
    })
  }),
  bind(connectTokenRetrieve, async request => {
    const { connect_token: token } = request.query
    if (!isId('connectSession', token)) return noSession
    return withTenant(dependencies.database, tenantOf(request), async transaction => {
      const session = await retrieveConnectSession(transaction, sessionIdsOf(dependencies, token))
      return showSession(dependencies, transaction, session, { ...request, token })
    })
  }),
  bind(connectSessionRetrieve, async request =>
    withTenant(dependencies.database, tenantOf(request), async transaction => {
      const session = isId('connectSessionName', request.id) ? await findSessionByName(transaction, request.id) : null
      return showSession(dependencies, transaction, session, { ...request, token: null })
    }),
  ),
]
