import { z } from 'zod'
import { instant, optional } from '../../contract/field.ts'
import { exactNumber, isNumberText } from '../../contract/json/exact-number.ts'
import { readShape } from '../../contract/read-shape.ts'
import { rateNumberNames } from '../../contract/tariffs/rate.ts'
import { marketSchedule, scheduleFrame } from '../../contract/tariffs/tariff-schedule.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { ContractTerm } from '../domain/session.ts'
import type { PageData } from './read-page.ts'

/**
 * Data of the advanced page. The page sends unknown members too, which are ignored. The schedule is that of POST
 * /tariffs.
 */
const advancedTariffShape = z.object({
  tariff: z.object({
    market_rates: optional(z.boolean()),
    contract_start_date: optional(instant),
    contract_end_date: optional(instant),
    schedule: optional(scheduleFrame),
  }),
})

const numberMembers: readonly string[] = [...rateNumberNames, 'dates']

/** Turn texts into numbers for the members of a schedule that are numbers. */
const textsToNumbers = (value: unknown, name = ''): unknown => {
  if (Array.isArray(value)) return value.map(one => textsToNumbers(one, name))
  if (typeof value === 'string') return numberMembers.includes(name) && isNumberText(value) ? exactNumber(value) : value
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([member, one]) => [member, textsToNumbers(one, member)]))
}

export type AdvancedTariffInput = {
  readonly marketRates: boolean
  readonly schedule: unknown
  readonly term: ContractTerm
}

/** Read the tariff of the advanced page. Refuses `data_json_invalid` with the path. */
export const readAdvancedTariff = (data: PageData): Result<AdvancedTariffInput> => {
  const read = readShape(advancedTariffShape, textsToNumbers(data), 'body')
  if (!read.ok) {
    const { message, field } = read.refusal
    return refused('data_json_invalid', message, field === undefined ? 'data' : `data.${field}`)
  }
  const { market_rates: marketRates = false, contract_start_date: start, contract_end_date: end } = read.value.tariff
  const schedule = read.value.tariff.schedule ?? (marketRates ? marketSchedule : undefined)
  if (schedule === undefined)
    return refused('data_json_invalid', 'schedule is required, unless market_rates is true', 'data.tariff.schedule')
  const term = {
    start: start?.at ?? null,
    end: end?.at ?? null,
    type: end === undefined ? 'UNTIL_TERMINATED' : 'FIXED',
  } as const
  return accepted({ marketRates, schedule, term })
}
