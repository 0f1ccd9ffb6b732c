import { z } from 'zod'
import type { Location, LocationInput } from '../../domain/registry/location.ts'
import { exampleObject, idText, objectShape, objectToWire, orNull } from '../answer-field.ts'
import { dryRunParameter } from '../dry-run.ts'
import type { VersionRename } from '../earlier-api-version.ts'
import { clearable, currencyCode, fields, identifier, objectIdentifier, optional, text } from '../field.ts'
import type { JsonObject } from '../json/json-path.ts'
import { listing, listParameters } from '../list.ts'
import { answerMember, answerShapeOf, creationOf, optionalMember, patchOf } from '../object-member.ts'
import { defineOperation, deletion, retrieval, sameRoute } from '../operation.ts'
import { parameters } from '../parameter.ts'
import { cursorReferences, customerOnly, locationOnly } from '../reference.ts'
import { displayNameMember, metadataMember, referenceMember } from './own-members.ts'
import { type PostalAddress, postalAddress, postalAddressShape } from './postal-address.ts'
import { registerMember } from './register.ts'

export const tariffStatuses = ['CONNECTED', 'NOT_CONNECTED', 'PENDING', 'ERROR', 'NOT_SUPPORTED'] as const
export type TariffStatus = (typeof tariffStatuses)[number]

export const tariffKinds = [
  'commodity_import',
  'commodity_export',
  'non_commodity_import',
  'non_commodity_export',
  'local',
] as const
/** Kind of tariff of a location. */
export type TariffKind = (typeof tariffKinds)[number]

const tariffStatus = z.enum(tariffStatuses).describe('CONNECTED if a tariff is in force at the time of the request.')

const tariffStatusShape = z.object({
  commodity_import: tariffStatus,
  commodity_export: tariffStatus,
  non_commodity_import: tariffStatus,
  non_commodity_export: tariffStatus,
  local: tariffStatus,
})

const timezone = text().meta({ type: 'string', examples: ['Europe/Berlin'] })
const describeTimezone = 'Any IANA time zone. Default: the time zone of the address.'
const describeCurrency = 'ISO 4217 code. Default: the currency of the country.'
const describeSources =
  'Sources of the market prices. Default for import: the source of the market area; for export: the import source.'
const describeCalendar = 'Calendar of holidays and special days. Default: the calendar of country and state.'
const sourceId = identifier('mrs')

/** Members of a location by their names in the domain. The market sources of the domain are two members. */
export const locationMembers = {
  referenceId: referenceMember({ creation: 'Your own name for the location, unique among your locations.' }),
  displayName: displayNameMember({ creation: 'Name for people. It identifies nothing.' }),
  customerId: optionalMember(
    'customer_id',
    null,
    { body: objectIdentifier('cus'), answer: orNull(idText('cus')) },
    { creation: 'The customer of the location.', form: { label: 'Customer ID or reference' } },
  ),
  timezone: optionalMember(
    'timezone',
    null,
    { body: timezone, answer: z.string() },
    {
      creation: describeTimezone,
      patch: describeTimezone,
      form: { label: 'Time zone', hint: 'Such as Europe/Berlin. It follows from an address.' },
    },
  ),
  currencyCode: optionalMember(
    'currency_code',
    null,
    { body: currencyCode, answer: z.string() },
    {
      creation: describeCurrency,
      patch: `${describeCurrency} It cannot change if tariffs or records exist.`,
      form: { label: 'Currency', hint: 'Such as EUR. It follows from an address.' },
    },
  ),
  postalAddress: optionalMember(
    'postal_address',
    null,
    {
      body: postalAddress,
      answer: orNull(postalAddressShape),
      write: (address: Location['postalAddress']) => address as PostalAddress | null,
    },
    {
      creation: 'Address of the location. Optional if timezone and currency_code are set.',
      patch: 'The whole address; null removes it.',
      form: {
        label: 'Address',
        hint: 'JSON object with address_line1, city, post_code and country_code. Leave empty for none.',
        type: 'json',
      },
    },
  ),
  geoLocation: answerMember('geo_location', orNull(z.object({ lat: z.number(), lng: z.number() }))),
  tariffStatus: answerMember('tariff_status', tariffStatusShape),
  tariffs: answerMember('tariff_elements', z.array(idText('trf')), (tariffs: Location['tariffs']) =>
    tariffs.map(({ id }) => id),
  ),
  marketSources: {
    wire: 'market_sources',
    answer: z.object({ import: orNull(idText('mrs')), export: orNull(idText('mrs')) }),
    creation: optional(fields({ import: optional(sourceId), export: optional(sourceId) })).describe(describeSources),
    patch: clearable(fields({ import: clearable(sourceId), export: clearable(sourceId) })).describe(describeSources),
    write: (sources: { readonly import: string | null; readonly export: string | null }) => sources,
  },
  calendarId: optionalMember(
    'calendar_id',
    null,
    { body: identifier('cal'), answer: orNull(idText('cal')) },
    {
      creation: describeCalendar,
      patch: `${describeCalendar} Null returns to it.`,
      answer: 'Null if country and state are unknown.',
    },
  ),
  register: registerMember,
  metadata: metadataMember({
    creation: 'Up to 20 texts of your own.',
    patch: 'Replaces all texts; null removes them.',
  }),
} as const

