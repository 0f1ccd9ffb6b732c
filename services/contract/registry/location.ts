import { z } from 'zod'
import type { RegisterProperties } from '../../domain/record/reading-rules.ts'
import { exampleObject, idText, objectShape, objectToWire, orNull } from '../answer-field.ts'
import { dryRunParameter } from '../dry-run.ts'
import type { VersionRename } from '../earlier-api-version.ts'
import {
  clearable,
  currencyCode,
  displayName,
  fields,
  identifier,
  metadata,
  objectIdentifier,
  optional,
  referenceId,
  text,
} from '../field.ts'
import { fixedMembers } from '../fixed-member.ts'
import type { JsonObject } from '../json/json-path.ts'
import { listing, listParameters } from '../list.ts'
import { defineOperation, deletion, retrieval, sameRoute } from '../operation.ts'
import { parameters } from '../parameter.ts'
import { cursorReferences, customerOnly, locationOnly } from '../reference.ts'
import { type PostalAddress, postalAddress, postalAddressShape } from './postal-address.ts'
import { describeRegister, registerBody, registerShape } from './register.ts'

/** Values that the caller chose for a location. Null members follow from the address. */
export type LocationInput = {
  readonly referenceId: string | null
  readonly displayName: string | null
  readonly customerId: string | null
  readonly postalAddress: PostalAddress | null
  readonly timezone: string | null
  readonly currencyCode: string | null
  readonly importSourceId: string | null
  readonly exportSourceId: string | null
  readonly calendarId: string | null
  readonly register: RegisterProperties | null
  readonly metadata: Readonly<Record<string, string>>
}

/** Values that a PATCH changes; null clears a value. */
export type LocationChange = Partial<LocationInput>

const timezone = text().meta({ type: 'string', examples: ['Europe/Berlin'] })

const describeTimezone = 'Any IANA time zone. Default: the time zone of the address.'
const describeCurrency = 'ISO 4217 code. Default: the currency of the country.'
const describeSources =
  'Sources of the market prices. Default for import: the source of the market area; for export: the import source.'
const describeCalendar = 'Calendar of holidays and special days. Default: the calendar of country and state.'

/** Read the body that creates a location. */
export const locationCreation = fields({
  reference_id: optional(referenceId).describe('Your own name for the location, unique among your locations.'),
  display_name: optional(displayName).describe('Name for people. It identifies nothing.'),
  customer_id: optional(objectIdentifier('cus')).describe('The customer of the location.'),
  postal_address: optional(postalAddress).describe(
    'Address of the location. Optional if timezone and currency_code are set.',
  ),
  timezone: optional(timezone).describe(describeTimezone),
  currency_code: optional(currencyCode).describe(describeCurrency),
  market_sources: optional(
    fields({ import: optional(identifier('mrs')), export: optional(identifier('mrs')) }),
  ).describe(describeSources),
  calendar_id: optional(identifier('cal')).describe(describeCalendar),
  register: optional(registerBody).describe(describeRegister),
  metadata: optional(metadata).describe('Up to 20 texts of your own.'),
}).transform(
  (wire): LocationInput => ({
    referenceId: wire.reference_id ?? null,
    displayName: wire.display_name ?? null,
    customerId: wire.customer_id ?? null,
    postalAddress: wire.postal_address ?? null,
    timezone: wire.timezone ?? null,
    currencyCode: wire.currency_code ?? null,
    importSourceId: wire.market_sources?.import ?? null,
    exportSourceId: wire.market_sources?.export ?? null,
    calendarId: wire.calendar_id ?? null,
    register: wire.register ?? null,
    metadata: wire.metadata ?? {},
  }),
)

/** Members of a location that a PATCH changes. */
export const changeableLocationFields = {
  reference_id: clearable(referenceId),
  display_name: clearable(displayName),
  customer_id: clearable(objectIdentifier('cus')),
  postal_address: clearable(postalAddress).describe('The whole address; null removes it.'),
  timezone: clearable(timezone).describe(describeTimezone),
  currency_code: clearable(currencyCode).describe(`${describeCurrency} It cannot change if tariffs or records exist.`),
  market_sources: clearable(
    fields({ import: clearable(identifier('mrs')), export: clearable(identifier('mrs')) }),
  ).describe(describeSources),
  calendar_id: clearable(identifier('cal')).describe(`${describeCalendar} Null returns to it.`),
  register: clearable(registerBody).describe(describeRegister),
  metadata: clearable(metadata).describe('Replaces all texts; null removes them.'),
}

/**
 * Read the body that changes a location. Absent members do not change; null clears a member. `sent` is the received
 * body.
 */
export const locationPatch = (shape: z.ZodObject) =>
  fields({ ...fixedMembers(shape), ...changeableLocationFields }).transform(wire => ({
    sent: wire as JsonObject,
    change: locationChangeOf(wire),
  }))

const locationChangeOf = (wire: z.output<z.ZodObject<typeof changeableLocationFields>>): LocationChange => ({
  ...(wire.reference_id === undefined ? {} : { referenceId: wire.reference_id }),
  ...(wire.display_name === undefined ? {} : { displayName: wire.display_name }),
  ...(wire.customer_id === undefined ? {} : { customerId: wire.customer_id }),
  ...(wire.postal_address === undefined ? {} : { postalAddress: wire.postal_address }),
  ...(wire.timezone === undefined ? {} : { timezone: wire.timezone }),
  ...(wire.currency_code === undefined ? {} : { currencyCode: wire.currency_code }),
  ...sourceChangeOf(wire.market_sources),
  ...(wire.calendar_id === undefined ? {} : { calendarId: wire.calendar_id }),
  ...(wire.register === undefined ? {} : { register: wire.register }),
  ...(wire.metadata === undefined ? {} : { metadata: wire.metadata ?? {} }),
})

type MarketSourcesInput =
  | { readonly import?: string | null | undefined; readonly export?: string | null | undefined }
  | null
  | undefined

const sourceChangeOf = (sources: MarketSourcesInput): Pick<LocationChange, 'importSourceId' | 'exportSourceId'> => {
  if (sources === null) return { importSourceId: null, exportSourceId: null }
  return {
    ...(sources?.import === undefined ? {} : { importSourceId: sources.import }),
    ...(sources?.export === undefined ? {} : { exportSourceId: sources.export }),
  }
}

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

export const locationShape = objectShape('loc', 'location', {
  reference_id: orNull(z.string()),
  display_name: orNull(z.string()).describe('Name for people. It identifies nothing.'),
  customer_id: orNull(idText('cus')),
  timezone: z.string(),
  currency_code: z.string(),
  postal_address: orNull(postalAddressShape),
  geo_location: orNull(z.object({ lat: z.number(), lng: z.number() })),
  tariff_status: z.object({
    commodity_import: tariffStatus,
    commodity_export: tariffStatus,
    non_commodity_import: tariffStatus,
    non_commodity_export: tariffStatus,
    local: tariffStatus,
  }),
  tariff_elements: z.array(idText('trf')),
  market_sources: z.object({ import: orNull(idText('mrs')), export: orNull(idText('mrs')) }),
  calendar_id: orNull(idText('cal')).describe('Null if country and state are unknown.'),
  register: orNull(registerShape).describe(describeRegister),
  metadata: z.record(z.string(), z.string()),
  hint: z
    .string()
    .optional()
    .describe('Only in the answer to a create or update: missing data of the location, and how to add the data.'),
})

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
  body: locationPatch(locationShape),
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
