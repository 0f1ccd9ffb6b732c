import { z } from 'zod'
import { idText, instantText, orNull, storedMembers } from '../../contract/answer-field.ts'
import type { ApiVersion } from '../../contract/api-version.ts'
import {
  connectSessionRenames,
  connectSessionShape,
  sessionAnswerRenames,
} from '../../contract/events/connect-session.ts'
import { text } from '../../contract/field.ts'
import { defineOperation } from '../../contract/operation.ts'
import { parameters } from '../../contract/parameter.ts'
import { customerOnly, locationOnly } from '../../contract/reference.ts'
import { tariffDirections, tariffTypes } from '../../contract/tariffs/tariff-draft.ts'
import { writeInstant } from '../../domain/instant.ts'
import type { TariffDirection, TariffType } from '../../domain/tariff/tariff.ts'
import type { Tenant } from '../../domain/tenant.ts'
import type { ConnectRequest } from '../domain/session.ts'
import { sessionDraft, sessionRenames } from './connect-draft.ts'

const connectTokenShape = z.object({
  id: idText('cot').describe('Same as connect_token.'),
  connect_token: idText('cot').describe('Gives full access to the session. Send the token to the browser only.'),
  session_id: idText('fps').describe('Id of the session in events and requests. This id is not a credential.'),
  object: z.literal('connect_session'),
  expires_in: z.int(),
  live_mode: storedMembers.live_mode,
  customer_id: orNull(idText('cus')),
  customer_reference_id: orNull(z.string()),
  location_id: orNull(idText('loc')),
  location_reference_id: orNull(z.string()),
  tariff_direction: z.enum(tariffDirections),
  tariff_type: z.enum(tariffTypes),
  price_available: z.boolean().describe('True if the tariff has prices. A new session has no tariff.'),
  connect_url: orNull(z.string()),
  callback_url: z.string(),
  time_created: instantText,
  time_expiry: instantText,
  account_id: storedMembers.account_id,
})

export const connectTokenAnswer = { name: 'ConnectToken', shape: connectTokenShape }

/** Data of a session answer; `token` is null if the caller did not send the token. Instants in ms. */
export type SessionView = Tenant & {
  readonly token: string | null
  readonly sessionId: string
  readonly request: ConnectRequest
  readonly config: { readonly direction: TariffDirection; readonly type: TariffType }
  readonly customerId: string | null
  readonly locationId: string | null
  readonly completeAction: 'SAVE' | 'DISCONNECT' | null
  readonly isPriced: boolean
  readonly createdAt: number
  readonly expiresAt: number
}

const sharedMembersToWire = (view: SessionView) => ({
  live_mode: view.liveMode,
  customer_id: view.customerId ?? view.request.customerId,
  customer_reference_id: view.request.customerReferenceId,
  location_id: view.locationId ?? view.request.locationId,
  location_reference_id: view.request.locationReferenceId,
})

const timesToWire = (view: SessionView) => ({
  time_created: writeInstant(view.createdAt),
  time_expiry: writeInstant(view.expiresAt),
  account_id: view.accountId,
})

/** Write a new session with its token. */
export const connectTokenToWire = (
  view: SessionView & { readonly token: string },
): z.input<typeof connectTokenShape> => ({
  id: view.token,
  connect_token: view.token,
  session_id: view.sessionId,
  object: 'connect_session',
  expires_in: Math.round((view.expiresAt - view.createdAt) / 1000),
  ...sharedMembersToWire(view),
  tariff_direction: view.config.direction,
  tariff_type: view.config.type,
  price_available: view.isPriced,
  connect_url: view.request.connectUrl,
  callback_url: view.request.callbackUrl,
  ...timesToWire(view),
})

/** Write a complete session, for its retrieval and its event. The event has no token. */
export const sessionToWire = (
  view: SessionView,
  apiVersion: ApiVersion = 'current',
): z.input<typeof connectSessionShape> => ({
  ...(view.token === null ? {} : { id: view.token }),
  session_id: view.sessionId,
  object: 'connect_session',
  ...sharedMembersToWire(view),
  price_available: view.isPriced,
  ...(apiVersion === 'current' || view.completeAction === null ? {} : { complete_action: view.completeAction }),
  ...timesToWire(view),
})

