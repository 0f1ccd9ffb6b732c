import { z } from 'zod'
import type { ChargeTerms } from '../../domain/charge/charge.ts'
import type { DayRange } from '../../domain/charge/charge-days.ts'
import { accepted, type Refusal, type Refused, type Result, refused } from '../../domain/refusal.ts'
import type { RoundingProfile } from '../../domain/statement/round-lines.ts'
import { statementPeriods } from '../../domain/statement/statement-periods.ts'
import { defaultTariffComponents, type Tariff } from '../../domain/tariff/tariff.ts'
import { overlappingTariff } from '../../domain/tariff/tariff-change.ts'
import { chargeBody, readChargeTerms } from '../charges/read-charge.ts'
import {
  fields,
  identifier,
  instant,
  listOf,
  localDate,
  objectIdentifier,
  oneOf,
  optional,
  refuseField,
  text,
} from '../field.ts'
import { formatThousands } from '../message-text.ts'
import type { NextTurn } from '../operation.ts'
import { roundingInput } from '../statements/statement-request.ts'
import { readTariffTerms } from '../tariffs/read-tariff-terms.ts'
import { tariffMembers, termsInput } from '../tariffs/tariff-draft.ts'

/**
 * Limits of a simulation. `lines`: added up lines of a bill. `groupedMonths`: locations × bills × months of a comparison
 * by location. `immediateWork`: work that is answered at once, in records × candidates. `planBytes`: bytes of the prices
 * of all plans, as much as a body has.
 * Source: docs/rules/simulations.md #limits.
 */
export const simulationLimits = {
  locations: 1_000,
  candidates: 50,
  tariffs: 100,
  charges: 200,
  lines: 500,
  groupedMonths: 50_000,
  immediateWork: 2_000_000,
  planBytes: 2 ** 20,
} as const

/** Tariff of a candidate. `component` names its line of energy. */
export type CandidateTariff = Tariff & { readonly component: string }

/** Tariffs and charges to compare. Null members: those of the plan, or without a plan those of the location. */
export type SimulatedCandidate = {
  readonly name: string
  readonly tariffs: readonly CandidateTariff[] | null
  readonly charges: readonly ChargeTerms[] | null
  readonly planId: string | null
  readonly marketSourceId: string | null
}

/** Request of a simulation. Exactly one of `locationIds` and `customerId` is set. `decimals` null: of the currency. */
export type SimulationRequest = DayRange & {
  readonly locationIds: readonly string[] | null
  readonly customerId: string | null
  readonly candidates: readonly SimulatedCandidate[]
  readonly isByLocation: boolean
  readonly rounding: { readonly profile: RoundingProfile; readonly decimals: number | null }
  readonly hasLines: boolean
}

const {
  locations: maxLocations,
  candidates: maxCandidates,
  tariffs: maxTariffs,
  charges: maxCharges,
} = simulationLimits

const tariffInput = fields({
  ...tariffMembers,
  contract_start_date: optional(instant).describe('Inclusive. Default: open.'),
  contract_end_date: optional(instant).describe('Exclusive. Default: open.'),
}).meta({ component: 'SimulationTariffInput' })

const candidateInput = fields({
  name: text(),
  tariffs: optional(listOf(tariffInput, { max: maxTariffs })).describe(
    'Prices of energy. A tariff without contract dates is valid all the time. Default: the tariffs of plan_id, or the stored tariffs of the location; an empty list: none.',
  ),
  charges: optional(listOf(chargeBody, { max: maxCharges })).describe(
    'Default: the charges of plan_id, or the stored charges of the location; an empty list: none.',
  ),
  plan_id: optional(identifier('pln')).describe(
    'Plan whose versions give the tariffs and charges, as if it were assigned to each location for all days.',
  ),
  market_source_id: optional(identifier('mrs')).describe(
    'Market prices of tariffs with market_rates. Default: the market sources of the location.',
  ),
})
  .superRefine(({ tariffs, charges, plan_id: plan }, context) => {
    if (plan !== undefined && tariffs !== undefined && charges !== undefined)
      refuseField(context, 'field_invalid', 'has no effect with tariffs and charges; leave one of them out', [
        'plan_id',
      ])
  })
  .meta({ component: 'SimulationCandidateInput' })

/** Body of a simulation. `readSimulation` validates tariffs and charges. */
export const simulationBody = fields({
  object_ids: optional(listOf(objectIdentifier('loc'), { min: 1, max: maxLocations })).describe(
    `Up to ${formatThousands(maxLocations)} locations of one currency.`,
  ),
  customer_id: optional(objectIdentifier('cus')).describe('All locations of a customer, instead of object_ids.'),
  start_date: localDate.describe('First local day.'),
  end_date: localDate.describe('Local day after the last day, at most 3 years after start_date.'),
  candidates: listOf(candidateInput, { min: 1, max: maxCandidates, code: 'too_many_candidates' }).describe(
    `1 to ${maxCandidates} sets of tariffs and charges to compare.`,
  ),
  group_by: optional(oneOf('LOCATION')).describe('LOCATION adds the comparison of each location.'),
  rounding: optional(roundingInput),
  lines: optional(z.boolean()).describe('True adds the lines, added up over all months and locations. Default: false.'),
}).superRefine(({ object_ids: ids, customer_id: customer }, context) => {
  if ((ids === undefined) === (customer === undefined))
    refuseField(context, 'field_invalid', 'must be set, or customer_id, but not both', ['object_ids'])
  const second = (ids ?? []).findIndex((id, index) => ids?.indexOf(id) !== index)
  if (second >= 0) refuseField(context, 'field_invalid', 'must name each location once', ['object_ids', second])
})

