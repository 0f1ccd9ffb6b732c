import { z } from 'zod'
import type { AnswerOffset } from '../../domain/answer-offset.ts'
import { lineKinds } from '../../domain/charge/charge.ts'
import { calendarMonthOf } from '../../domain/charge/charge-days.ts'
import { writeMonth } from '../../domain/civil-date.ts'
import { writeInstant } from '../../domain/instant.ts'
import { percentageScale } from '../../domain/quantity.ts'
import type { StatementLine } from '../../domain/statement/calculate-statement.ts'
import type { PeakReason } from '../../domain/statement/peak-users.ts'
import type { LineReason, PaidTime } from '../../domain/statement/statement-line.ts'
import { exactDecimal, idText, instantText, orNull } from '../answer-field.ts'
import { scaledNumber } from '../json/exact-number.ts'

/** Decimals of money, prices, power and quantities. A quantity of energy in kWh has the 9 decimals of 1e-6 Wh. */
const scale = 9
const shareScale = 6

const peakUser = z
  .object({
    device_id: orNull(idText('dev')),
    session_reference_id: orNull(z.string()),
    energy: exactDecimal.describe('kWh.'),
    share: exactDecimal.describe('Share of the energy of the peak, 0 to 1.'),
  })
  .meta({ component: 'PeakUser' })

const peak = z
  .object({
    start_time: instantText,
    end_time: instantText,
    kw: exactDecimal.describe('Power without the weight.'),
    weight: exactDecimal,
    coarse: z.boolean().describe('True if a record that is longer than the interval has energy in it.'),
    users: z.array(peakUser).describe('At most 50, by falling share.'),
  })
  .meta({ component: 'DemandPeak' })

const historyMonth = z
  .object({
    month: z.string().meta({ type: 'string', examples: ['2026-05'] }),
    kw: exactDecimal,
    source: z.enum(['RECORDS', 'GIVEN']),
  })
  .meta({ component: 'DemandMonth' })

const reasonShape = z
  .object({
    measured_kw: exactDecimal.optional().describe('DEMAND: measured power, before floors, ratchet and rounding.'),
    bound_by: orNull(z.enum(['MEASURED', 'ROLLING', 'RATCHET', 'FLOOR']))
      .optional()
      .describe('DEMAND: the last rule that set the billed power; null if it differs by day.'),
    months: exactDecimal
      .optional()
      .describe(
        'DEMAND per MONTH: the months that are paid, as the sum of the weights of the days; absent if it is 1.',
      ),
    years: exactDecimal
      .optional()
      .describe('DEMAND per YEAR: the years that are paid, as the sum of the weights of the days; absent if it is 1.'),
    peaks: z.array(peak).optional().describe('DEMAND: at most 12 peaks, by falling power and weight.'),
    history: z.array(historyMonth).optional().describe('DEMAND: power of the earlier months.'),
    limit: exactDecimal.optional().describe('MINIMUM and MAXIMUM: the limit.'),
    rate: exactDecimal.optional().describe('PERCENTAGE: the rate as a fraction.'),
    base: exactDecimal.optional().describe('MINIMUM, MAXIMUM and PERCENTAGE: sum of the lines of the base.'),
    left_out: z
      .array(z.string())
      .optional()
      .describe(
        'MINIMUM, MAXIMUM and PERCENTAGE: names of the charges that count EXPORT, which a base with the direction IMPORT leaves out; absent if there are none.',
      ),
    statement_id: idText('stm').optional().describe('ADJUSTMENT: the statement that the line adjusts.'),
  })
  .meta({ component: 'LineReason' })

const priceDetail = z
  .object({ price: exactDecimal.describe('Per kWh.'), energy: exactDecimal.describe('kWh.'), amount: exactDecimal })
  .meta({ component: 'PriceDetail' })

