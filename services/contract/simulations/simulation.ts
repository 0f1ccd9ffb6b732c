import { z } from 'zod'
import { basicChargeKinds, derivedChargeKinds } from '../../domain/charge/charge.ts'
import { calendarMonthOf, type DayRange } from '../../domain/charge/charge-days.ts'
import { writeDate, writeMonth } from '../../domain/civil-date.ts'
import { type Money, moneyScale } from '../../domain/quantity.ts'
import type { Refusal } from '../../domain/refusal.ts'
import { type Bill, type BillLine, type MonthTotal, standingDaysOf } from '../../domain/simulation/bill.ts'
import type { StatementRounding } from '../../domain/statement/round-lines.ts'
import type { OwnedObject } from '../../domain/tenant.ts'
import {
  count,
  dateText,
  exactDecimal,
  exampleObject,
  idText,
  objectToWire,
  orNull,
  storedMembers,
} from '../answer-field.ts'
import { toSentence } from '../error.ts'
import { type ExactNumber, scaledNumber } from '../json/exact-number.ts'
import { formatThousands } from '../message-text.ts'
import { currentRoute, defineOperation, retrieval } from '../operation.ts'
import { customerOnly, deviceOnly, locationOnly } from '../reference.ts'
import { simulationBody, simulationLimits } from './simulation-request.ts'

const lineShape = z
  .object({
    kind: z.enum(['ENERGY', ...basicChargeKinds, ...derivedChargeKinds]),
    component: z.string(),
    name: z.string(),
    tariff_direction: orNull(z.enum(['IMPORT', 'EXPORT'])),
    quantity: orNull(exactDecimal),
    unit: orNull(z.string()),
    amount: exactDecimal,
    amount_rounded: exactDecimal,
    tax: z.boolean(),
    standing_days: orNull(count).describe(
      'Days on which a FIXED charge is paid, added up over equal lines; null for other kinds, and in a result of an earlier release.',
    ),
  })
  .meta({ component: 'SimulationLine' })

const monthName = z.string().meta({ examples: ['2026-01'] })

const billMembers = {
  energy: exactDecimal.describe('Lines of energy: bought energy less sold energy.'),
  charges: exactDecimal.describe('Other lines without tax.'),
  tax: exactDecimal,
  total: exactDecimal.describe('Sum of energy, charges and tax.'),
  complete: z.boolean().describe('False if records or prices are missing, or if the days have not ended.'),
}

const standingDays = orNull(count).describe(
  'Days on which a location has all its standing charges: as many FIXED charges as on any day of the simulation. Added up over the locations; null in a result of an earlier release.',
)

const linesMember = z.array(lineShape).optional().describe('Only with lines: true.')

const baselineShape = z
  .object({
    ...billMembers,
    standing_days: standingDays,
    months: z.array(
      z
        .object({ month: monthName, total: exactDecimal, standing_days: standingDays })
        .meta({ component: 'SimulationMonth' }),
    ),
    lines: linesMember,
  })
  .meta({ component: 'SimulationBaseline' })

const difference = exactDecimal.describe('Total of the candidate less that of the baseline.')

const candidateShape = z
  .object({
    name: z.string(),
    ...billMembers,
    difference,
    standing_days: standingDays,
    standing_days_difference: orNull(count).describe(
      'Standing days of the candidate less those of the baseline. If it is not 0, the bills have standing charges for different days.',
    ),
    months: z.array(
      z
        .object({ month: monthName, total: exactDecimal, difference: exactDecimal, standing_days: standingDays })
        .meta({ component: 'SimulationCandidateMonth' }),
    ),
    lines: linesMember,
  })
  .meta({ component: 'SimulationCandidate' })

const comparisonMembers = {
  baseline: orNull(baselineShape).describe('Bill of the stored costs and charges; null until the status is DONE.'),
  data: z.array(candidateShape).describe('Bills of the candidates, in the order of the request.'),
}

