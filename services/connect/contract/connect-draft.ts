import { z } from 'zod'
import type { VersionRename } from '../../contract/earlier-api-version.ts'
import {
  fields,
  identifier,
  objectIdentifier,
  oneOf,
  optional,
  referenceId,
  refuseField,
  text,
} from '../../contract/field.ts'
import { countryCode } from '../../contract/registry/postal-address.ts'
import { tariffDirections, tariffTypes } from '../../contract/tariffs/tariff-draft.ts'
import type { TariffDirection, TariffType } from '../../domain/tariff/tariff.ts'
import { type SummaryName, summaryNames } from '../domain/page.ts'
import type { ConnectAddress, ConnectRequest } from '../domain/session.ts'
import { callbackUrl, connectUrl } from './connect-url.ts'

const flagFields = (...names: readonly string[]) =>
  fields(Object.fromEntries(names.map(name => [name, optional(z.boolean())])))

const addressFields = fields({
  address_line1: optional(text({ min: 0 })),
  address_line2: optional(text({ min: 0 })),
  city: optional(text({ min: 0 })),
  state: optional(text({ min: 0 })),
  post_code: optional(text({ min: 0 })),
  country_code: countryCode,
}).meta({ component: 'KnownAddress' })

type AddressInput = z.output<typeof addressFields>

/** Return the known parts of an address; blank parts are absent. */
export const knownAddress = (wire: AddressInput | undefined): ConnectAddress =>
  Object.fromEntries(
    Object.entries(wire ?? {}).flatMap(([part, value]) => ((value ?? '').trim() === '' ? [] : [[part, value?.trim()]])),
  )

const referenceAdvice = 'Cannot be combined with the reference.'
const addressDescription =
  'With a complete address, the address page is skipped. With country_code only, the page asks for the other parts.'

/** Members of a session request, in current names. */
const sessionFields = {
  connect_url: optional(connectUrl).describe(
    'Address of the page after a login at a provider; required in the current API version.',
  ),
  callback_url: callbackUrl.describe('Address of the page after the session. The parameter fp_cot is added.'),
  customer_id: optional(objectIdentifier('cus')).describe(referenceAdvice),
  customer_reference_id: optional(referenceId).describe(
    'Reference of an existing customer, or of the customer to create.',
  ),
  location_id: optional(objectIdentifier('loc')).describe(referenceAdvice),
  location_reference_id: optional(referenceId).describe(
    'Reference of an existing location, or of the location to create.',
  ),
  tariff_direction: optional(oneOf(...tariffDirections)),
  tariff_type: optional(oneOf(...tariffTypes)),
  tariff_id: optional(identifier('trf')).describe(
    'A tariff to renew: its values are the defaults of the pages, and it ends at the start of the new tariff.',
  ),
  actions: optional(flagFields('disconnect_tariff', 'edit_tariff')),
  route_options: optional(
    fields({
      advanced_tariff_capture: optional(z.boolean()),
      tariff_name_capture: optional(z.boolean()),
      contract_term_capture: optional(z.boolean()),
      summary_route: optional(oneOf(...summaryNames)).describe(
        'Route of the summary page in the current API version, for clients that support only one. Default: the setting of the account.',
      ),
    }),
  ),
  postal_address_type: optional(oneOf('RESIDENTIAL', 'COMMERCIAL')),
  postal_address: optional(addressFields).describe(addressDescription),
}

/** Requested session. */
export type ConnectDraft = {
  readonly request: Omit<ConnectRequest, 'callbackUrl'> & { readonly callbackUrl: string | null }
  readonly direction: TariffDirection | null
  readonly type: TariffType | null
  readonly options: Readonly<Record<ConnectOption, boolean>>
  /** Null: the setting of the account. */
  readonly summaryName: SummaryName | null
  readonly address: ConnectAddress
}

type ConnectOption =
  | 'disconnect_tariff'
  | 'edit_tariff'
  | 'advanced_tariff_capture'
  | 'tariff_name_capture'
  | 'contract_term_capture'

type SessionInput = {
  readonly [Name in keyof typeof sessionFields]?: z.output<(typeof sessionFields)[Name]> | undefined
}

const idPairs = [
  ['customer_id', 'customer_reference_id'],
  ['location_id', 'location_reference_id'],
] as const

const toDraft = (wire: SessionInput, context: z.core.$RefinementCtx<unknown>): ConnectDraft => {
  for (const [id, reference] of idPairs) {
    if (wire[id] !== undefined && wire[reference] !== undefined) {
      return refuseField(context, 'field_invalid', `must not be combined with ${id}`, [reference])
    }
  }
  const [direction, type] = [wire.tariff_direction ?? null, wire.tariff_type ?? null]
  if (type === 'NON_COMMODITY' && direction !== null && direction !== 'IMPORT') {
    return refuseField(context, 'field_invalid', 'must be IMPORT for a NON_COMMODITY tariff', ['tariff_direction'])
  }
  const flags = { ...wire.actions, ...wire.route_options } as Readonly<Record<string, unknown>>
  const isOn = (name: ConnectOption): boolean => flags[name] === true
  return {
    request: {
      connectUrl: wire.connect_url ?? null,
      callbackUrl: wire.callback_url ?? null,
      customerId: wire.customer_id ?? null,
      customerReferenceId: wire.customer_reference_id ?? null,
      locationId: wire.location_id ?? null,
      locationReferenceId: wire.location_reference_id ?? null,
      tariffId: wire.tariff_id ?? null,
      addressType: wire.postal_address_type ?? null,
    },
    direction,
    type,
    options: {
      disconnect_tariff: isOn('disconnect_tariff'),
      edit_tariff: isOn('edit_tariff'),
      advanced_tariff_capture: isOn('advanced_tariff_capture'),
      tariff_name_capture: isOn('tariff_name_capture'),
      contract_term_capture: isOn('contract_term_capture'),
    },
    summaryName: wire.route_options?.summary_route ?? null,
    address: knownAddress(wire.postal_address),
  }
}

/** Body that creates a session. */
export const sessionDraft = fields(sessionFields).transform(toDraft)

/** Session of an import. No person visits this session, so that `callback_url` is optional. */
export const importedSession = fields({
  ...sessionFields,
  callback_url: optional(connectUrl),
  disconnect: optional(z.literal(false, { message: 'must be false: an import connects a tariff' })).describe(
    'Only false is accepted: an import connects a tariff.',
  ),
}).transform(toDraft)
export const importedAddress = addressFields

/** Names of the earlier API version. Requests and answers have both spellings of an address. */
export const sessionRenames = (prefix = ''): readonly VersionRename[] => [
  { current: `${prefix}tariff_direction`, earlier: `${prefix}direction` },
  { current: `${prefix}tariff_type`, earlier: `${prefix}type` },
  { current: `${prefix}callback_url`, earlier: `${prefix}callback_url` },
  { current: `${prefix}callback_url`, earlier: `${prefix}callback_uri` },
  { current: `${prefix}connect_url`, earlier: `${prefix}connect_url` },
  { current: `${prefix}connect_url`, earlier: `${prefix}connect_web_url` },
  { current: `${prefix}connect_url`, earlier: `${prefix}connect_web_uri` },
]
