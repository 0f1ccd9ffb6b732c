import { z } from 'zod'
import type { AnswerOffset } from '../../domain/answer-offset.ts'
import type { DayRange } from '../../domain/charge/charge-days.ts'
import { writeDate } from '../../domain/civil-date.ts'
import { writeInstant } from '../../domain/instant.ts'
import type { RecordOverlap } from '../../domain/record/warnings.ts'
import type { PeriodTotals, Statement, StatementPeriod } from '../../domain/statement/calculate-statement.ts'
import type { StatementRounding } from '../../domain/statement/round-lines.ts'
import { confidenceScale, count, dateText, exactDecimal, idText, instantText, storedMembers } from '../answer-field.ts'
import { type Cell, csvText } from '../costs/csv.ts'
import { scaledNumber } from '../json/exact-number.ts'
import { overlapToWire, warningsShape } from '../warning.ts'
import { decimalToWire, type StatementLineWire, statementLineShape, statementLineToWire } from './statement-line.ts'

const totalsShape = z
  .object({
    net: exactDecimal,
    tax: exactDecimal,
    gross: exactDecimal,
    net_rounded: exactDecimal,
    tax_rounded: exactDecimal,
    gross_rounded: exactDecimal,
    estimated_energy: exactDecimal.describe('kWh of records with a confidence below 1. They are billed as they are.'),
    provisional_energy: exactDecimal.describe(
      'kWh with a provisional price: a forecast, or a price after the contract.',
    ),
  })
  .meta({ component: 'StatementTotals' })

const gapShape = z
  .object({
    reason: z.enum(['UNPRICED', 'PROVISIONAL_PRICE', 'MISSING', 'NOT_ENDED']),
    start_time: instantText,
    end_time: instantText,
    energy: exactDecimal.optional().describe('kWh of PROVISIONAL_PRICE.'),
  })
  .meta({ component: 'StatementGap' })

const periodShape = z
  .object({
    start_date: dateText,
    end_date: dateText.describe('Exclusive.'),
    lines: z.array(statementLineShape),
    totals: totalsShape.describe('Sums of the lines. tax adds up the lines with tax, net all others.'),
  })
  .meta({ component: 'StatementPeriod' })

const memoShape = z
  .object({
    energy_flow_direction: z.enum(['INBOUND', 'OUTBOUND']),
    tariff_direction: z.enum(['IMPORT', 'EXPORT', 'LOCAL']),
    quantity: exactDecimal,
    unit: z.literal('kWh'),
    amount: exactDecimal,
    amount_rounded: exactDecimal,
  })
  .meta({ component: 'StatementMemo' })

export const statementShape = z.object({
  id: idText('stm'),
  object: z.literal('statement'),
  live_mode: storedMembers.live_mode,
  location_id: idText('loc'),
  location_timezone: z.string(),
  currency_code: z.string(),
  start_date: dateText,
  end_date: dateText.describe('Exclusive.'),
  rounding: z.object({ profile: z.enum(['EXACT', 'LARGEST_REMAINDER', 'EN16931']), decimals: count }),
  status: z.enum(['DRAFT', 'FINAL']),
  redacted: z
    .literal(true)
    .optional()
    .describe('Ids of devices and sessions were erased after the statement was final.'),
  complete: z.boolean().describe('False if there are gaps: the amounts can still change.'),
  confidence: exactDecimal.describe('0 to 1.'),
  gaps: z.array(gapShape).describe('The first 100, by start.'),
  gaps_more: count.optional().describe('Number of gaps beyond the first 100.'),
  warnings: warningsShape,
  periods: z.array(periodShape),
  totals: totalsShape.describe('Sums of the totals of the periods.'),
  memo: z.array(memoShape).describe('Own generation, and energy that a storage supplied. They are in no total.'),
  revision: count.describe('Number of different answers of this statement so far.'),
  hash: z
    .string()
    .describe(
      'SHA-256 in hexadecimal digits of the answer without id, revision, hash and time_created, in the form of RFC 8785 with numbers as written.',
    ),
  time_created: storedMembers.time_created,
  account_id: storedMembers.account_id,
})

export type StatementWire = z.output<typeof statementShape>

/** Statement without its lines: the data of its events. */
export const statementSummaryShape = statementShape.extend({
  periods: z.array(periodShape.omit({ lines: true }).meta({ component: 'StatementPeriodSummary' })),
})

/** Members of a statement that depend on the request and the location. */
export type StatementView = DayRange & {
  readonly liveMode: boolean
  readonly accountId: string
  readonly locationId: string
  readonly timezone: string
  readonly currencyCode: string
  readonly rounding: StatementRounding
  readonly status: 'DRAFT' | 'FINAL'
}

const totalsToWire = (totals: PeriodTotals): StatementWire['totals'] => ({
  net: decimalToWire(totals.net),
  tax: decimalToWire(totals.tax),
  gross: decimalToWire(totals.gross),
  net_rounded: decimalToWire(totals.netRounded),
  tax_rounded: decimalToWire(totals.taxRounded),
  gross_rounded: decimalToWire(totals.grossRounded),
  estimated_energy: decimalToWire(totals.estimatedEnergy),
  provisional_energy: decimalToWire(totals.provisionalEnergy),
})

