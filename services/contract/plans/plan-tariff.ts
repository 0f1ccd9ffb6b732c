import { z } from 'zod'
import type { PlanTariffTerms } from '../../domain/plan/plan.ts'
import { accepted, type Result } from '../../domain/refusal.ts'
import { defaultTariffComponents } from '../../domain/tariff/tariff.ts'
import { idText, orNull } from '../answer-field.ts'
import { fields } from '../field.ts'
import { readTariffTerms } from '../tariffs/read-tariff-terms.ts'
import {
  type TariffMembers,
  tariffDirections,
  tariffMembers,
  tariffTypes,
  termsInput,
} from '../tariffs/tariff-draft.ts'
import { scheduleShape, scheduleToWire } from '../tariffs/tariff-schedule.ts'

/** Tariff in the body of a plan. `readPlanTariff` validates the prices. */
export const planTariffInput = fields(tariffMembers).meta({ component: 'PlanTariffInput' })

/** Tariff of a plan in an answer. */
export const planTariffShape = z
  .object({
    direction: z.enum(tariffDirections),
    type: z.enum(tariffTypes),
    market_rates: z.boolean(),
    display_name: orNull(z.string()),
    provider_id: orNull(idText('prv')),
    component: z.string(),
    schedule: scheduleShape,
  })
  .meta({ component: 'PlanTariff' })

/** Validate a tariff of a plan. Refuses what a new tariff refuses. */
export const readPlanTariff = (input: TariffMembers): Result<PlanTariffTerms> => {
  const sent = termsInput(input, { contractStart: null, contractEnd: null })
  if (!sent.ok) return sent
  const read = readTariffTerms(sent.value)
  if (!read.ok) return read
  const { direction, type, marketRates, schedule } = read.value
  const { display_name: displayName = null, provider_id: providerId = null } = input
  const component = input.component ?? defaultTariffComponents[type]
  return accepted({ direction, type, marketRates, schedule, displayName, providerId, component })
}

/** Write a tariff of a plan. */
export const planTariffToWire = (tariff: PlanTariffTerms): z.output<typeof planTariffShape> => {
  const { direction, type, marketRates, displayName, providerId, component, schedule } = tariff
  return {
    direction,
    type,
    market_rates: marketRates,
    display_name: displayName,
    provider_id: providerId,
    component,
    schedule: scheduleToWire(schedule, true),
  }
}
