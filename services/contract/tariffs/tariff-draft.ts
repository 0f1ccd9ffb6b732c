import { z } from 'zod'
import { accepted, type Result } from '../../domain/refusal.ts'
import type { TariffTerms } from '../../domain/tariff/tariff.ts'
import { fields, identifier, instant, objectIdentifier, oneOf, optional, refuseField, text } from '../field.ts'
import { readTariffTermsInSteps, type TariffTermsInput } from './read-tariff-terms.ts'
import { marketSchedule, scheduleFrame } from './tariff-schedule.ts'

export const tariffDirections = ['IMPORT', 'EXPORT', 'LOCAL'] as const
export const tariffTypes = ['COMMODITY', 'NON_COMMODITY'] as const

/** Tariff of a request with validated terms. Location and provider are not checked. */
export type TariffInput = {
  readonly locationId: string
  readonly displayName: string | null
  readonly providerId: string | null
  /** Expected time zone of the location; null if the request has none. */
  readonly timezone: string | null
  readonly terms: TariffTerms
}

/** Tariff of a request with terms that are not validated. */
type TariffRequest = Omit<TariffInput, 'terms'> & { readonly terms: TariffTermsInput }

/** Body that creates a tariff. `readTariffDraft` validates the terms. */
export const tariffCreation = fields({
  location_id: objectIdentifier('loc'),
  direction: oneOf(...tariffDirections),
  type: oneOf(...tariffTypes),
  market_rates: optional(z.boolean()).describe(
    'True: prices follow the market source of the location. Default: false.',
  ),
  display_name: optional(text()),
  provider_id: optional(identifier('prv')),
  contract_start_date: optional(instant).describe('Inclusive. Default: open.'),
  contract_end_date: optional(instant).describe('Exclusive. Default: open.'),
  timezone: optional(text()).describe('Optional; must equal the time zone of the location.'),
  connection_type: optional(oneOf('MANUAL')),
  schedule: optional(scheduleFrame).describe(
    'Prices by time. Default with market_rates: the market price at all times.',
  ),
}).transform((wire, context): TariffRequest => {
  const schedule = wire.schedule ?? (wire.market_rates === true ? marketSchedule : undefined)
  if (schedule === undefined)
    return refuseField(context, 'field_required', 'is required, unless market_rates is true', ['schedule'])
  return {
    locationId: wire.location_id,
    displayName: wire.display_name ?? null,
    providerId: wire.provider_id ?? null,
    timezone: wire.timezone ?? null,
    terms: {
      direction: wire.direction,
      type: wire.type,
      marketRates: wire.market_rates ?? false,
      contractStart: wire.contract_start_date?.at ?? null,
      contractEnd: wire.contract_end_date?.at ?? null,
      schedule,
    },
  }
})

/** Validate the terms of a tariff, in steps. Refuses invalid terms with the path in the schedule. */
export function* readTariffDraft({ terms, ...sent }: TariffRequest): Generator<void, Result<TariffInput>> {
  const read = yield* readTariffTermsInSteps(terms)
  return read.ok ? accepted({ ...sent, terms: read.value }) : read
}