const datesToWire = ({ startDay, endDay }: DayRange) => ({
  start_date: writeDate(startDay),
  end_date: writeDate(endDay),
})

const periodToWire = (period: StatementPeriod, offsetOf: AnswerOffset): StatementWire['periods'][0] => {
  const lines: StatementLineWire[] = []
  for (const line of period.lines) {
    lines.push(statementLineToWire(line, offsetOf))
  }
  return { ...datesToWire(period), lines, totals: totalsToWire(period.totals) }
}

/** Members of a statement that its hash covers, in the order of the answer. */
export type StatementContent = Omit<StatementWire, 'id' | 'revision' | 'hash' | 'time_created'>

/** Write a statement, with pauses. `offsetOf` returns the offset (minutes) for writing an instant. */
export const statementToWire = (
  view: StatementView,
  statement: Statement & { readonly overlap: RecordOverlap | null },
  offsetOf: AnswerOffset,
): StatementContent => {
  const periods: StatementWire['periods'] = []
  for (const period of statement.periods) periods.push(periodToWire(period, offsetOf))
  return {
    object: 'statement',
    live_mode: view.liveMode,
    location_id: view.locationId,
    location_timezone: view.timezone,
    currency_code: view.currencyCode,
    ...datesToWire(view),
    rounding: { ...view.rounding },
    status: view.status,
    complete: statement.isComplete,
    confidence: scaledNumber(BigInt(statement.confidence), confidenceScale),
    gaps: statement.gaps.map(({ reason, start, end, energy }) => ({
      reason,
      start_time: writeInstant(start, offsetOf(start)),
      end_time: writeInstant(end, offsetOf(end)),
      ...(energy === undefined ? {} : { energy: decimalToWire(energy) }),
    })),
    ...(statement.moreGaps === 0 ? {} : { gaps_more: statement.moreGaps }),
    ...overlapToWire(statement.overlap, offsetOf),
    periods,
    totals: totalsToWire(statement.totals),
    memo: statement.memo.map(line => ({
      energy_flow_direction: line.energyFlowDirection,
      tariff_direction: line.tariffDirection,
      quantity: decimalToWire(line.quantity),
      unit: 'kWh' as const,
      amount: decimalToWire(line.amount),
      amount_rounded: decimalToWire(line.amountRounded),
    })),
    account_id: view.accountId,
  }
}

/** Return a statement without its lines. */
export const statementSummary = ({ periods, ...content }: StatementContent) => ({
  ...content,
  periods: periods.map(({ start_date, end_date, totals }) => ({ start_date, end_date, totals })),
})

/** Members of a statement that are known after it is calculated. `createdAt` in ms. */
export type StatementIdentity = {
  readonly id: string
  readonly revision: number
  readonly hash: string
  readonly createdAt: number
  readonly accountId: string
}

/**
 * Return the texts before and after the members of a content, written without its braces and without `account_id`. The
 * three texts are the JSON of the statement.
 */
export const statementFrame = ({ id, revision, hash, createdAt, accountId }: StatementIdentity) => {
  const tail = { revision, hash, time_created: writeInstant(createdAt), account_id: accountId }
  return { before: `{"id":${JSON.stringify(id)},`, after: `,${JSON.stringify(tail).slice(1)}` }
}

const csvNames = [
  'period_start',
  'period_end',
  'kind',
  'component',
  'name',
  'charge_id',
  'tariff_id',
  'quantity',
  'unit',
  'unit_price',
  'amount',
  'amount_rounded',
  'tax',
]

const lineCells = (line: StatementLineWire): readonly Cell[] => [
  line.kind,
  line.component,
  line.name,
  line.charge_id,
  line.tariff_id,
  line.quantity,
  line.unit,
  line.unit_price,
  line.amount,
  line.amount_rounded,
  line.tax,
]

/** Write the lines of a statement as CSV texts: the names of the columns, then the rows of each period. */
export function* statementCsvTexts({ periods }: Pick<StatementWire, 'periods'>): Generator<string> {
  yield csvText(csvNames, [])
  for (const { start_date, end_date, lines } of periods)
    yield csvText(
      null,
      lines.map(line => [start_date, end_date, ...lineCells(line)]),
    )
}

/** Names of the columns of a table of several statements. */
export const statementBatchCsvHeader = csvText(['location_id', 'statement_id', 'currency_code', ...csvNames], [])

/** Write the lines of one of several statements as CSV texts, without the names of the columns. */
export function* statementBatchCsvTexts({
  id,
  location_id,
  currency_code,
  periods,
}: Pick<StatementWire, 'id' | 'location_id' | 'currency_code' | 'periods'>): Generator<string> {
  for (const { start_date, end_date, lines } of periods)
    yield csvText(
      null,
      lines.map(line => [location_id, id, currency_code, start_date, end_date, ...lineCells(line)]),
    )
}
