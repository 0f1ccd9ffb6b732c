import type { CandidateTariff } from '../../contract/simulations/simulation-request.ts'
import type { Charge } from '../../domain/charge/charge.ts'
import type { DayRange } from '../../domain/charge/charge-days.ts'
import type { LocationCalendar } from '../../domain/charge/location-calendar.ts'
import type { Interval } from '../../domain/interval.ts'
import { type PricingCopy, snapshotFromCopy } from '../../domain/price/pricing-copy.ts'
import { type Refusal, type Result, refused } from '../../domain/refusal.ts'
import type { Bill } from '../../domain/simulation/bill.ts'
import { type Candidate, countedFrom, simulateLocation } from '../../domain/simulation/simulate-location.ts'
import { type BilledTariff, rowFlowOf } from '../../domain/statement/energy-sums.ts'
import type { StatementRounding } from '../../domain/statement/round-lines.ts'
import { createPricingPool, type PricingPool } from '../../domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../domain/tariff/snapshot.ts'
import type { MarketSeries } from '../../domain/tariff/tariff.ts'
import type { WorkResult } from '../../platform/work-thread/work-messages.ts'
import { billedRowsOf, meteredEnergyOf, readStoredRecords, type StoredRecords } from './statement-records.ts'

/**
 * Tariffs and charges of a candidate at a location. `tariffs` null: the prices of the stored rows. Markets are indexes
 * of `markets`.
 */
export type CandidateSources = {
  readonly tariffs: readonly CandidateTariff[] | null
  readonly charges: readonly Charge[]
  readonly importMarket: number | null
  readonly exportMarket: number | null
}

/**
 * Everything that decides the bills of a location in some months, as plain data. `days`: all days of the simulation. `pricing`, `tariffs` and `charges` are
 * the stored ones. `countedFrom`: first instant whose records tiers count; null if no candidate has tiers.
 */
export type SimulationInput = {
  readonly records: StoredRecords & { readonly priceInterval: Interval }
  readonly countedFrom: number | null
  readonly maxRecords: number
  readonly pricing: PricingCopy
  readonly tariffs: readonly BilledTariff[]
  readonly charges: readonly Charge[]
  readonly calendar: LocationCalendar | null
  readonly periods: readonly DayRange[]
  readonly days: DayRange
  readonly markets: readonly MarketSeries[]
  readonly candidates: readonly CandidateSources[]
  readonly rounding: StatementRounding
  readonly hasLines: boolean
  readonly now: number
}

/** Bills: of the stored rows, then of the candidates. CHANGING: rows changed while they were read. */
export type SimulationHead =
  | { readonly state: 'CALCULATED'; readonly bills: readonly Bill[] }
  | { readonly state: 'REFUSED'; readonly refusal: Refusal }
  | { readonly state: 'CHANGING' }

const billedTariffOf = ({ id, direction, type, component, contractStart }: CandidateTariff): BilledTariff => ({
  id,
  direction,
  type,
  component,
  contractStart,
  planId: null,
})

/** Compile the prices of a candidate. */
const candidateOf = (
  { pricing: { locationId, currencyCode, timeZone }, calendar, markets }: SimulationInput,
  { tariffs, charges, importMarket, exportMarket }: CandidateSources & { readonly tariffs: readonly CandidateTariff[] },
  pool: PricingPool,
): Candidate => {
  const marketAt = (index: number | null): MarketSeries | null => (index === null ? null : (markets[index] ?? null))
  const snapshot = compileSnapshot(
    {
      locationId,
      currencyCode,
      timeZone,
      calendar,
      tariffs,
      importMarket: marketAt(importMarket),
      exportMarket: marketAt(exportMarket),
    },
    pool,
  )
  return { snapshot, tariffs: tariffs.map(billedTariffOf), charges }
}

const calculate = (input: SimulationInput): Result<readonly Bill[]> | null => {
  const { records: stored, tariffs, charges, maxRecords } = input
  const snapshot = snapshotFromCopy(input.pricing)
  const { records, rows, priceInterval: interval } = readStoredRecords(stored)
  if (records.length > maxRecords) {
    const message = `A month of the location ${stored.locationId} needs more than ${maxRecords} records. Leave out the location`
    return refused('too_many_records', message)
  }
  const { priceInterval } = stored
  const isRead = interval.start >= priceInterval.start && interval.end <= priceInterval.end
  const isCounted = input.countedFrom === null || countedFrom(snapshot.timeZone, interval.start) >= input.countedFrom
  if (!isRead || !isCounted) return null
  const metered = meteredEnergyOf(records, stored, snapshot)
  const pool = createPricingPool()
  const candidates: Candidate[] = [{ snapshot: null, tariffs, charges }]
  for (const { tariffs: own, ...candidate } of input.candidates) {
    candidates.push(
      own === null
        ? { snapshot: null, tariffs, charges: candidate.charges }
        : candidateOf(input, { ...candidate, tariffs: own }, pool),
    )
  }
  const location = {
    locationId: stored.locationId,
    pool,
    metered,
    records,
    calendar: input.calendar,
    periods: input.periods,
    days: input.days,
    rounding: input.rounding,
    hasLines: input.hasLines,
    now: input.now,
    isBilled: (record: (typeof records)[number]) =>
      record.deviceId === null || stored.includesDevices[rowFlowOf(record)],
    storedRows: () => billedRowsOf(rows, snapshot),
  }
  return simulateLocation(location, candidates)
}

const headOf = (calculated: Result<readonly Bill[]> | null): SimulationHead => {
  if (calculated === null) return { state: 'CHANGING' }
  return calculated.ok
    ? { state: 'CALCULATED', bills: calculated.value }
    : { state: 'REFUSED', refusal: calculated.refusal }
}

/** Calculate the bills of a location in some months. The head has the bills; there are no bytes. */
export const simulationWork = (input: SimulationInput): WorkResult => ({ head: headOf(calculate(input)), chunks: [] })
