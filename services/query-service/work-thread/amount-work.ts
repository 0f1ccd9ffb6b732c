import type { ApiVersion } from '../../contract/api-version.ts'
import { scheduleAmount, scheduleAmountToWire } from '../../contract/schedules/schedule-amount.ts'
import type { AmountBody } from '../../contract/schedules/schedule-amount-request.ts'
import type { ScheduleView } from '../../contract/schedules/schedule-window.ts'
import { tariffListUrl } from '../../contract/tariffs/tariff.ts'
import type { DemandCharge } from '../../domain/charge/charge.ts'
import type { LocationCalendar } from '../../domain/charge/location-calendar.ts'
import type { ChargedDemand } from '../../domain/peak/planned-demand.ts'
import { type PricingCopy, snapshotFromCopy } from '../../domain/price/pricing-copy.ts'
import { accepted, type Refusal, type Result, refused } from '../../domain/refusal.ts'
import { type AmountPlan, type AmountPricing, planAmount } from '../../domain/schedule/amount.ts'
import type { AmountRequest, ExpectedGeneration } from '../../domain/schedule/amount-request.ts'
import { accumulatorKey } from '../../domain/tariff/accumulator.ts'
import { createPricingPool } from '../../domain/tariff/pricing-pool.ts'
import type { PricingSnapshot } from '../../domain/tariff/snapshot.ts'
import type { TariffDirection } from '../../domain/tariff/tariff.ts'
import type { WorkResult } from '../../platform/work-thread/work-messages.ts'
import type { CountedSteps } from '../prices/counted-steps.ts'
import { answerTexts, encodeTexts, type LongAnswer } from './answer-bytes.ts'
import { meteredEnergyOf, readStoredRecords, type StoredRecords } from './statement-records.ts'

/** Input of a plan as plain data. `pending`: directions whose tariff the provider has not delivered yet. */
export type AmountInput = {
  readonly pricing: PricingCopy
  readonly counted: CountedSteps
  readonly generation: readonly ExpectedGeneration[]
  readonly pending: readonly TariffDirection[]
  readonly request: AmountRequest
  readonly body: AmountBody
  readonly view: Omit<ScheduleView, 'unpriced'>
  readonly apiVersion: ApiVersion
  /** Null: the plan does not respect charges. */
  readonly demand: DemandInput | null
}

/** Refusal of a plan; null if the plan succeeded. */
export type AmountHead = { readonly refusal: Refusal | null }

/** Separator of the two texts of a plan. JSON text without indentation never contains it. */
export const textSeparator = '\n'

const writerOf =
  ({ view, body, pricing }: AmountInput, plan: AmountPlan): LongAnswer['write'] =>
  (from, to) =>
    scheduleAmountToWire({
      ...view,
      zone: pricing.timeZone,
      unpriced: to === 0 ? plan.unpriced : [],
      body: to === 0 ? body : { ...body, data: body.data.slice(from, to) },
      plan: { ...plan, devices: plan.devices.slice(from, to) },
    })

/**
 * Charges for demand of a location, with the records that they read. `maxRecords`: more records are refused.
 */
export type DemandInput = {
  readonly charges: readonly DemandCharge[]
  readonly calendar: LocationCalendar | null
  readonly records: StoredRecords
  readonly maxRecords: number
}

/** Prepare the records for charges. Refuses `too_many_records`. */
const demandOf = (
  { charges, calendar, records: stored, maxRecords }: DemandInput,
  snapshot: PricingSnapshot,
): Result<ChargedDemand> => {
  const { records } = readStoredRecords(stored)
  if (records.length > maxRecords) {
    const message = `The charges of the plan read more than ${maxRecords} records. Leave out respect_charges`
    return refused('too_many_records', message)
  }
  const metered = meteredEnergyOf(records, stored, snapshot)
  return accepted({ charges, context: { metered, calendar, pool: createPricingPool(), locationId: stored.locationId } })
}

const planOf = (input: AmountInput): Result<AmountPlan> => {
  const { counted, generation, pending, request, body, apiVersion } = input
  const snapshot = snapshotFromCopy(input.pricing)
  const demand = input.demand === null ? null : demandOf(input.demand, snapshot)
  if (demand?.ok === false) return demand
  const pricing = {
    snapshot,
    counted: (type, direction, countingStart) => counted.get(accumulatorKey(type, direction, countingStart)) ?? [],
    generation,
    tariffPath: tariffListUrl(apiVersion),
    isPending: direction => pending.includes(direction),
    ...(demand === null ? {} : { demand: demand.value }),
  } satisfies AmountPricing
  return planAmount(request, pricing, body.data[0]?.end_time.offsetMinutes ?? 0)
}

/** Windows per chunk. A window may have thousands of pieces. */
const windowsPerChunk = 8

function* planTexts(input: AmountInput, plan: AmountPlan): Generator<string> {
  const { apiVersion } = input
  const answer = {
    operation: scheduleAmount,
    count: plan.devices.length,
    write: writerOf(input, plan),
    maxPerStep: windowsPerChunk,
  }
  yield* answerTexts({ ...answer, apiVersion: 'current' })
  if (apiVersion === 'current') return
  yield textSeparator
  yield* answerTexts({ ...answer, apiVersion })
}

/**
 * Calculate a plan. Write the plan in the current API version, as its event contains it. If the request has another API
 * version, `textSeparator` and the plan in that version follow.
 */
export const amountWork = (input: AmountInput): WorkResult => {
  const planned = planOf(input)
  const head: AmountHead = { refusal: planned.ok ? null : planned.refusal }
  return { head, chunks: planned.ok ? encodeTexts(planTexts(input, planned.value)) : [] }
}
