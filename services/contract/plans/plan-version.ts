import { z } from 'zod'
import type { ChargeTerms } from '../../domain/charge/charge.ts'
import { writeDate } from '../../domain/civil-date.ts'
import { writeInstant } from '../../domain/instant.ts'
import {
  type PlanPrices,
  type PlanProgress,
  type PlanTariffTerms,
  planLimits,
  type StoredPlanVersion,
} from '../../domain/plan/plan.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { count, dateText, idText, instantText, orNull } from '../answer-field.ts'
import { chargeBody, readChargeTerms } from '../charges/read-charge.ts'
import { chargeTermsShape, writeCharge } from '../charges/write-charge.ts'
import { listOf, optional } from '../field.ts'
import type { NextTurn } from '../operation.ts'
import { planTariffInput, planTariffShape, planTariffToWire, readPlanTariff } from './plan-tariff.ts'

/** Version of a plan with its prices. */
export type PlanVersionView = PlanPrices & StoredPlanVersion

/** Members of a request with prices. An absent list is undefined. */
export const pricesInput = {
  tariffs: optional(listOf(planTariffInput, { max: planLimits.tariffs })).describe(
    'Tariffs without location and contract dates, at most one for each direction and type.',
  ),
  charges: optional(listOf(chargeBody, { max: planLimits.charges })).describe('Charges without location.'),
}

type PricesInput = {
  readonly tariffs?: readonly z.output<typeof planTariffInput>[] | undefined
  readonly charges?: readonly z.output<typeof chargeBody>[] | undefined
}

const atMember = <T>(result: Result<T>, path: string): Result<T> => {
  if (result.ok) return result
  const { code, message, field } = result.refusal
  return refused(code, message, field === undefined ? path : `${path}.${field}`)
}

/**
 * Validate the prices of a version; absent lists are undefined. Other work can run before each tariff and each charge.
 * Refuses the first fault with its path, such as
 * `tariffs[0].schedule[1].days_and_hours`, and `tariff_overlap` for two tariffs of one direction and type.
 */
export const readPlanPrices = async (
  input: PricesInput,
  nextTurn: NextTurn,
): Promise<
  Result<{
    readonly tariffs: readonly PlanTariffTerms[] | undefined
    readonly charges: readonly ChargeTerms[] | undefined
  }>
> => {
  const tariffs: PlanTariffTerms[] = []
  for (const [index, one] of (input.tariffs ?? []).entries()) {
    await nextTurn()
    const path = `tariffs[${index}]`
    const read = atMember(readPlanTariff(one), path)
    if (!read.ok) return read
    const { direction, type } = read.value
    if (tariffs.some(other => other.direction === direction && other.type === type)) {
      const message = `${path} is the second tariff for ${direction} ${type}: a version has one for each direction and type`
      return refused('tariff_overlap', message, path)
    }
    tariffs.push(read.value)
  }
  const charges: ChargeTerms[] = []
  for (const [index, one] of (input.charges ?? []).entries()) {
    await nextTurn()
    const read = atMember(readChargeTerms(one), `charges[${index}]`)
    if (!read.ok) return read
    charges.push(read.value)
  }
  return accepted({
    tariffs: input.tariffs === undefined ? undefined : tariffs,
    charges: input.charges === undefined ? undefined : charges,
  })
}

/** Version in the answer of a plan. */
export const versionMembers = {
  version: count,
  from: orNull(dateText).describe('First local day; null for the first version, which applies from the beginning.'),
  tariffs: z.array(planTariffShape),
  charges: z.array(chargeTermsShape),
  time_created: instantText,
} as const

const progressMembers = {
  sites: count.describe('Locations with an assignment of the plan.'),
  applied: count.describe('Locations whose tariffs and charges are those of all versions.'),
} as const

export const versionShape = z.object({
  object: z.literal('plan_version'),
  plan_id: idText('pln'),
  ...versionMembers,
  ...progressMembers,
})

/** Write the members of a version. */
export const versionMembersToWire = ({
  version,
  startDay,
  tariffs,
  charges,
  createdAt,
}: Omit<PlanVersionView, 'planId'>): z.output<z.ZodObject<typeof versionMembers>> => {
  const writtenTariffs = []
  for (const tariff of tariffs) writtenTariffs.push(planTariffToWire(tariff))
  const writtenCharges = []
  for (const charge of charges) writtenCharges.push(writeCharge(charge))
  return {
    version,
    from: startDay === null ? null : writeDate(startDay),
    tariffs: writtenTariffs,
    charges: writtenCharges,
    time_created: writeInstant(createdAt),
  }
}

/** Write a version with the progress of its plan. */
export const versionToWire = (
  view: PlanVersionView,
  { sites, applied }: Omit<PlanProgress, 'failed'>,
): z.output<typeof versionShape> => {
  const members = versionMembersToWire(view)
  return { object: 'plan_version', plan_id: view.planId, ...members, sites, applied }
}
