import { readTariffTerms, type ScheduleEntryInput } from '../../contract/tariffs/read-tariff-terms.ts'
import { formatDecimal, percentageScale, readDecimal } from '../../domain/quantity.ts'
import type { Result } from '../../domain/refusal.ts'
import type { TariffDirection, TariffTerms, TariffType } from '../../domain/tariff/tariff.ts'
import { type ConnectState, followsMarket } from '../domain/session.ts'

const wholeDay = { valid_from: '00:00:00', valid_to: '00:00:00' }

const everyDay = (
  hours: readonly { valid_from: string; valid_to: string; rate: readonly object[] }[],
): readonly ScheduleEntryInput[] => [{ months: ['All'], dates: [], days_and_hours: [{ days: ['All'], hours }] }]

const percentRule = { scale: percentageScale - 2, min: 0n, max: 5n * 10n ** BigInt(percentageScale) }

/** Convert percent with 13 decimals to a fraction with 15 decimals. */
const fractionOf = (percent: string): string => {
  const read = readDecimal(percent, percentRule, 'percentage')
  if (!read.ok) throw new RangeError(`a surcharge of ${percent} percent was never read`)
  return formatDecimal(read.value, percentageScale)
}

/**
 * Write captured prices as the schedule of a tariff: 18.5 percent is the fraction 0.185.
 * Source: docs/rules/connect.md #pages.
 */
export const scheduleOf = (state: ConnectState): readonly ScheduleEntryInput[] => {
  switch (state.structure) {
    case 'FIXED':
      return everyDay([{ ...wholeDay, rate: [{ fixed: state.cost ?? '0' }] }])
    case 'TIME_OF_DAY':
      return everyDay(
        (state.hours ?? []).map(({ cost, valid_from, valid_to }) => ({
          valid_from,
          valid_to,
          rate: [{ fixed: cost }],
        })),
      )
    case 'ADVANCED':
      return (state.advanced?.schedule ?? []) as readonly ScheduleEntryInput[]
    default: {
      const { fixed, percentage } = state.surcharge ?? { fixed: '0', percentage: '0' }
      return everyDay([
        { ...wholeDay, rate: [{ surcharge_fixed: fixed, surcharge_percentage: fractionOf(percentage) }] },
      ])
    }
  }
}

/**
 * Validate captured prices for a contract as POST /tariffs does. Refuses what `readTariffTerms` refuses.
 */
export const tariffTermsOf = (
  kind: { readonly direction: TariffDirection; readonly type: TariffType },
  state: ConnectState,
  contract: { readonly start: number | null; readonly end: number | null },
): Result<TariffTerms> => {
  const { direction, type } = kind
  return readTariffTerms({
    direction,
    type,
    marketRates: followsMarket(state),
    contractStart: contract.start,
    contractEnd: contract.end,
    schedule: scheduleOf(state),
  })
}
