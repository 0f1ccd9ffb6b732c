import { z } from 'zod'
import type { DayRange } from '../../domain/charge/charge-days.ts'
import { writeDate } from '../../domain/civil-date.ts'
import { accepted, type Result } from '../../domain/refusal.ts'
import type { RoundingProfile } from '../../domain/statement/round-lines.ts'
import type { ExpectedRecords } from '../../domain/statement/statement-gaps.ts'
import { maxPeriods, type RequestedPeriods, statementPeriods } from '../../domain/statement/statement-periods.ts'
import { fields, integer, listOf, localDate, oneOf, optional } from '../field.ts'

/** Inclusion of the records of devices: auto includes them only if the location has no records of its own. */
type DeviceInclusion = 'auto' | boolean

/** Request of a statement. `decimals` null: those of the currency. `expected` null: the default of the gaps. */
export type StatementRequest = DayRange & {
  readonly periods: RequestedPeriods
  readonly rounding: { readonly profile: RoundingProfile; readonly decimals: number | null }
  readonly expected: ExpectedRecords | null
  readonly hasDetail: boolean
  readonly includeDevices: DeviceInclusion
}

const day = (text: string) => localDate.describe(text)

const dateRange = {
  start_date: day('First local day.'),
  end_date: day('Local day after the last day.'),
}

const periodInput = fields(dateRange).meta({ component: 'StatementPeriodInput' })

/** Rounding in a request. `decimals` absent: those of the currency. */
export const roundingInput = fields({
  profile: oneOf('EXACT', 'LARGEST_REMAINDER', 'EN16931')
    .default('EXACT')
    .describe(
      'EXACT keeps all digits. LARGEST_REMAINDER rounds the total and distributes the difference over the lines. EN16931 rounds each line.',
    ),
  decimals: optional(integer({ min: 0, max: 9 })).describe('Default: the decimals of the currency.'),
}).meta({ component: 'StatementRoundingInput' })

/** Body of a request of a statement. */
export const statementInput = fields({
  ...dateRange,
  end_date: day('Local day after the last day, at most 3 years after start_date.'),
  periods: optional(z.union([oneOf('MONTH', 'ONE'), listOf(periodInput, { min: 1, max: maxPeriods })])).describe(
    'Billing periods: calendar months, one period, or contiguous periods from start_date to end_date. Default: MONTH.',
  ),
  rounding: optional(roundingInput),
  expect: optional(oneOf('EVERY_INTERVAL', 'NOTHING')).describe(
    'EVERY_INTERVAL: time without a record is a gap. Default: EVERY_INTERVAL, unless all records have a session.',
  ),
  detail: optional(oneOf('PRICE')).describe('PRICE lists energy and amount by price in the lines of energy.'),
  include_devices: optional(z.union([z.boolean(), oneOf('auto')])).describe(
    'As in costs. Default: auto, which includes the records of devices only if the location has no records of its own.',
  ),
})

/**
 * Read a request of a statement, with its billing periods. Refuses what `statementPeriods` refuses.
 */
export const readStatementRequest = (
  body: z.output<typeof statementInput>,
): Result<{ readonly request: StatementRequest; readonly periods: readonly DayRange[] }> => {
  const range = { startDay: body.start_date, endDay: body.end_date }
  const requested = body.periods ?? 'MONTH'
  const periods =
    typeof requested === 'string'
      ? requested
      : requested.map(({ start_date, end_date }) => ({ startDay: start_date, endDay: end_date }))
  const resolved = statementPeriods(range, periods)
  if (!resolved.ok) return resolved
  const request: StatementRequest = {
    ...range,
    periods,
    rounding: { profile: body.rounding?.profile ?? 'EXACT', decimals: body.rounding?.decimals ?? null },
    expected: body.expect ?? null,
    hasDetail: body.detail === 'PRICE',
    includeDevices: body.include_devices ?? 'auto',
  }
  return accepted({ request, periods: resolved.value })
}

const rangeText = ({ startDay, endDay }: DayRange) => ({ start_date: writeDate(startDay), end_date: writeDate(endDay) })

/**
 * Write a request as the JSON of its body, with all defaults. Law: equal requests have equal texts, and the text reads
 * back as the same request.
 */
export const statementRequestText = ({
  periods,
  rounding,
  expected,
  hasDetail,
  includeDevices,
  ...range
}: StatementRequest): string =>
  JSON.stringify({
    ...rangeText(range),
    periods: typeof periods === 'string' ? periods : periods.map(rangeText),
    rounding,
    expect: expected,
    detail: hasDetail ? 'PRICE' : null,
    include_devices: includeDevices,
  })
