import sql from 'sql-template-tag'
import type { Charge, ChargeTerms, StoredCharge } from '../../../domain/charge/charge.ts'
import type { ScheduleEntry } from '../../../domain/tariff/tariff.ts'
import { percentageFromText, pricesAsTexts } from './price-json.ts'
import { scheduleFromText, termsToText } from './tariff-row.ts'

/** Row of a charge. `schedule` null: the charge has none. */
export type ChargeRow = Omit<StoredCharge, 'terms'> & { readonly terms: string; readonly schedule: string | null }

export const chargeColumns = sql`
  id, account_id as "accountId", live_mode as "liveMode", location_id as "locationId", plan_id as "planId",
  terms::text as terms, schedule::text as schedule, time_created as "createdAt"`

/** Members that are integers of the domain. JSON has them as decimal texts. */
const integerMembers: ReadonlySet<string> = new Set([
  ...['price', 'quantity', 'amount', 'perKwh', 'maxAmount', 'share', 'from', 'to', 'power'],
  ...['monthFloor', 'floor', 'above'],
])

const readInteger = (name: string, value: unknown): unknown => {
  if (typeof value !== 'string') return value
  if (name === 'rate') return percentageFromText(value)
  return integerMembers.has(name) ? BigInt(value) : value
}

/**
 * Write terms as the columns `terms` and `schedule`: integers as decimal texts.
 * Law: `chargeTermsFromRow` returns equal terms.
 */
export const chargeTermsToRow = (terms: ChargeTerms): Pick<ChargeRow, 'terms' | 'schedule'> => {
  const schedule = terms.kind === 'USAGE' ? terms.schedule : null
  const others = terms.kind === 'USAGE' ? { ...terms, schedule: null } : terms
  return {
    terms: JSON.stringify(others, pricesAsTexts),
    schedule: schedule === null ? null : termsToText(schedule),
  }
}

/** Read the columns `terms` and `schedule`. */
export const chargeTermsFromRow = ({ terms: text, schedule }: Pick<ChargeRow, 'terms' | 'schedule'>): ChargeTerms => {
  const terms: ChargeTerms = JSON.parse(text, readInteger)
  const entries: readonly ScheduleEntry[] | null = schedule === null ? null : scheduleFromText(schedule)
  return terms.kind === 'USAGE' ? { ...terms, schedule: entries } : terms
}

export const chargeFromRow = ({ terms, schedule, ...stored }: ChargeRow): StoredCharge => ({
  ...stored,
  terms: chargeTermsFromRow({ terms, schedule }),
})

/** Return a stored charge as the domain reads it. */
export const chargeOf = ({ id, planId, terms }: StoredCharge): Charge => ({ ...terms, id, planId })