const simulationShape = z.object({
  id: orNull(idText('sim')).describe('Null if the simulation was answered at once.'),
  object: z.literal('simulation'),
  live_mode: storedMembers.live_mode,
  status: z.enum(['PENDING', 'DONE', 'FAILED']),
  progress: z
    .object({ locations: count, done: count })
    .describe('Number of locations, and of those already calculated.'),
  currency_code: z.string(),
  start_date: dateText,
  end_date: dateText,
  rounding: z
    .object({ profile: z.enum(['EXACT', 'LARGEST_REMAINDER', 'EN16931']), decimals: count })
    .meta({ component: 'SimulationRounding' }),
  ...comparisonMembers,
  locations: z
    .array(z.object({ location_id: idText('loc'), ...comparisonMembers }).meta({ component: 'SimulationLocation' }))
    .optional()
    .describe('Only with group_by: LOCATION.'),
  error: orNull(z.object({ code: z.string(), message: z.string() })).describe('Reason of the status FAILED.'),
  time_created: storedMembers.time_created,
  account_id: storedMembers.account_id,
})

/** Bills of the stored costs and of each candidate. */
export type Comparison = { readonly baseline: Bill; readonly candidates: readonly Bill[] }

/** Simulation of an answer. `comparison` is null until it is done; `refusal` is null unless it failed. */
export type SimulationView = Omit<OwnedObject, 'id'> &
  DayRange & {
    readonly id: string | null
    readonly currencyCode: string
    readonly rounding: StatementRounding
    readonly names: readonly string[]
    readonly hasLines: boolean
    readonly locationCount: number
    readonly doneCount: number
    readonly comparison: Comparison | null
    /** Comparison of each location; null if the request does not group by location. */
    readonly locations: readonly (Comparison & { readonly locationId: string })[] | null
    readonly refusal: Refusal | null
  }

const money = (amount: Money): ExactNumber => scaledNumber(amount, moneyScale)
const monthText = (month: number): string => writeMonth(Math.floor(month / 12), calendarMonthOf(month))

const lineToWire = ({ kind, component, name, direction, unit, isTax, ...sums }: BillLine) => ({
  kind: kind as z.input<typeof lineShape>['kind'],
  component,
  name,
  tariff_direction: direction,
  quantity: sums.quantity === null ? null : scaledNumber(sums.quantity, moneyScale),
  unit,
  amount: money(sums.amount),
  amount_rounded: money(sums.amountRounded),
  tax: isTax,
  standing_days: sums.standingDays ?? null,
})

const sumsToWire = ({ energy, charges, tax, total, isComplete }: Bill) => ({
  energy: money(energy),
  charges: money(charges),
  tax: money(tax),
  total: money(total),
  complete: isComplete,
})

const monthToWire = ({ month, total, standingDays: days }: MonthTotal) => ({
  month: monthText(month),
  total: money(total),
  standing_days: days ?? null,
})

const linesToWire = ({ lines }: Bill, hasLines: boolean) => (hasLines ? { lines: lines.map(lineToWire) } : {})

const candidateToWire = (
  name: string,
  bill: Bill,
  baseline: Bill,
  hasLines: boolean,
): z.input<typeof candidateShape> => {
  const before = new Map(baseline.months.map(({ month, total }) => [month, total]))
  const [days, daysBefore] = [standingDaysOf(bill), standingDaysOf(baseline)]
  return {
    name,
    ...sumsToWire(bill),
    difference: money(bill.total - baseline.total),
    standing_days: days,
    standing_days_difference: days === null || daysBefore === null ? null : days - daysBefore,
    months: bill.months.map(one => ({
      ...monthToWire(one),
      difference: money(one.total - (before.get(one.month) ?? 0n)),
    })),
    ...linesToWire(bill, hasLines),
  }
}

const comparisonToWire = ({ baseline, candidates }: Comparison, names: readonly string[], hasLines: boolean) => ({
  baseline: {
    ...sumsToWire(baseline),
    standing_days: standingDaysOf(baseline),
    months: baseline.months.map(monthToWire),
    ...linesToWire(baseline, hasLines),
  },
  data: candidates.map((bill, index) => candidateToWire(names[index] ?? '', bill, baseline, hasLines)),
})

