import type { DemandCharge } from '../charge/charge.ts'
import { daysOfMonth } from '../charge/charge-days.ts'
import type { Interval } from '../interval.ts'
import type { PlannedDevice, Power } from '../schedule/amount-request.ts'
import { demandGridOf } from '../statement/demand-grid.ts'
import { minChange, type PeakGroup, type PeakTerm, peakTerms } from './peak-terms.ts'
import type { DemandMeter } from './planned-demand.ts'
import { costAt } from './power-pieces.ts'

/**
 * Charges that a plan of one direction can change. `cuts` are the edges of their intervals in the time of the plan.
 * `terms` share the length of their intervals; levels limit the power of their groups. `before` is their amount without
 * the plan, `minChange` the lowest possible change of all other charges, in the currency. `namesDevices`: a charge of
 * any direction names devices.
 */
export type DirectionPeaks = {
  readonly meter: DemandMeter
  readonly cuts: readonly number[]
  readonly terms: readonly PeakTerm[]
  readonly groups: readonly PeakGroup[]
  readonly before: number
  readonly minChange: number
  readonly namesDevices: boolean
}

type PlanDirection = PlannedDevice['direction']

/** Return the highest power in kW at which devices can run together, also above the limit of the site. */
const highestPower = (devices: readonly PlannedDevice[], sitePower: Power | null): number => {
  const changes = devices
    .flatMap(({ start, end, power }) => [
      { at: start, power },
      { at: end, power: -power },
    ])
    .sort((a, b) => a.at - b.at || (a.power < b.power ? -1 : 1))
  let [sum, highest] = [0n, 0n]
  for (const { power } of changes) {
    sum += power
    if (sum > highest) highest = sum
  }
  return Number(sitePower !== null && sitePower < highest ? sitePower : highest) / 1e9
}

/** Return whether levels of power can limit what a plan adds to a charge: all devices of the plan count, or none. */
const countsPlan = ({ deviceIds }: DemandCharge, devices: readonly PlannedDevice[]): 'ALL' | 'SOME' | 'NONE' => {
  if (deviceIds === null) return 'ALL'
  const counted = devices.filter(({ deviceId }) => deviceIds.includes(deviceId)).length
  if (counted === 0) return 'NONE'
  return counted === devices.length ? 'ALL' : 'SOME'
}

const amountBefore = (terms: readonly PeakTerm[]): number =>
  terms.reduce((sum, { pieces, before }) => sum + costAt(pieces, before), 0)

const potentialOf = (terms: readonly PeakTerm[]): number =>
  terms.reduce((sum, { pieces, before }) => {
    const last = pieces.at(-1)
    return sum + (last === undefined ? 0 : last.cost + last.rate * (last.to - last.from)) - costAt(pieces, before)
  }, 0)

/** Return the length of interval whose terms can cost the most. */
const costliestLength = (found: readonly FoundTerms[]): number => {
  const sums = new Map<number, number>()
  for (const { minutes, terms } of found) sums.set(minutes, (sums.get(minutes) ?? 0) + potentialOf(terms))
  return [...sums].reduce((best, one) => (one[1] > best[1] ? one : best), [0, Number.NEGATIVE_INFINITY])[0]
}

type FoundTerms = {
  readonly minutes: number
  readonly terms: readonly PeakTerm[]
  readonly isLimitable: boolean
  readonly canFall: boolean
}

/**
 * Collect what the charges of a direction cost as functions of power.
 * Levels limit charges whose amount never falls with power, which count all devices, and whose intervals have the
 * costliest length. `canSell`: the plan also sells energy, so that a charge for net import can fall.
 */
export const directionPeaks = (
  meter: DemandMeter,
  direction: PlanDirection,
  time: Interval,
  devices: readonly PlannedDevice[],
  { sitePower, canSell }: { readonly sitePower: Power | null; readonly canSell: boolean },
): DirectionPeaks => {
  const months = meter.months.filter(({ charge }) => (charge.counts === 'EXPORT') === (direction === 'EXPORT'))
  const planPower = highestPower(devices, sitePower)
  const found: FoundTerms[] = []
  const cuts = new Set<number>()
  for (const { charge, month, known } of months) {
    const counted = countsPlan(charge, devices)
    if (counted === 'NONE') continue
    const terms = peakTerms(meter.context, charge, month, time, planPower, known)
    const canFall = canSell && charge.counts === 'NET_IMPORT'
    const isLimitable = counted === 'ALL' && !canFall && terms.every(term => term.isRising)
    found.push({ minutes: charge.intervalMinutes, terms, isLimitable, canFall })
    const { edges } = demandGridOf(meter.context.metered, charge.intervalMinutes, daysOfMonth(month))
    for (const edge of edges) if (edge > time.start && edge < time.end) cuts.add(edge)
  }
  const length = costliestLength(found.filter(({ isLimitable }) => isLimitable))
  const isLimited = ({ isLimitable, minutes }: FoundTerms): boolean => isLimitable && minutes === length
  const terms = found.filter(isLimited).flatMap(one => one.terms)
  const others = found.filter(one => !isLimited(one))
  return {
    meter: { ...meter, months },
    cuts: [...cuts],
    terms,
    groups: terms.flatMap(({ groups }) => groups),
    before: amountBefore(terms),
    namesDevices: meter.months.some(({ charge }) => charge.deviceIds !== null),
    minChange: others.reduce(
      (sum, { terms: list, canFall }) => sum + list.reduce((part, term) => part + minChange(term, canFall), 0),
      0,
    ),
  }
}