export const locationShape = objectShape('loc', 'location', {
  ...answerShapeOf(locationMembers),
  hint: z
    .string()
    .optional()
    .describe('Only in the answer to a create or update: missing data of the location, and how to add the data.'),
})

const { referenceId, displayName, customerId, postalAddress: address } = locationMembers
const firstMembers = { referenceId, displayName, customerId, postalAddress: address }

/** Read the body that creates a location. Its address is before its time zone. */
export const locationCreation = creationOf({ ...firstMembers, ...locationMembers }).transform(
  ({ marketSources, ...input }): LocationInput => ({
    ...input,
    importSourceId: marketSources?.import ?? null,
    exportSourceId: marketSources?.export ?? null,
  }),
)

/** Location without any value of the caller. */
export const emptyLocation: LocationInput = locationCreation.parse({})

/** Return the changes of the sources of a PATCH; null returns to both defaults. */
const sourceChangeOf = (
  sources: z.output<typeof locationMembers.marketSources.patch>,
): Partial<Pick<LocationInput, 'importSourceId' | 'exportSourceId'>> => {
  if (sources === null) return { importSourceId: null, exportSourceId: null }
  return {
    ...(sources?.import === undefined ? {} : { importSourceId: sources.import }),
    ...(sources?.export === undefined ? {} : { exportSourceId: sources.export }),
  }
}

/**
 * Read the body that changes a location. Absent members do not change; null clears a member. `sent` is the received
 * body.
 */
const locationPatch = patchOf(locationMembers, locationShape).transform(
  ({ sent, change: { marketSources, ...change } }): { sent: JsonObject; change: Partial<LocationInput> } => ({
    sent,
    change: { ...change, ...sourceChangeOf(marketSources) },
  }),
)

export type LocationWire = z.output<typeof locationShape>

const example: LocationWire = objectToWire('location', exampleObject('loc'), {
  reference_id: 'home-17',
  display_name: 'Meyer, Unter den Linden',
  customer_id: 'cus_0198c0ffee00112233445566',
  timezone: 'Europe/Berlin',
  currency_code: 'EUR',
  postal_address: {
    address_line1: 'Unter den Linden 1',
    address_line2: null,
    city: 'Berlin',
    state: null,
    post_code: '10117',
    country_code: 'DE',
  },
  geo_location: { lat: 52.52437, lng: 13.41053 },
  tariff_status: {
    commodity_import: 'CONNECTED',
    commodity_export: 'NOT_CONNECTED',
    non_commodity_import: 'NOT_CONNECTED',
    non_commodity_export: 'NOT_SUPPORTED',
    local: 'NOT_CONNECTED',
  },
  tariff_elements: ['trf_0198c0ffee00112233445566'],
  market_sources: { import: 'mrs_0198c0ffee00112233445566', export: 'mrs_0198c0ffee00112233445566' },
  calendar_id: 'cal_0198c0ffee00112233445566',
  register: null,
  metadata: {},
})

