import { z } from 'zod'
import { accepted, type Result } from '../../domain/refusal.ts'
import type { TariffTerms } from '../../domain/tariff/tariff.ts'
import { currencyCode, fields, listOf, oneOf, optional, refuseField, text } from '../field.ts'
import { parseJson } from '../json/strict-json.ts'
import { readShape } from '../read-shape.ts'
import { readTariffTerms, type ScheduleEntryInput } from '../tariffs/read-tariff-terms.ts'
import { tariffDirections, tariffTypes } from '../tariffs/tariff-draft.ts'
import { scheduleFrame } from '../tariffs/tariff-schedule.ts'

const webAddress = text({ max: 2_048 }).transform((value, context) => {
  const isWeb = URL.canParse(value) && ['http:', 'https:'].includes(new URL(value).protocol)
  return isWeb
    ? value
    : refuseField(context, 'field_invalid', 'must be a web address, such as https://example.com/logo.svg')
})

const country = z.string().regex(/^[A-Z]{2}$/, 'must be a country code of ISO 3166-1 in capitals, such as GB')
const idWithPrefix = (prefix: string) =>
  z.string().regex(new RegExp(`^${prefix}_[0-9a-f]{24}$`), `must be ${prefix}_ and 24 digits`)

const addressTypes = optional(listOf(oneOf('RESIDENTIAL', 'COMMERCIAL'), { max: 2 }))

const libraryTariff = fields({
  id: optional(idWithPrefix('trt')),
  name: text(),
  description: optional(text({ max: 1_000 })),
  countries: optional(listOf(country, { max: 250 })),
  address_types: addressTypes,
  currency_code: currencyCode,
  direction: optional(oneOf(...tariffDirections)),
  type: optional(oneOf(...tariffTypes)),
  market_rates: optional(z.boolean()),
  schedule: scheduleFrame,
}).transform((wire, context) => {
  const terms = readTariffTerms({
    direction: wire.direction ?? 'IMPORT',
    type: wire.type ?? 'COMMODITY',
    marketRates: wire.market_rates ?? false,
    contractStart: null,
    contractEnd: null,
    schedule: wire.schedule as readonly ScheduleEntryInput[],
  })
  if (!terms.ok) return refuseField(context, terms.refusal.code, terms.refusal.message, ['schedule'])
  return { ...wire, terms: terms.value as TariffTerms }
})

const providerInput = fields({
  id: optional(idWithPrefix('prv')),
  display_name: text(),
  logo_url: optional(webAddress),
  countries: listOf(country, { min: 1, max: 250 }),
  address_types: addressTypes,
  direct: optional(
    fields({
      login_url: webAddress,
      app_url: optional(webAddress),
      accent_color: optional(z.string().regex(/^#[0-9a-fA-F]{6}$/, 'must be a colour, such as #1a2b3c')),
    }),
  ),
  library_tariffs: optional(listOf(libraryTariff, { max: 1_000 })),
})

const providerFile = fields({ providers: listOf(providerInput, { min: 1, max: 10_000 }) })

export type ProviderFile = z.output<typeof providerFile>

/** Read a provider file. Refuses the first fault with its path. */
export const readProviderFile = (bytes: Uint8Array): Result<ProviderFile> => {
  const parsed = parseJson(bytes)
  if (!parsed.ok) return parsed
  const read = readShape(providerFile, parsed.value, 'body')
  return read.ok ? accepted(read.value) : read
}