type SimulationBody = z.output<typeof simulationBody>
type CandidateBody = SimulationBody['candidates'][number]

/** Refuse a candidate with the path to its member in the body. */
const at = ({ refusal }: Refused, path: string): Refused => {
  const field = refusal.field === undefined || refusal.field === '' ? path : `${path}.${refusal.field}`
  const message = refusal.field === undefined || refusal.field === '' ? `${path}: ${refusal.message}` : refusal.message
  return refused(refusal.code, message, field)
}

const readTariffs = async (
  wires: NonNullable<CandidateBody['tariffs']>,
  path: string,
  nextTurn: NextTurn,
): Promise<Result<CandidateTariff[]>> => {
  const tariffs: CandidateTariff[] = []
  for (const [index, wire] of wires.entries()) {
    await nextTurn()
    const contract = {
      contractStart: wire.contract_start_date?.at ?? null,
      contractEnd: wire.contract_end_date?.at ?? null,
    }
    const terms = termsInput(wire, contract)
    const read = terms.ok ? readTariffTerms(terms.value) : terms
    if (!read.ok) return at(read, `${path}[${index}]`)
    const tariff: CandidateTariff = {
      ...read.value,
      id: `${path}[${index}]`,
      closedAt: null,
      component: wire.component ?? defaultTariffComponents[read.value.type],
    }
    const other = overlappingTariff(tariff, tariffs)
    if (other !== undefined) {
      const message = `${tariff.id} overlaps ${other.id}, which has the same direction and type. Change the contract dates, or leave one out`
      return refused('tariff_overlap', message, `${tariff.id}.contract_start_date`)
    }
    tariffs.push(tariff)
  }
  return accepted(tariffs)
}

const readCharges = async (
  wires: NonNullable<CandidateBody['charges']>,
  path: string,
  nextTurn: NextTurn,
): Promise<Result<ChargeTerms[]>> => {
  const charges: ChargeTerms[] = []
  for (const [index, wire] of wires.entries()) {
    await nextTurn()
    const read = readChargeTerms(wire)
    if (!read.ok) return at(read, `${path}[${index}]`)
    charges.push(read.value)
  }
  return accepted(charges)
}

const readCandidate = async (
  wire: CandidateBody,
  path: string,
  nextTurn: NextTurn,
): Promise<Result<SimulatedCandidate>> => {
  const { tariffs: sentTariffs, charges: sentCharges } = wire
  const tariffs =
    sentTariffs === undefined ? accepted(null) : await readTariffs(sentTariffs, `${path}.tariffs`, nextTurn)
  if (!tariffs.ok) return tariffs
  const charges =
    sentCharges === undefined ? accepted(null) : await readCharges(sentCharges, `${path}.charges`, nextTurn)
  if (!charges.ok) return charges
  return accepted({
    name: wire.name,
    tariffs: tariffs.value,
    charges: charges.value,
    planId: wire.plan_id ?? null,
    marketSourceId: wire.market_source_id ?? null,
  })
}

/**
 * Read a simulation with its months. Other work can run before each tariff and each charge. Refuses invalid tariffs and charges with their path, overlapping
 * tariffs of a candidate, and the days that `statementPeriods` refuses.
 */
export const readSimulation = async (
  body: SimulationBody,
  nextTurn: NextTurn,
): Promise<Result<{ readonly request: SimulationRequest; readonly periods: readonly DayRange[] }>> => {
  const range = { startDay: body.start_date, endDay: body.end_date }
  const periods = statementPeriods(range, 'MONTH')
  if (!periods.ok) return periods
  const candidates: SimulatedCandidate[] = []
  for (const [index, wire] of body.candidates.entries()) {
    const candidate = await readCandidate(wire, `candidates[${index}]`, nextTurn)
    if (!candidate.ok) return candidate
    candidates.push(candidate.value)
  }
  const request: SimulationRequest = {
    ...range,
    locationIds: body.object_ids ?? null,
    customerId: body.customer_id ?? null,
    candidates,
    isByLocation: body.group_by === 'LOCATION',
    rounding: { profile: body.rounding?.profile ?? 'EXACT', decimals: body.rounding?.decimals ?? null },
    hasLines: body.lines ?? false,
  }
  return accepted({ request, periods: periods.value })
}

/** Refuse a comparison by location with too many months of locations and bills; null otherwise. */
export const refuseGroupedMonths = (
  { isByLocation, candidates }: Pick<SimulationRequest, 'isByLocation' | 'candidates'>,
  locations: number,
  periods: number,
): Refusal | null => {
  const months = locations * (candidates.length + 1) * periods
  if (!isByLocation || months <= simulationLimits.groupedMonths) return null
  const [found, max] = [formatThousands(months), formatThousands(simulationLimits.groupedMonths)]
  const message = `group_by makes ${found} months of locations and candidates: at most ${max}. Simulate fewer locations, days or candidates at once`
  return refused('value_out_of_range', message, 'group_by').refusal
}
