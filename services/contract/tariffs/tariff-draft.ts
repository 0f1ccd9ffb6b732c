import { z } from 'zod'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { TariffTerms } from '../../domain/tariff/tariff.ts'
import { dryRunMember } from '../dry-run.ts'
import { fields, identifier, instant, objectIdentifier, oneOf, optional, text } from '../field.ts'
import { readTariffTerms, type TariffTermsInput } from './read-tariff-terms.ts'
import { marketSchedule, scheduleFrame } from './tariff-schedule.ts'

export const tariffDirections = ['IMPORT', 'EXPORT', 'LOCAL'] as const
export const tariffTypes = ['COMMODITY', 'NON_COMMODITY'] as const

/** Tariff of a request with validated terms. Location and provider are not checked. */
export type TariffInput = {
  readonly locationId: string
  readonly displayName: string | null
  readonly providerId: string | null
  /** Component of the lines on statements; null if the request has none. */
  readonly component: string | null
  /** Expected time zone of the location; null if the request has none. */
  readonly timezone: string | null
  readonly terms: TariffTerms
}

/** Members of a tariff that do not depend on its location. */
export const tariffMembers = {
  direction: oneOf(...tariffDirections),
  type: oneOf(...tariffTypes),
  market_rates: optional(z.boolean()).describe(
    'True: prices follow the market source of the location. Default: false.',
  ),
  display_name: optional(text()),
  component: optional(text({ max: 64 })).describe(
    'Name of its lines on statements. Default: energy; grid for NON_COMMODITY.',
  ),
  provider_id: optional(identifier('prv')),
  schedule: optional(scheduleFrame).describe(
    'Prices by time. Default with market_rates: the market price at all times.',
  ),
} as const

export type TariffMembers = z.output<z.ZodObject<typeof tariffMembers>>

/** Collect the terms of a tariff, which are not validated yet. Refuses `field_required` without prices. */
export const termsInput = (
  { direction, type, market_rates: marketRates = false, schedule }: TariffMembers,
  contract: Pick<TariffTermsInput, 'contractStart' | 'contractEnd'>,
): Result<TariffTermsInput> => {
  const prices = schedule ?? (marketRates ? marketSchedule : undefined)
  return prices === undefined
    ? refused('field_required', 'schedule is required, unless market_rates is true', 'schedule')
    : accepted({ direction, type, marketRates, ...contract, schedule: prices })
}

/** Body that creates a tariff. `readTariffDraft` validates the terms. */
export const tariffCreation = fields({
  location_id: objectIdentifier('loc'),
  ...tariffMembers,
  contract_start_date: optional(instant).describe('Inclusive. Default: open.'),
  contract_end_date: optional(instant).describe('Exclusive. Default: open.'),
  timezone: optional(text()).describe('Optional; must equal the time zone of the location.'),
  connection_type: optional(oneOf('MANUAL')),
  dry_run: dryRunMember,
})

/** Validate a tariff. Refuses invalid terms with the path in the schedule. */
export const readTariffDraft = (wire: z.output<typeof tariffCreation>): Result<TariffInput> => {
  const contract = {
    contractStart: wire.contract_start_date?.at ?? null,
    contractEnd: wire.contract_end_date?.at ?? null,
  }
  const sent = termsInput(wire, contract)
  if (!sent.ok) return sent
  const read = readTariffTerms(sent.value)
  if (!read.ok) return read
  return accepted({
    locationId: wire.location_id,
    displayName: wire.display_name ?? null,
    providerId: wire.provider_id ?? null,
    component: wire.component ?? null,
    timezone: wire.timezone ?? null,
    terms: read.value,
  })
}
