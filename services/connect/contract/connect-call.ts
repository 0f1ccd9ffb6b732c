import { z } from 'zod'
import { orNull } from '../../contract/answer-field.ts'
import { isJsonNumber, numberText } from '../../contract/json/exact-number.ts'
import { isJsonObject } from '../../contract/json/json-path.ts'
import { parseJson } from '../../contract/json/strict-json.ts'
import { defineOperation, sameRoute } from '../../contract/operation.ts'
import { rateNumberNames } from '../../contract/tariffs/rate.ts'
import { tariffDirections, tariffTypes } from '../../contract/tariffs/tariff-draft.ts'
import { readColor, shadeOnDark, shadeOnLight, writeColor } from '../../domain/brand-color.ts'
import { accepted, connectRefusalCodes, type Result, refused } from '../../domain/refusal.ts'
import type { AccountBrand, StoredAccount } from '../../domain/registry/account.ts'
import { connectTag } from './connect-session.ts'
import type { PageData } from './read-page.ts'

/** Call of a Connect client. Other members of the body are ignored. */
export type ConnectCall = {
  readonly token: string | null
  readonly route: string | null
  readonly action: string | null
  /** Data of the page, with numbers as texts; null without data. */
  readonly data: PageData | null
  /** Received data with its numbers, for the provider. */
  readonly sentData: Readonly<Record<string, unknown>> | null
  /** True if the answer includes the account, so that the page can show its logo, privacy notice and terms. */
  readonly wantsAccount: boolean
}

/** Number members of all pages. Other numbers stay numbers. */
const numberMembers: ReadonlySet<string> = new Set([...rateNumberNames, 'cost', 'amount', 'percentage', 'dates'])

/** Replace the numbers of number members with their texts, so that no digit is lost. The pages validate the texts. */
const numbersToTexts = (value: unknown, name = ''): unknown => {
  if (isJsonNumber(value)) return numberMembers.has(name) ? numberText(value) : Number(numberText(value))
  if (Array.isArray(value)) return value.map(one => numbersToTexts(one, name))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([member, one]) => [member, numbersToTexts(one, member)]))
}

type NullableText = string | null

const textOrNull = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : null

/** Readable part of a call, and its fault for the error answer. */
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
 * Read a call. Ignores the media type and unknown members.
 * The fault is `body_invalid` if the body is not a JSON object, `data_json_invalid` if `data` is not an object.
 */
export const readConnectCall = (bytes: Uint8Array): ConnectCallResult => {
  const parsed = parseJson(bytes)
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
  route: z.string().describe('The current page.'),
  type: z.enum(tariffTypes),
  direction: z.enum(tariffDirections).optional(),
  live_mode: z.boolean(),
  actions: z.array(z.string()).describe('The buttons of the page.'),
  data: z.record(z.string(), z.unknown()).describe('Content of the page.'),
  account: z
    .object({
      display_name: z.string(),
      privacy_url: orNull(z.string()),
      terms_url: orNull(z.string()),
      logo_url: z.string().optional(),
      brand_color: z
        .object({ light: z.string(), dark: z.string() })
        .optional()
        .describe('Colours of buttons and links on light and dark pages. People can read both.'),
    })
    .optional()
    .describe('The account of the session, if the call has include_account: true.'),
})

export type ConnectPage = z.input<typeof pageShape>

type AccountOnPage = AccountBrand & Pick<StoredAccount, 'displayName'>

/** Write the shades of a colour for light and dark pages; nothing without a colour. */
const brandColorOnPage = (text: string | null) => {
  const color = text === null ? null : readColor(text)
  if (color === null) return {}
  return { brand_color: { light: writeColor(shadeOnLight(color)), dark: writeColor(shadeOnDark(color)) } }
}

/** Write an account for the Connect pages. A null account was deleted; its name is empty. */
export const accountOnPage = (account: AccountOnPage | null): NonNullable<ConnectPage['account']> => ({
  display_name: account?.displayName ?? '',
  privacy_url: account?.privacyUrl ?? null,
  terms_url: account?.termsUrl ?? null,
  ...(account?.logoUrl ? { logo_url: account.logoUrl } : {}),
  ...brandColorOnPage(account?.brandColor ?? null),
})

const token = 'cot_0198c0ffee00112233445566778899aa'

export const connectStep = defineOperation({
  id: 'connect_step',
  unaudited: 'A step of a customer. Each customer, location, tariff and charge that it saves has its own entry.',
  context: 'connect.session',
  summary: 'Take a step in a Connect session',
  description:
    'Start with the route session_start. Each answer contains the next page, its data and its buttons. Send the data of a page with its route, or an action such as BACK or CLOSE. A call needs no credentials except the token.',
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
    include_account: z.boolean().optional().describe('True to include the account of the session in the answer.'),
  }),
  answer: { name: 'ConnectPage', shape: pageShape },
  status: 200,
  refusals: [
    ...connectRefusalCodes,
    'customer_not_found',
    'location_not_found',
    'geo_location_not_found',
    'currency_in_use',
    'reference_id_taken',
    'provider_not_found',
    'tariff_not_found',
    'tariff_overlap',
    'end_before_start',
    'currency_mismatch',
    'schedule_overlap',
    'schedule_gap',
    'schedule_invalid',
    'calendar_required',
    'day_type_not_found',
    'charge_invalid',
    'plan_managed',
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