/** Write a simulation. */
export const simulationToWire = ({ id, ...view }: SimulationView): z.input<typeof simulationShape> => {
  const { names, hasLines, comparison, locations, refusal } = view
  const { id: _, ...wire } = objectToWire(
    'simulation',
    { ...view, id: '' },
    {
      status: refusal !== null ? ('FAILED' as const) : comparison === null ? ('PENDING' as const) : ('DONE' as const),
      progress: { locations: view.locationCount, done: view.doneCount },
      currency_code: view.currencyCode,
      start_date: writeDate(view.startDay),
      end_date: writeDate(view.endDay),
      rounding: view.rounding,
      ...(comparison === null ? { baseline: null, data: [] } : comparisonToWire(comparison, names, hasLines)),
      ...(locations === null || comparison === null
        ? {}
        : {
            locations: locations.map(({ locationId, ...one }) => ({
              location_id: locationId,
              ...comparisonToWire(one, names, hasLines),
            })),
          }),
      error: refusal === null ? null : { code: refusal.code, message: toSentence(refusal.message) },
    },
  )
  return { id, ...wire }
}

const exampleBill = (energy: bigint, charges: bigint, tax: bigint): Bill => {
  const total = energy + charges + tax
  const months = [{ month: 2026 * 12 + 2, total, standingDays: 31 }]
  return { energy, charges, tax, total, isComplete: true, months, lines: [] }
}

const { id: _, ...owner } = exampleObject('sim')

/** Example for the reference page. */
const example = simulationToWire({
  ...owner,
  id: null,
  currencyCode: 'GBP',
  startDay: 20_513,
  endDay: 20_544,
  hasLines: false,
  rounding: { profile: 'EXACT', decimals: 2 },
  names: ['Night saver'],
  locationCount: 1,
  doneCount: 1,
  comparison: {
    baseline: exampleBill(74_160_000_000n, 14_833_500_000n, 4_449_675_000n),
    candidates: [exampleBill(66_430_000_000n, 14_833_500_000n, 4_063_175_000n)],
  },
  locations: null,
  refusal: null,
})

const tag = 'Simulations'
const answer = { name: 'Simulation', shape: simulationShape }
export const simulationCreate = defineOperation({
  id: 'simulation_create',
  unaudited: 'Only calculates.',
  summary: 'Simulate tariffs and charges',
  description: `Calculates what the stored records of locations would cost with other tariffs and charges, and compares each candidate with the stored costs. The prices of a candidate come from the same calculation as stored costs, and nothing is written. The answer is immediate up to ${formatThousands(simulationLimits.immediateWork)} records × candidates; long periods with many charges count as records too. A larger simulation is accepted with status 202: its calculation continues, and GET /simulations/{id} answers the progress and, for 24 hours, the result.`,
  tag,
  access: 'read',
  routes: currentRoute('POST', '/simulations'),
  references: {
    body: { object_ids: locationOnly, customer_id: customerOnly, 'candidates.charges.device_ids': deviceOnly },
  },
  body: simulationBody,
  answer,
  status: 200,
  canBePending: true,
  endsWithClient: true,
  refusals: [
    'too_many_candidates',
    'too_many_lines',
    'too_many_records',
    'too_many_simulations',
    'currency_mismatch',
    'calendar_required',
    'day_type_not_found',
    'market_source_not_found',
    'plan_not_found',
    'device_not_found',
    'tariff_overlap',
    'schedule_overlap',
    'schedule_gap',
    'schedule_invalid',
    'charge_invalid',
    'price_missing',
    'price_ambiguous',
    'steps_not_rising',
    'base_empty',
    'interval_not_supported',
    'end_before_start',
    'interval_too_long',
  ],
  examples: {
    body: {
      object_ids: ['loc_0198c0ffee00112233445566'],
      start_date: '2026-03-01',
      end_date: '2026-04-01',
      candidates: [
        {
          name: 'Night saver',
          tariffs: [
            {
              direction: 'IMPORT',
              type: 'COMMODITY',
              schedule: [
                {
                  days_and_hours: [
                    {
                      hours: [
                        { valid_from: '00:00:00', valid_to: '07:00:00', rate: [{ fixed: 0.1371 }] },
                        { valid_from: '07:00:00', valid_to: '00:00:00', rate: [{ fixed: 0.2621 }] },
                      ],
                    },
                  ],
                },
              ],
            },
          ],
        },
      ],
    },
    answer: example,
  },
})

export const simulationRetrieve = defineOperation({
  id: 'simulation_retrieve',
  summary: 'Retrieve a simulation',
  description: 'Returns the progress or the result of a simulation for 24 hours after its creation.',
  tag,
  ...retrieval(answer, { ...example, id: 'sim_0198c0ffee00112233445566' }),
  routes: currentRoute('GET', '/simulations/{id}'),
})
