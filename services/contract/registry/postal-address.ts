import { z } from 'zod'
import { orNull } from '../answer-field.ts'
import { fields, optional, refuseField, text } from '../field.ts'

export const postalAddressShape = z
  .object({
    address_line1: orNull(z.string()),
    address_line2: orNull(z.string()),
    city: z.string(),
    state: orNull(z.string()),
    post_code: orNull(z.string()),
    country_code: z.string().describe('ISO 3166-1 alpha-2, in capitals.'),
  })
  .meta({ component: 'PostalAddress' })

/** Address of a location. Absent parts are null. The store and the answers use this form. */
export type PostalAddress = z.output<typeof postalAddressShape>

const countriesWithStates: readonly string[] = ['US', 'CA', 'AU']

/**
 * Country of ISO 3166-1 alpha-2, in capitals. Refuses UK and suggests GB.
 * Source: docs/rules/registry.md #placing-an-address.
 */
export const countryCode = z
  .string()
  .transform((text, context) => {
    const value = text.trim().toUpperCase()
    if (value === 'UK') return refuseField(context, 'field_invalid', 'must be GB for the United Kingdom, not UK')
    if (/^[A-Z]{2}$/.test(value)) return value
    return refuseField(context, 'field_invalid', 'must be a two-letter country code of ISO 3166-1, such as DE')
  })
  .meta({ type: 'string', pattern: '^[A-Za-z]{2}$', examples: ['DE'] })

/**
 * Address of a location. City and country are required. The state is required in countries where city names repeat.
 * Refuses `geo_location_not_found` for a missing state. Source: docs/rules/registry.md #placing-an-address.
 */
export const postalAddress = fields({
  address_line1: optional(text()),
  address_line2: optional(text()),
  city: text(),
  state: optional(text()).describe('Required in US, CA and AU.'),
  post_code: optional(text()),
  country_code: countryCode,
})
  .meta({ component: 'PostalAddressInput' })
  .transform((wire, context): PostalAddress => {
    if (wire.state === undefined && countriesWithStates.includes(wire.country_code)) {
      return refuseField(context, 'geo_location_not_found', `is required in ${wire.country_code}`, ['state'])
    }
    return {
      address_line1: wire.address_line1 ?? null,
      address_line2: wire.address_line2 ?? null,
      city: wire.city,
      state: wire.state ?? null,
      post_code: wire.post_code ?? null,
      country_code: wire.country_code,
    }
  })
