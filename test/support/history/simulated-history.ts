import type { DayRange } from '../../../services/domain/charge/charge-days.ts'
import { localDayNumber } from '../../../services/domain/civil-time.ts'
import { dayMs, unionOfIntervals } from '../../../services/domain/interval.ts'
import type { SimulatedLocation } from '../../../services/domain/simulation/simulate-location.ts'
import { createPieceBiller } from '../../../services/domain/statement/billed-row.ts'
import type { RecordToPrice } from '../../../services/domain/statement/counts-at-starts.ts'
import type { BilledTariff } from '../../../services/domain/statement/energy-sums.ts'
import { createMeteredEnergy } from '../../../services/domain/statement/metered-energy.ts'
import { statementPeriods } from '../../../services/domain/statement/statement-periods.ts'
import type { PricingPool } from '../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot, type PricingSnapshot } from '../../../services/domain/tariff/snapshot.ts'
import { defaultTariffComponents } from '../../../services/domain/tariff/tariff.ts'
import { locationCosts } from '../../audit/verify/location-costs.ts'
import { acceptedValue } from '../accepted-value.ts'
import type { OracleCost } from '../oracle/cost.ts'
import type { History } from './history.ts'
import { finalRecords, inputOf } from './verify-history.ts'

/** A stored confidence is in 1e-6, that of the oracle a fraction. */
const confidenceScale = 1_000_000

type PieceBiller = ReturnType<typeof createPieceBiller>

/** Return the stored row of a record as the oracle calculates it. */
const storedRowOf = ({ record, energy, priced }: OracleCost, billPieces: PieceBiller) => {
  const { energyFlowDirection, tariffDirection, start, end, deviceId, confidence: recordConfidence } = record
  const pieces = (priced?.pieces ?? []).map(({ tiers: [tier], tariffs: _, confidence, ...piece }) => ({
    ...piece,
    tier,
    confidence: Math.round(confidence * confidenceScale),
  }))
  return {
    energyFlowDirection,
    tariffDirection,
    start,
    end,
    deviceId,
    energy,
    recordConfidence,
    cost: priced === null ? null : priced.cost,
    pieces: billPieces(tariffDirection, pieces),
  }
}

/** Location with the final records of a history, its charges, and its final tariffs as a candidate. */
export type SimulatedHistory = {
  readonly location: SimulatedLocation
  readonly tariffs: readonly BilledTariff[]
  readonly own: PricingSnapshot
}

/**
 * Prepare a history for a simulation of some days from the local day of `from` (ms) on. The stored rows are those of an
 * exact calculation, apart from the service. Records of devices belong to the statement if `includesDevices` is true.
 */
export const simulatedHistory = (
  history: History,
  { from, days, includesDevices }: { readonly from: number; readonly days: number; readonly includesDevices: boolean },
  pool: PricingPool,
): SimulatedHistory => {
  const input = inputOf(history)
  const { timeZone, tariffs, locationId } = input
  const own = compileSnapshot(input, pool)
  const identified = finalRecords(history)
  const billPieces = createPieceBiller(own)
  const rows = locationCosts(input, identified).map(cost => storedRowOf(cost, billPieces))
  const records: readonly RecordToPrice[] = identified
    .map(({ id, record, covered = [] }) => {
      const within = covered.map(({ start, end }) => ({
        start: Math.max(start, record.start),
        end: Math.min(end, record.end),
      }))
      return { ...record, recordId: id, covered: unionOfIntervals(within.filter(({ start, end }) => start < end)) }
    })
    .sort((a, b) => a.start - b.start || a.end - b.end || (a.recordId < b.recordId ? -1 : 1))
  const isBilled = ({ deviceId }: { readonly deviceId: string | null }): boolean => includesDevices || deviceId === null
  const startDay = localDayNumber(timeZone, from)
  const range: DayRange = { startDay, endDay: startDay + days }
  const devices = { IMPORT: includesDevices, EXPORT: includesDevices, LOCAL: includesDevices }
  return {
    own,
    tariffs: tariffs.map(({ id, direction, type, contractStart }) => ({
      id,
      direction,
      type,
      contractStart,
      component: defaultTariffComponents[type],
      planId: null,
    })),
    location: {
      locationId,
      pool,
      calendar: null,
      records,
      isBilled,
      hasLines: true,
      now: from + 400 * dayMs,
      metered: createMeteredEnergy(records, { timeZone, includesDevices: devices }),
      periods: acceptedValue(statementPeriods(range, 'MONTH')),
      days: range,
      storedRows: () => rows.filter(isBilled),
      rounding: { profile: 'EXACT', decimals: 2 },
    },
  }
}
