import type { ApiVersion } from '../../contract/api-version.ts'
import { scheduleAmount, scheduleAmountToWire } from '../../contract/schedules/schedule-amount.ts'
import type { AmountBody } from '../../contract/schedules/schedule-amount-request.ts'
import type { ScheduleView } from '../../contract/schedules/schedule-window.ts'
import { tariffListUrl } from '../../contract/tariffs/tariff.ts'
import { type PricingCopy, snapshotFromCopy } from '../../domain/price/pricing-copy.ts'
import type { Refusal } from '../../domain/refusal.ts'
import { type AmountPlan, planAmount } from '../../domain/schedule/amount.ts'
import type { AmountRequest, ExpectedGeneration } from '../../domain/schedule/amount-request.ts'
import { accumulatorKey } from '../../domain/tariff/accumulator.ts'
import type { TariffDirection } from '../../domain/tariff/tariff.ts'
import type { PausableWork } from '../../platform/work-thread/work-messages.ts'
import type { CountedSteps } from '../prices/counted-steps.ts'
import { answerTexts, encodeTexts, type LongAnswer } from './answer-bytes.ts'

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

/** Pause the work of a thread where other work can pause. */
function* withPauses<T>(work: Generator<unknown, T>): Generator<undefined, T> {
  for (let step = work.next(); ; step = work.next()) {
    if (step.done === true) return step.value
    yield undefined
  }
}

/** Windows per chunk. A window may have thousands of pieces. */
const windowsPerChunk = 8

/**
 * Calculate a plan. Write the plan in the current API version, as its event contains it. If the request has another API
 * version, `textSeparator` and the plan in that version follow.
 */
export function* amountWork(input: AmountInput): PausableWork {
  const { counted, generation, pending, request, body, apiVersion } = input
  const planning = planAmount(
    request,
    {
      snapshot: snapshotFromCopy(input.pricing),
      counted: (type, direction, countingStart) => counted.get(accumulatorKey(type, direction, countingStart)) ?? [],
      generation,
      tariffPath: tariffListUrl(apiVersion),
      isPending: direction => pending.includes(direction),
    },
    body.data[0]?.end_time.offsetMinutes ?? 0,
  )
  const planned = yield* withPauses(planning)
  if (!planned.ok) {
    yield { head: { refusal: planned.refusal } satisfies AmountHead }
    return
  }
  yield { head: { refusal: null } satisfies AmountHead }
  const answer = {
    operation: scheduleAmount,
    count: planned.value.devices.length,
    write: writerOf(input, planned.value),
    maxPerStep: windowsPerChunk,
  }
  yield* encodeTexts(answerTexts({ ...answer, apiVersion: 'current' }))
  if (apiVersion === 'current') return
  yield* encodeTexts([textSeparator])
  yield* encodeTexts(answerTexts({ ...answer, apiVersion }))
}
