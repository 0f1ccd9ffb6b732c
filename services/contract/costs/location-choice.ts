import type { z } from 'zod'
import { clearable, fields, identifier, metadata, objectIdentifier, optional, referenceId, text } from '../field.ts'
import { fixedMembers } from '../fixed-member.ts'
import type { JsonObject } from '../json/json-path.ts'
import { type PostalAddress, postalAddress } from '../registry/postal-address.ts'
import { currencyCode } from '../tariffs/currency-code.ts'

/** What the caller of a location chose; null members are worked out from the address. */
export type LocationInput = {
  readonly referenceId: string | null
  readonly customerId: string | null
  readonly postalAddress: PostalAddress | null
  readonly timezone: string | null
  readonly currencyCode: string | null
  readonly importSourceId: string | null
  readonly exportSourceId: string | null
  readonly metadata: Readonly<Record<string, string>>
}

/** The members of a choice that a PATCH names; null clears one. */
export type LocationChange = Partial<LocationInput>

const timezone = text().meta({ type: 'string', examples: ['Europe/Berlin'] })

const describeTimezone = 'Any IANA time zone; without it, the zone of the address.'
const describeCurrency = 'ISO 4217; without it, the currency of the country.'
const describeSources =
  'Market sources that prices come from; without one, the source of the market area; export defaults to import.'

/** Read the body that creates a location. */
export const locationCreation = fields({
  reference_id: optional(referenceId).describe('Your own name for the location, unique among your locations.'),
  customer_id: optional(objectIdentifier('cus')).describe('The customer whose location it is.'),
  postal_address: optional(postalAddress).describe(
    'Where it stands; may be left out when timezone and currency_code are given.',
  ),
  timezone: optional(timezone).describe(describeTimezone),
  currency_code: optional(currencyCode).describe(describeCurrency),
  market_sources: optional(
    fields({ import: optional(identifier('mrs')), export: optional(identifier('mrs')) }),
  ).describe(describeSources),
  metadata: optional(metadata).describe('Up to 20 texts of your own.'),
}).transform(
  (wire): LocationInput => ({
    referenceId: wire.reference_id ?? null,
    customerId: wire.customer_id ?? null,
    postalAddress: wire.postal_address ?? null,
    timezone: wire.timezone ?? null,
    currencyCode: wire.currency_code ?? null,
    importSourceId: wire.market_sources?.import ?? null,
    exportSourceId: wire.market_sources?.export ?? null,
    metadata: wire.metadata ?? {},
  }),
)

/** The members that a PATCH of a location changes. */
export const changeableLocationFields = {
  reference_id: clearable(referenceId),
  customer_id: clearable(objectIdentifier('cus')),
  postal_address: clearable(postalAddress).describe('The whole address; null removes it.'),
  timezone: clearable(timezone).describe(describeTimezone),
  currency_code: clearable(currencyCode).describe(
    `${describeCurrency} It cannot change once tariffs or records exist.`,
  ),
  market_sources: clearable(
    fields({ import: clearable(identifier('mrs')), export: clearable(identifier('mrs')) }),
  ).describe(describeSources),
  metadata: clearable(metadata).describe('Replaces all texts; null removes them.'),
}

/** Read the body that changes a location: absent members stay, null clears; `sent` is the body as it came. */
export const locationPatch = (shape: z.ZodObject) =>
  fields({ ...fixedMembers(shape), ...changeableLocationFields }).transform(wire => ({
    sent: wire as JsonObject,
    change: locationChangeOf(wire),
  }))

const locationChangeOf = (wire: z.output<z.ZodObject<typeof changeableLocationFields>>): LocationChange => ({
  ...(wire.reference_id === undefined ? {} : { referenceId: wire.reference_id }),
  ...(wire.customer_id === undefined ? {} : { customerId: wire.customer_id }),
  ...(wire.postal_address === undefined ? {} : { postalAddress: wire.postal_address }),
  ...(wire.timezone === undefined ? {} : { timezone: wire.timezone }),
  ...(wire.currency_code === undefined ? {} : { currencyCode: wire.currency_code }),
  ...sourceChangeOf(wire.market_sources),
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