const tag = 'Locations'
/** Differences of locations between the API versions: the earlier version has no calendars. */
export const locationRenames: readonly VersionRename[] = [{ current: 'calendar_id' }]
const renames = { body: locationRenames, answer: locationRenames }
const answer = { name: 'Location', shape: locationShape }
const locationRefusals = [
  'geo_location_not_found',
  'customer_not_found',
  'market_source_not_found',
  'calendar_not_found',
  'currency_mismatch',
  'reference_id_taken',
] as const

export const locationCreate = defineOperation({
  id: 'location_create',
  summary: 'Create a location',
  description:
    'A place with a meter. Time zone, currency, coordinates and market area follow from the postal address. You can also set them; with timezone and currency_code the address is optional.',
  tag,
  access: 'all',
  routes: sameRoute('POST', '/locations'),
  references: { body: { customer_id: customerOnly } },
  query: parameters({ dry_run: dryRunParameter }),
  dryRun: true,
  body: locationCreation,
  answer,
  renames,
  status: 201,
  idempotent: true,
  refusals: locationRefusals,
  examples: {
    body: {
      reference_id: 'home-17',
      display_name: 'Meyer, Unter den Linden',
      postal_address: { address_line1: 'Unter den Linden 1', city: 'Berlin', post_code: '10117', country_code: 'DE' },
    },
    answer: example,
  },
})

export const locationList = defineOperation({
  id: 'location_list',
  summary: 'List locations',
  description: 'Newest first.',
  tag,
  ...listing('Location', locationShape, '/locations', example),
  renames: { answer: [{ current: 'data.calendar_id' }] },
  routes: sameRoute('GET', '/locations'),
  references: { query: { ...cursorReferences(locationOnly), customer_id: customerOnly } },
  query: listParameters({
    reference_id: text().optional().describe('Only the location with this reference.'),
    customer_id: objectIdentifier('cus').optional().describe('Only the locations of this customer.'),
  }),
  refusals: ['cursor_not_found', 'customer_not_found'],
})

export const locationRetrieve = defineOperation({
  id: 'location_retrieve',
  summary: 'Retrieve a location',
  description:
    'Returns the location with the status of its tariffs. tariff_elements are the ids of the active tariffs.',
  tag,
  ...retrieval(answer, example),
  renames: { answer: locationRenames },
  routes: sameRoute('GET', '/locations/{id}'),
  references: { id: locationOnly },
})

export const locationUpdate = defineOperation({
  id: 'location_update',
  summary: 'Update a location',
  description:
    'Absent members do not change; null clears a member; other members may be sent back unchanged. After a change of time zone or market source, all stored records are priced again; after a change of the calendar, those of the changed days. The currency cannot change if tariffs or records exist.',
  tag,
  access: 'all',
  routes: sameRoute('PATCH', '/locations/{id}'),
  references: { id: locationOnly, body: { customer_id: customerOnly } },
  query: parameters({ dry_run: dryRunParameter }),
  dryRun: true,
  body: locationPatch,
  answer,
  renames,
  status: 200,
  refusals: [
    ...locationRefusals,
    'currency_in_use',
    'field_immutable',
    'calendar_required',
    'day_type_not_found',
    'schedule_overlap',
  ],
  examples: { body: { timezone: 'Europe/Vienna' }, answer: { ...example, timezone: 'Europe/Vienna' } },
})

export const locationDelete = defineOperation({
  id: 'location_delete',
  summary: 'Delete a location',
  description:
    'The tariffs of the location end now. Metering records stay for the costs of the account. New records are refused within 60 seconds.',
  tag,
  ...deletion,
  routes: sameRoute('DELETE', '/locations/{id}'),
  references: { id: locationOnly },
})
