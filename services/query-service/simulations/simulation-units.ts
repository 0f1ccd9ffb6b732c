import type { SimulationRequest } from '../../contract/simulations/simulation-request.ts'
import type { ChargeTerms } from '../../domain/charge/charge.ts'
import { type DayRange, monthOfDay } from '../../domain/charge/charge-days.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import { rowsByMonth } from '../../platform/clickhouse/meter-cost/meter-cost-counts.ts'
import type { Tenant } from '../../platform/postgres/transaction.ts'
import { spanOf } from '../statements/gather-statement.ts'
import { ownChargesOf } from './candidate-at.ts'
import type { SimulatedPlans } from './load-plans.ts'
import type { SimulatedSite } from './simulation-sites.ts'

/** Months of a location that are calculated together, so that the records of some months are in memory at a time. */
export type SimulationUnit = { readonly site: SimulatedSite; readonly periods: readonly DayRange[] }

/** Number of rows by location and month number. */
export type RowCounts = (locationId: string, month: number) => number

/** Rows of a unit. A month with more rows is a unit of its own. */
const maxRowsPerUnit = 120_000

/** Count the stored rows of locations that start in some periods, by UTC months. */
export const countRows = async (
  db: ClickHouse,
  tenant: Tenant,
  sites: readonly SimulatedSite[],
  range: DayRange,
): Promise<{ readonly total: number; readonly rowsOf: RowCounts }> => {
  const spans = sites.map(({ terms }) => spanOf(terms.timeZone, range))
  const [from, to] = [Math.min(...spans.map(({ start }) => start)), Math.max(...spans.map(({ end }) => end))]
  const ids = sites.map(({ terms }) => terms.location.id)
  const rows = new Map<string, number>()
  let total = 0
  for (const { locationId, month, rows: count } of await rowsByMonth(db, tenant, ids, from, to)) {
    const date = new Date(month)
    rows.set(`${locationId} ${date.getUTCFullYear() * 12 + date.getUTCMonth()}`, count)
    total += count
  }
  return { total, rowsOf: (locationId, month) => rows.get(`${locationId} ${month}`) ?? 0 }
}

/** Divide the periods of a location into units. */
export const unitsOf = (
  site: SimulatedSite,
  periods: readonly DayRange[],
  rowsOf: RowCounts,
): readonly SimulationUnit[] => {
  const units: { readonly site: SimulatedSite; readonly periods: DayRange[]; rows: number }[] = []
  for (const period of periods) {
    const rows = rowsOf(site.terms.location.id, monthOfDay(period.startDay))
    const last = units.at(-1)
    if (last !== undefined && last.rows + rows <= maxRowsPerUnit) {
      last.periods.push(period)
      last.rows += rows
    } else units.push({ site, periods: [period], rows })
  }
  return units
}

/** Visited intervals of a peak that take as long as a priced record. */
const intervalsPerRecord = 8

/** Return the days of a charge as work. A day of a peak counts its intervals, and earlier months that the peak reads. */
const chargeWork = (charge: ChargeTerms, days: number): number => {
  if (charge.kind !== 'DEMAND') return days
  const { over, rollingMonths, ratchet, intervalMinutes } = charge
  const earlierMonths = Math.max(over === 'ROLLING' ? rollingMonths - 1 : 0, ratchet?.months ?? 0)
  const intervalsPerDay = 1_440 / intervalMinutes
  return Math.ceil(((days + 31 * earlierMonths) * intervalsPerDay) / intervalsPerRecord)
}

/**
 * Return the work of a simulation: its records, and the days of its charges, for each candidate.
 * Source: docs/rules/simulations.md #large-simulations.
 */
export const workOf = (
  request: Pick<SimulationRequest, 'candidates' | keyof DayRange>,
  sites: readonly { readonly terms: { readonly charges: readonly ChargeTerms[] } }[],
  plans: SimulatedPlans,
  rows: number,
): number => {
  const { candidates, startDay, endDay } = request
  const workOfCharges = (charges: readonly ChargeTerms[]): number =>
    charges.reduce((sum, charge) => sum + chargeWork(charge, endDay - startDay), 0)
  const stored = sites.reduce((sum, { terms }) => sum + workOfCharges(terms.charges), 0)
  return candidates.reduce((sum, one) => {
    const own = ownChargesOf(one, plans, request)
    return sum + rows + (own === null ? stored : workOfCharges(own) * sites.length)
  }, 0)
}
