import { z } from 'zod'
import { accepted, type Result } from '../../domain/refusal.ts'
import {
  readTariffTermsInSteps,
  type TariffTerms,
  type TariffTermsInput,
} from '../../domain/tariff/validate-schedule.ts'
import { fields, identifier, instant, objectIdentifier, optional, refuseField, text, word } from '../field.ts'
import { marketSchedule, scheduleFrame } from './tariff-schedule.ts'

export const tariffDirections = ['IMPORT', 'EXPORT', 'LOCAL'] as const
export const tariffTypes = ['COMMODITY', 'NON_COMMODITY'] as const

/** A tariff as a caller wants it: its terms judged, its location and provider still to be found. */
export type TariffInput = {
  readonly locationId: string
  readonly displayName: string | null
  readonly providerId: string | null
  /** The zone that the caller believes the location to have; null where none is named. */
  readonly timezone: string | null
  readonly terms: TariffTerms
}

/** A tariff as a caller wants it, its terms still to be judged. */
type TariffRequest = Omit<TariffInput, 'terms'> & { readonly terms: TariffTermsInput }

/** The body that creates a tariff; `readTariffDraft` judges its terms. */
export const tariffCreation = fields({
  location_id: objectIdentifier('loc'),
  direction: word(...tariffDirections),
  type: word(...tariffTypes),
  market_rates: optional(z.boolean()).describe('Prices follow the market source of the location; default false.'),
  display_name: optional(text()),
  provider_id: optional(identifier('prv')),
  contract_start_date: optional(instant).describe('Inclusive; left out: open.'),
  contract_end_date: optional(instant).describe('Exclusive; left out: open.'),
  timezone: optional(text()).describe('May be given if it is that of the location.'),
  connection_type: optional(word('MANUAL')),
  schedule: optional(scheduleFrame).describe(
    'Prices by time. With market_rates it may be left out: all day at the market price.',
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

/** Judge the terms of a tariff that was sent, in steps. Refuses what the domain refuses, with the place in the schedule. */
export function* readTariffDraft({ terms, ...sent }: TariffRequest): Generator<void, Result<TariffInput>> {
  const read = yield* readTariffTermsInSteps(terms)
  return read.ok ? accepted({ ...sent, terms: read.value }) : read
}