export const connectTag = 'Connect'
const token = 'cot_0198c0ffee00112233445566778899aa'
export const connectRefusals = ['customer_not_found', 'location_not_found', 'tariff_not_found'] as const

const exampleAnswer = {
  id: token,
  connect_token: token,
  session_id: 'fps_0198c0ffee00112233445566',
  object: 'connect_session',
  expires_in: 86_400,
  live_mode: false,
  customer_id: null,
  customer_reference_id: 'household-17',
  location_id: null,
  location_reference_id: 'home-17',
  tariff_direction: 'IMPORT',
  tariff_type: 'COMMODITY',
  price_available: false,
  connect_url: 'https://app.example.com/connect',
  callback_url: 'https://app.example.com/done',
  time_created: '2025-09-14T10:00:00Z',
  time_expiry: '2025-09-15T10:00:00Z',
  account_id: 'acc_0198c0ffee00112233445566',
}

export const connectTokenCreate = defineOperation({
  id: 'connect_token_create',
  summary: 'Create a Connect token',
  description:
    'Creates a session in which a person connects a tariff to a location, page by page. Send the token to the browser. The token gives full access to the session for 24 hours, in the API version and mode of this request. Ten minutes after the session has saved a tariff, the token can only read the result, unless actions.edit_tariff is set. If a Connect page shows “Unknown route: tariffs_summary”, set route_options.summary_route to tariff_summary.',
  tag: connectTag,
  access: 'all',
  routes: {
    current: [{ method: 'POST', path: '/connect/token' }],
    earlier: [{ method: 'POST', path: '/connect/tariff/token' }],
  },
  references: { body: { customer_id: customerOnly, location_id: locationOnly } },
  body: sessionDraft,
  answer: connectTokenAnswer,
  status: 200,
  idempotent: true,
  secretAnswer: true,
  renames: { body: sessionRenames(), answer: [...sessionRenames(), ...sessionAnswerRenames] },
  refusals: ['field_required', ...connectRefusals],
  examples: {
    body: {
      connect_url: 'https://app.example.com/connect',
      callback_url: 'https://app.example.com/done',
      customer_reference_id: 'household-17',
      location_reference_id: 'home-17',
      route_options: { contract_term_capture: true },
      postal_address: { country_code: 'GB' },
    },
    answer: exampleAnswer,
  },
})

export const connectTokenRetrieve = defineOperation({
  id: 'connect_token_retrieve',
  summary: 'Retrieve a Connect session',
  description:
    'Returns the result of a session. The answer is pending_connect until the session is complete. The session expires after 24 hours.',
  tag: connectTag,
  access: 'read',
  routes: {
    current: [{ method: 'GET', path: '/connect/token' }],
    earlier: [{ method: 'GET', path: '/connect/tariff/token' }],
  },
  query: parameters({ connect_token: text() }),
  answer: { name: 'ConnectSession', shape: connectSessionShape },
  status: 200,
  renames: {
    answer: connectSessionRenames,
  },
  refusals: ['pending_connect', 'not_found'],
})

const retrieveRenames = connectTokenRetrieve.renames

export const connectSessionRetrieve = defineOperation({
  id: 'connect_session_retrieve',
  summary: 'Retrieve a Connect session by its id',
  description:
    'Returns the result of a session, without its token. The session_id is in the answer that created the token and in the event connect_session.complete. The answer is pending_connect until the session is complete. The session expires after 24 hours.',
  tag: connectTag,
  access: 'read',
  routes: {
    current: [{ method: 'GET', path: '/connect/token/{id}' }],
    earlier: [{ method: 'GET', path: '/connect/tariff/token/{id}' }],
  },
  answer: { name: 'ConnectSession', shape: connectSessionShape },
  status: 200,
  ...(retrieveRenames === undefined ? {} : { renames: retrieveRenames }),
  refusals: ['pending_connect', 'not_found'],
})
