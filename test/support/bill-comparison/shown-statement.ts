import type { PeriodTotals, Statement, StatementLine } from '../../../services/domain/statement/calculate-statement.ts'
import type { LineReason, PaidTime } from '../../../services/domain/statement/statement-line.ts'
import type { PeakReason, LineReason as ShownReason } from '../bill-oracle/bill-line.ts'
import type {
  BillStatement,
  StatementLine as ShownLine,
  StatementTotals as ShownTotals,
} from '../bill-oracle/bill-statement.ts'
import { decimalText } from '../bill-oracle/fraction.ts'
import { dayText, monthText } from '../bill-oracle/local-days.ts'

const instant = (at: number): string => new Date(at).toISOString()
const decimalOrNull = (value: bigint | null): string | null => (value === null ? null : decimalText(value))

/** Return the place in the input of an object with an id such as `chg_3`. */
const placeOf = (id: string | null): number | null => (id === null ? null : Number(id.slice(4)))

const shownPeaks = (peaks: Extract<LineReason, { kind: 'DEMAND' }>['peaks']): readonly PeakReason[] =>
  peaks.map(({ start, end, power, weight, isCoarse, users }) => ({
    start_time: instant(start),
    end_time: instant(end),
    kw: decimalText(power),
    weight: decimalText(BigInt(weight)),
    coarse: isCoarse,
    users: users.map(({ deviceId, sessionReferenceId, energy, share }) => ({
      device_id: deviceId,
      session_reference_id: sessionReferenceId,
      energy: decimalText(energy),
      share: decimalText(BigInt(share), 6),
    })),
  }))

const shownTime = (time: PaidTime | null): string | null =>
  time === null ? null : `${decimalText(time.count)} ${time.unit === 'YEAR' ? 'years' : 'months'}`

const shownReason = (reason: LineReason | null): ShownReason | null => {
  switch (reason?.kind) {
    case 'LIMIT':
      return { limit: decimalText(reason.limit), base: decimalText(reason.base), left_out: reason.leftOut }
    case 'PERCENTAGE':
      return { rate: decimalText(reason.rate, 15), base: decimalText(reason.base), left_out: reason.leftOut }
    case 'DEMAND':
      return {
        measured_kw: decimalText(reason.measured),
        bound_by: reason.boundBy,
        paid_time: shownTime(reason.paidTime),
        peaks: shownPeaks(reason.peaks),
        history: reason.history.map(({ month, power, source }) => ({
          month: monthText(month),
          kw: decimalText(power),
          source,
        })),
      }
    default:
      return null
  }
}

const shownLine = (line: StatementLine): ShownLine => ({
  kind: line.kind,
  component: line.component,
  name: line.name,
  charge: placeOf(line.chargeId),
  tariff: placeOf(line.tariffId),
  tariff_direction: line.direction,
  quantity: decimalOrNull(line.quantity),
  unit: line.unit,
  unit_price: decimalOrNull(line.unitPrice),
  amount: decimalText(line.amount),
  amount_rounded: decimalText(line.amountRounded),
  tax: line.isTax,
  reason: shownReason(line.reason),
  statement_id: line.reason?.kind === 'ADJUSTMENT' ? line.reason.statementId : null,
  prices:
    line.prices?.map(({ price, energy, amount }) => ({
      price: decimalText(price),
      energy: decimalText(energy),
      amount: decimalText(amount),
    })) ?? null,
})

const shownTotals = (totals: PeriodTotals): ShownTotals => ({
  net: decimalText(totals.net),
  tax: decimalText(totals.tax),
  gross: decimalText(totals.gross),
  net_rounded: decimalText(totals.netRounded),
  tax_rounded: decimalText(totals.taxRounded),
  gross_rounded: decimalText(totals.grossRounded),
  estimated_energy: decimalText(totals.estimatedEnergy),
  provisional_energy: decimalText(totals.provisionalEnergy),
})

/** Show a statement of the domain in the form of the oracle. */
export const shownStatement = (statement: Statement): Omit<BillStatement, 'start_date' | 'end_date'> => ({
  complete: statement.isComplete,
  confidence: decimalText(BigInt(statement.confidence), 4),
  gaps: statement.gaps.map(({ reason, start, end, energy }) => ({
    reason,
    start_time: instant(start),
    end_time: instant(end),
    ...(energy !== undefined && { energy: decimalText(energy) }),
  })),
  gaps_more: statement.moreGaps,
  periods: statement.periods.map(({ startDay, endDay, lines, totals }) => ({
    start_date: dayText(startDay),
    end_date: dayText(endDay),
    lines: lines.map(shownLine),
    totals: shownTotals(totals),
  })),
  totals: shownTotals(statement.totals),
  memo: statement.memo.map(({ energyFlowDirection, tariffDirection, quantity, amount, amountRounded }) => ({
    energy_flow_direction: energyFlowDirection,
    tariff_direction: tariffDirection,
    quantity: decimalText(quantity),
    unit: 'kWh',
    amount: decimalText(amount),
    amount_rounded: decimalText(amountRounded),
  })),
})
