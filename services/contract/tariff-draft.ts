import { z } from 'zod'
import { readTariffTerms, type TariffTerms } from '../domain/tariff/validate-schedule.ts'
import { fields, identifier, instant, objectIdentifier, optional, refuseField, text, word } from './field.ts'
import { marketSchedule, scheduleFrame } from './tariff-schedule.ts'

export const tariffDirections = ['IMPORT', 'EXPORT', 'LOCAL'] as const
export const tariffTypes = ['COMMODITY', 'NON_COMMODITY'] as const

/** A tariff as a caller wants it: its terms judged, its location and provider still to be found. */
export type TariffDraft = {
  readonly locationId: string
  readonly displayName: string | null
  readonly providerId: string | null
  /** The zone that the caller believes the location to have; null where none is named. */
  readonly timezone: string | null
  readonly terms: TariffTerms
}

/** The steps of a field's path as the domain writes it: `schedule[0].days_and_hours[1]`. */
const pathSteps = (field: string): PropertyKey[] =>
  (field.match(/\[\d+\]|[^.[\]]+/g) ?? []).map(step => (step.startsWith('[') ? Number(step.slice(1, -1)) : step))

/** Read the body that creates a tariff. Refuses what the domain refuses in its terms, with the place in the schedule. */
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
  schedule: optional(scheduleFrame).describe('Prices by time. With market_rates it may be left out: all day at the market price.'),
}).transform((wire, context): TariffDraft => {
  const schedule = wire.schedule ?? (wire.market_rates === true ? marketSchedule : undefined)
  if (schedule === undefined) return refuseField(context, 'field_required', 'is required, unless market_rates is true', ['schedule'])
  const terms = readTariffTerms({
    direction: wire.direction,
    type: wire.type,
    marketRates: wire.market_rates ?? false,
    contractStart: wire.contract_start_date?.at ?? null,
    contractEnd: wire.contract_end_date?.at ?? null,
    schedule,
  })
  if (!terms.ok) return refuseField(context, terms.refusal.code, terms.refusal.message, pathSteps(terms.refusal.field ?? ''))
  return {
    locationId: wire.location_id,
    displayName: wire.display_name ?? null,
    providerId: wire.provider_id ?? null,
    timezone: wire.timezone ?? null,
    terms: terms.value,
  }
})