/** Line of a statement. */
export const statementLineShape = z
  .object({
    kind: z.enum(lineKinds),
    component: z.string(),
    name: z.string(),
    charge_id: orNull(idText('chg')),
    tariff_id: orNull(idText('trf')).describe('Null if several tariffs priced the energy.'),
    plan_id: orNull(idText('pln')),
    tariff_direction: orNull(z.enum(['IMPORT', 'EXPORT'])),
    quantity: orNull(exactDecimal),
    unit: orNull(z.string()),
    unit_price: orNull(exactDecimal).describe('Null if there are several prices.'),
    amount: exactDecimal.describe('Exact amount. Sold energy is negative.'),
    amount_rounded: exactDecimal,
    tax: z.boolean(),
    reason: orNull(reasonShape).describe('Values that decided the amount.'),
    prices: z.array(priceDetail).optional().describe('With detail PRICE: at most 1,000 prices, rising.'),
    prices_more: z.int().optional().describe('Number of prices beyond the first 1,000.'),
  })
  .meta({ component: 'StatementLine' })

export type StatementLineWire = z.output<typeof statementLineShape>

/** Write an amount, price, power or quantity. */
export const decimalToWire = (value: bigint) => scaledNumber(value, scale)
const orNullToWire = (value: bigint | null) => (value === null ? null : decimalToWire(value))

const peakToWire = ({ start, end, power, weight, isCoarse, users }: PeakReason, offsetOf: AnswerOffset) => ({
  start_time: writeInstant(start, offsetOf(start)),
  end_time: writeInstant(end, offsetOf(end)),
  kw: decimalToWire(power),
  weight: decimalToWire(BigInt(weight)),
  coarse: isCoarse,
  users: users.map(user => ({
    device_id: user.deviceId,
    session_reference_id: user.sessionReferenceId,
    energy: decimalToWire(user.energy),
    share: scaledNumber(BigInt(user.share), shareScale),
  })),
})

const paidTimeToWire = (time: PaidTime | null) => {
  if (time === null) return {}
  return time.unit === 'MONTH' ? { months: decimalToWire(time.count) } : { years: decimalToWire(time.count) }
}

const reasonToWire = (reason: LineReason, offsetOf: AnswerOffset): z.output<typeof reasonShape> => {
  if (reason.kind === 'DEMAND')
    return {
      measured_kw: decimalToWire(reason.measured),
      bound_by: reason.boundBy,
      ...paidTimeToWire(reason.paidTime),
      peaks: reason.peaks.map(one => peakToWire(one, offsetOf)),
      history: reason.history.map(({ month, power, source }) => ({
        month: writeMonth(Math.floor(month / 12), calendarMonthOf(month)),
        kw: decimalToWire(power),
        source,
      })),
    }
  if (reason.kind === 'ADJUSTMENT') return { statement_id: reason.statementId }
  return {
    ...(reason.kind === 'LIMIT'
      ? { limit: decimalToWire(reason.limit) }
      : { rate: scaledNumber(reason.rate, percentageScale) }),
    base: decimalToWire(reason.base),
    ...(reason.leftOut.length === 0 ? {} : { left_out: [...reason.leftOut] }),
  }
}

/** Write a line. `offsetOf` returns the offset (minutes) for writing an instant. */
export const statementLineToWire = (line: StatementLine, offsetOf: AnswerOffset): StatementLineWire => ({
  kind: line.kind,
  component: line.component,
  name: line.name,
  charge_id: line.chargeId,
  tariff_id: line.tariffId,
  plan_id: line.planId,
  tariff_direction: line.direction,
  quantity: orNullToWire(line.quantity),
  unit: line.unit,
  unit_price: orNullToWire(line.unitPrice),
  amount: decimalToWire(line.amount),
  amount_rounded: decimalToWire(line.amountRounded),
  tax: line.isTax,
  reason: line.reason === null ? null : reasonToWire(line.reason, offsetOf),
  ...(line.prices === null
    ? {}
    : {
        prices: line.prices.map(({ price, energy, amount }) => ({
          price: decimalToWire(price),
          energy: decimalToWire(energy),
          amount: decimalToWire(amount),
        })),
        ...(line.morePrices === 0 ? {} : { prices_more: line.morePrices }),
      }),
})
