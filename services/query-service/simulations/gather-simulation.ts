import type { CandidateTariff, SimulationRequest } from '../../contract/simulations/simulation-request.ts'
import { provisionalSeries } from '../../domain/forecast/provisional-series.ts'
import { hourMs, type Interval } from '../../domain/interval.ts'
import { copyPricing } from '../../domain/price/pricing-copy.ts'
import type { Result } from '../../domain/refusal.ts'
import { countedFrom } from '../../domain/simulation/simulate-location.ts'
import type { BilledTariff } from '../../domain/statement/energy-sums.ts'
import { hasTiers } from '../../domain/tariff/snapshot.ts'
import { defaultTariffComponents, type MarketSeries, type Tariff } from '../../domain/tariff/tariff.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import { readFirstStartAcross } from '../../platform/clickhouse/meter-cost/meter-cost-ranges.ts'
import type { Database } from '../../platform/postgres/database.ts'
import { loadLocationPricing, loadSourcePrices } from '../../platform/postgres/pricing/pricing-input.ts'
import type { Tenant } from '../../platform/postgres/transaction.ts'
import { maxRecords } from '../statements/gather-records.ts'
import { loadPrices, readsOf, type StatementStores, spanOf, tariffsIn } from '../statements/gather-statement.ts'
import type { CandidateSources, SimulationInput } from '../work-thread/simulation-work.ts'
import { type CandidateAt, candidateAt } from './candidate-at.ts'
import type { SimulatedPlans } from './load-plans.ts'
import type { SimulationUnit } from './simulation-units.ts'

/** Stores that a simulation is calculated from. */
export type SimulationStores = StatementStores & { readonly clickHouse: ClickHouse }

/** Reader of market prices. It remembers the last series, because most locations use the same. */
export type SeriesReader = (sourceId: string, interval: Interval) => Promise<MarketSeries>

const maxRemembered = 8

/** Create a reader of market prices. */
export const createSeriesReader = ({ operator }: Pick<Database, 'operator'>): SeriesReader => {
  const remembered = new Map<string, Promise<MarketSeries>>()
  const load = async (sourceId: string, { start, end }: Interval): Promise<MarketSeries> => {
    const [prices] = await loadSourcePrices(operator, [{ sourceId, from: Math.max(0, start), to: end }])
    if (prices === undefined) return { sourceId, starts: [], ends: [], prices: [], confidences: [] }
    return provisionalSeries(sourceId, prices.published, prices.forecast)
  }
  return (sourceId, interval) => {
    const key = `${sourceId} ${interval.start} ${interval.end}`
    const series = remembered.get(key) ?? load(sourceId, interval)
    remembered.delete(key)
    remembered.set(key, series)
    const [oldest] = remembered.keys()
    if (remembered.size > maxRemembered && oldest !== undefined) remembered.delete(oldest)
    return series
  }
}

/** Load the stored tariffs of a location, if a candidate has them with another market. */
const loadTariffs = async (
  { database }: SimulationStores,
  tenant: Tenant,
  locationId: string,
  candidates: readonly CandidateAt[],
): Promise<readonly Tariff[]> => {
  if (!candidates.some(({ tariffs, marketSourceId }) => tariffs === null && marketSourceId !== null)) return []
  const [pricing] = await loadLocationPricing(database.operator, [{ ...tenant, locationId }])
  return pricing?.tariffs ?? []
}

const withComponents = (tariffs: readonly Tariff[], billed: readonly BilledTariff[]): readonly CandidateTariff[] =>
  tariffs.map(tariff => ({
    ...tariff,
    component: billed.find(({ id }) => id === tariff.id)?.component ?? defaultTariffComponents[tariff.type],
  }))

