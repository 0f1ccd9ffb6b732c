import { z } from 'zod'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { orNull } from '../answer-field.ts'
import { isJsonNumber, numberText } from '../json/exact-number.ts'
import { isJsonObject } from '../json/json-path.ts'
import { readJson } from '../json/strict-json.ts'
import { defineOperation, sameRoute } from '../operation.ts'
import { tariffDirections, tariffTypes } from '../tariffs/tariff-draft.ts'
import { connectTag } from './connect-session.ts'
import type { PageData } from './read-page.ts'

/** One call of a client: whatever it sends besides is not looked at. */
export type ConnectCall = {
  readonly token: string | null
  readonly route: string | null
  readonly action: string | null
  /** Null where there is none. */
  readonly data: PageData | null
  /** The same with its numbers, to be handed on as it came. */
  readonly sentData: Readonly<Record<string, unknown>> | null
  /** Whether the answer shall name the account: our own page shows its logo, privacy notice and terms. */
  readonly wantsAccount: boolean
}

/** The members of pages that are numbers; a number anywhere else is no text. */
const numberMembers: ReadonlySet<string> = new Set(
  'cost fixed percentage to_kwh surcharge_fixed surcharge_percentage dates'.split(' '),
)

/** Write the numbers of number members as the texts that were sent: the pages judge them, and no digit is lost. Others stay numbers. */
const numbersToTexts = (value: unknown, name = ''): unknown => {
  if (isJsonNumber(value)) return numberMembers.has(name) ? numberText(value) : Number(numberText(value))
  if (Array.isArray(value)) return value.map(one => numbersToTexts(one, name))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([member, one]) => [member, numbersToTexts(one, member)]))
}

type NullableText = string | null

const textOrNull = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : null

/** What of a call could be read, for the error that answers it. */
export type ConnectCallResult = { readonly call: ConnectCall; readonly fault: Result<null> }

const emptyCall: ConnectCall = {
  token: null,
  route: null,
  action: null,
  data: null,
  sentData: null,
  wantsAccount: false,
}

/**
 * Read a call in steps, leniently: its media type says nothing, and unknown members are left out.
 * The fault is `body_invalid` for what is no JSON object, `data_json_invalid` where `data` is none.
 */
export function* readConnectCall(bytes: Uint8Array): Generator<void, ConnectCallResult> {
  const parsed = yield* readJson(bytes)
  if (!parsed.ok) return { call: emptyCall, fault: parsed }
  const body = parsed.value
  if (!isJsonObject(body)) return { call: emptyCall, fault: refused('body_invalid', 'The body must be an object') }
  const [token, route, action] = ['connect_token', 'route', 'action'].map(name => textOrNull(body[name])) as [
    NullableText,
    NullableText,
    NullableText,
  ]
  const call = { ...emptyCall, token, route, action, wantsAccount: body['include_account'] === true }
  const data = body['data'] ?? null
  if (data === null) return { call, fault: accepted(null) }
  if (!isJsonObject(data)) return { call, fault: refused('data_json_invalid', 'data must be an object', 'data') }
  return { call: { ...call, data: numbersToTexts(data) as PageData, sentData: data }, fault: accepted(null) }
}

const pageShape = z.object({
  connect_token: z.string().describe('The token for the next call.'),
  route: z.string().describe('The page that the person is on now.'),
  type: z.enum(tariffTypes),
  direction: z.enum(tariffDirections).optional(),
  live_mode: z.boolean(),
  actions: z.array(z.string()).describe('The buttons of the page.'),
  data: z.record(z.string(), z.unknown()).describe('What the page shows.'),
  account: z
    .object({
      display_name: z.string(),
      privacy_url: orNull(z.string()),
      terms_url: orNull(z.string()),
      logo_url: z.string().optional(),
    })
    .optional()
    .describe('The account of the session, if the call has include_account: true.'),
})

export type ConnectPage = z.input<typeof pageShape>

type AccountOnPage = {
  readonly displayName: string
  readonly privacyUrl: string | null
  readonly termsUrl: string | null
  readonly logoUrl: string | null
}

/** Write an account as the pages of Connect and the login of a provider show it; null if the account is gone. */
export const accountOnPage = (account: AccountOnPage | null): NonNullable<ConnectPage['account']> => ({
  display_name: account?.displayName ?? '',
  privacy_url: account?.privacyUrl ?? null,
  terms_url: account?.termsUrl ?? null,
  ...(account?.logoUrl ? { logo_url: account.logoUrl } : {}),
})

const token = 'cot_0198c0ffee00112233445566778899aa'

export const connectStep = defineOperation({
  id: 'connect_step',
  context: 'connect.session',
  summary: 'Take a step in a Connect session',
  description:
    'Begin with the route session_start; each answer names the page that follows, its data and its buttons. Post the data of a page under its route, or an action such as BACK or CLOSE. The token is all the authority that a call needs.',
  tag: connectTag,
  access: 'open',
  routes: sameRoute('POST', '/connect'),
  body: 'raw',
  anyMediaType: true,
  anyQuery: true,
  anyVersion: true,
  cors: true,
  bodyDocument: z.looseObject({
    connect_token: z.string(),
    route: z.string().optional(),
    action: z.string().optional(),
    data: z.looseObject({}).optional(),
    include_account: z.boolean().optional().describe('Whether the answer names the account of the session.'),
  }),
  answer: { name: 'ConnectPage', shape: pageShape },
  status: 200,
  refusals: [
    'connect_token_missing',
    'connect_token_invalid',
    'route_invalid',
    'action_invalid',
    'action_missing',
    'data_json_invalid',
  ],
  examples: {
    body: { connect_token: token, route: 'session_start' },
    answer: {
      connect_token: token,
      route: 'postal_address_capture',
      type: 'COMMODITY',
      live_mode: false,
      actions: ['BACK', 'CLOSE'],
      data: { postal_address: { country_code: 'GB' } },
    },
  },
})
