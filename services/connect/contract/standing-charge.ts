import { exactNumber } from '../../contract/json/exact-number.ts'
import { formatDecimal, readDecimal } from '../../domain/quantity.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { type StandingCharge, standingChargeUnit } from '../domain/standing-charge.ts'
import type { PageData } from './read-page.ts'

const units = ['DAY', 'MONTH', 'YEAR'] as const
const amountRule = { scale: 9, min: 0n, max: 1_000_000_000_000_000n, round: true }

const invalid = (message: string, member: string) =>
  refused('data_json_invalid', message, `data.standing_charge.${member}`)

/**
 * Read the standing charge of a page: `amount` in major units and `per`, by default the unit of the country. An amount
 * of zero is no charge. Undefined if the page has no such member, so that programs need not know it.
 */
export const readStandingCharge = (
  data: PageData,
  countryCode: string | undefined,
): Result<StandingCharge | null | undefined> => {
  const sent = data['standing_charge']
  if (sent === undefined || sent === null) return accepted(sent)
  if (typeof sent !== 'object' || Array.isArray(sent))
    return refused('data_json_invalid', 'standing_charge must be an object', 'data.standing_charge')
  const { amount = '0', per = standingChargeUnit(countryCode) } = sent as PageData
  const unit = units.find(one => one === per)
  if (unit === undefined) return invalid('per must be DAY, MONTH or YEAR', 'per')
  const text = amount === null ? '0' : amount
  const read = typeof text === 'string' ? readDecimal(text.trim(), amountRule, 'amount') : null
  if (read?.ok !== true) return invalid('amount must be a number from 0 to 1000000', 'amount')
  return accepted(read.value === 0n ? null : { amount: formatDecimal(read.value, amountRule.scale), per: unit })
}

/** Write the standing charge of a page. Without one, the amount is 0 in the unit of the country. */
export const standingChargeToWire = (charge: StandingCharge | null, countryCode: string | undefined) =>
  charge === null
    ? { amount: 0, per: standingChargeUnit(countryCode) }
    : { amount: exactNumber(charge.amount), per: charge.per }