/** Collect the market prices that the candidates use. */
const sourcesOf = async (
  { location }: SimulationUnit['site'],
  candidates: readonly CandidateAt[],
  stored: readonly CandidateTariff[],
  readSeries: (sourceId: string) => Promise<MarketSeries>,
): Promise<Pick<SimulationInput, 'markets' | 'candidates'>> => {
  const ids: string[] = []
  const indexOf = (id: string | null): number | null => {
    if (id === null) return null
    if (!ids.includes(id)) ids.push(id)
    return ids.indexOf(id)
  }
  const sources = candidates.map(({ tariffs: own, charges, marketSourceId }): CandidateSources => {
    const tariffs = own ?? (marketSourceId === null ? null : stored)
    const uses = (isExport: boolean): boolean =>
      (tariffs ?? []).some(({ marketRates, direction }) => marketRates && (direction === 'EXPORT') === isExport)
    return {
      tariffs,
      charges,
      importMarket: uses(false) ? indexOf(marketSourceId ?? location.importSourceId) : null,
      exportMarket: uses(true) ? indexOf(marketSourceId ?? location.exportSourceId) : null,
    }
  })
  return { markets: await Promise.all(ids.map(readSeries)), candidates: sources }
}

/** Return the first instant whose records the tiers of a unit count; null without tiers. */
const readCountedFrom = async (
  { clickHouse }: SimulationStores,
  tenant: Tenant,
  { site: { terms } }: SimulationUnit,
  span: Interval,
  tariffs: readonly Tariff[],
): Promise<number | null> => {
  const directions = [...new Set(tariffs.filter(hasTiers).map(({ direction }) => direction))]
  if (directions.length === 0) return null
  const starts = await Promise.all(
    directions.map(direction =>
      readFirstStartAcross(clickHouse, { tenant, locationId: terms.location.id, direction }, span.start),
    ),
  )
  return countedFrom(terms.timeZone, Math.min(span.start, ...starts.map(start => start ?? span.start)))
}

/** Calculation of a unit, at `at` (ms). */
export type UnitPlan = {
  readonly tenant: Tenant
  readonly unit: SimulationUnit
  readonly request: SimulationRequest
  readonly plans: SimulatedPlans
  readonly decimals: number
  readonly at: number
  readonly signal: AbortSignal
  readonly readSeries: SeriesReader
}

/**
 * Gather everything that decides the bills of a unit, and use it. Throws `Failure` if a store is unavailable.
 */
export const withSimulationInput = async <T>(
  stores: SimulationStores,
  { tenant, unit, request, plans, decimals, at, signal, readSeries }: UnitPlan,
  use: (input: SimulationInput, bytes: number) => Promise<Result<T>>,
): Promise<Result<T>> => {
  const { site, periods } = unit
  const { location, timeZone, charges, calendar } = site.terms
  const range = { startDay: periods[0]?.startDay ?? 0, endDay: periods.at(-1)?.endDay ?? 0 }
  const span = spanOf(timeZone, range)
  const candidates = request.candidates.map(one => candidateAt(one, site.terms, plans, request))
  const stored = await loadTariffs(stores, tenant, location.id, candidates)
  const priced: readonly Tariff[] = [...candidates.flatMap(({ tariffs }) => tariffs ?? []), ...stored]
  const counted = await readCountedFrom(stores, tenant, unit, span, priced)
  const allCharges = [...charges, ...candidates.flatMap(one => one.charges)]
  const reads = readsOf({ timeZone, charges: allCharges }, Math.min(counted ?? span.start, span.start), range)
  const recordsRequest = {
    tenant,
    locationId: location.id,
    span,
    signal,
    ...reads,
    includeDevices: 'auto' as const,
    hasSessions: allCharges.some(({ kind }) => kind === 'SESSION'),
  }
  return stores.records.withRecords(recordsRequest, async ({ bytes, ...records }) => {
    const { priceInterval } = records
    const snapshot = await loadPrices(stores, tenant, location.id, priceInterval)
    const tariffs = tariffsIn(snapshot, span)
    const priced = { start: Math.min(priceInterval.start, reads.readFrom), end: priceInterval.end }
    const sources = await sourcesOf(site, candidates, withComponents(stored, tariffs), id => readSeries(id, priced))
    const input: SimulationInput = {
      records,
      maxRecords,
      tariffs,
      charges,
      calendar,
      periods,
      ...sources,
      countedFrom: counted,
      pricing: copyPricing(snapshot, ['IMPORT', 'EXPORT', 'LOCAL'], priceInterval),
      rounding: { profile: request.rounding.profile, decimals },
      days: { startDay: request.startDay, endDay: request.endDay },
      hasLines: request.hasLines,
      now: Math.floor(at / hourMs) * hourMs,
    }
    return use(input, bytes)
  })
}
