import { readTariffTerms } from '../../../services/contract/tariffs/read-tariff-terms.ts'
import type { LocationCalendar } from '../../../services/domain/charge/location-calendar.ts'
import { coverageLookup, coveredIntervals, isEstimate } from '../../../services/domain/cost/covered-intervals.ts'
import { readEnergy } from '../../../services/domain/quantity.ts'
import type { MeterRecord } from '../../../services/domain/record/record.ts'
import { defaultTariffDirection } from '../../../services/domain/record/validate-record.ts'
import { type BilledRow, priceRows } from '../../../services/domain/statement/billed-row.ts'
import type { StatementInput } from '../../../services/domain/statement/calculate-statement.ts'
import { countsAtStarts } from '../../../services/domain/statement/counts-at-starts.ts'
import type { BilledTariff } from '../../../services/domain/statement/energy-sums.ts'
import { createMeteredEnergy, type MeteredRecord } from '../../../services/domain/statement/metered-energy.ts'
import { type RequestedPeriods, statementPeriods } from '../../../services/domain/statement/statement-periods.ts'
import { createPricingPool, type PricingPool } from '../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot, type PricingSnapshot } from '../../../services/domain/tariff/snapshot.ts'
import { defaultTariffComponents, type Tariff } from '../../../services/domain/tariff/tariff.ts'
import { acceptedValue } from '../accepted-value.ts'
import { zoneOf } from '../oracle/zone.ts'
import { type BillCase, type BillRecord, billRecords, type WireObject } from './bill-cases.ts'
import { chargeOf, dayOf } from './read-charge.ts'

const instantOrNull = (text: string | undefined): number | null => (text === undefined ? null : Date.parse(text))

const tariffsOf = ({ tariffs }: BillCase): readonly Tariff[] =>
  tariffs.map(({ direction, type, schedule, contract_start_date, contract_end_date }, index) => {
    const contract = {
      contractStart: instantOrNull(contract_start_date),
      contractEnd: instantOrNull(contract_end_date),
    }
    const terms = acceptedValue(readTariffTerms({ direction, type, marketRates: false, ...contract, schedule }))
    return { ...terms, id: `trf_${index}`, closedAt: null }
  })

const billedTariffsOf = ({ tariffs }: BillCase): readonly BilledTariff[] =>
  tariffs.map(({ direction, type, component, contract_start_date }, index) => ({
    id: `trf_${index}`,
    direction,
    type,
    planId: null,
    component: component ?? defaultTariffComponents[type],
    contractStart: instantOrNull(contract_start_date),
  }))

const confidenceOf = (text = '1'): number => Math.round(Number(text) * 1_000_000)

const recordOf = (wire: BillRecord): MeterRecord => {
  const [start, end] = [Date.parse(wire.start_time), Date.parse(wire.end_time)]
  const energyFlowDirection = wire.energy_flow_direction ?? 'INBOUND'
  return {
    locationId: 'loc_1',
    deviceId: wire.device_id ?? null,
    energyFlowDirection,
    tariffDirection: wire.tariff_direction ?? defaultTariffDirection(energyFlowDirection),
    start,
    end,
    confidence: confidenceOf(wire.confidence),
    recordReferenceId: null,
    energy: acceptedValue(readEnergy(wire.value, wire.units ?? 'KWH', end - start)),
    sessionReferenceId: wire.session_reference_id ?? null,
  }
}

/** Return the record as charges read it. `actuals` cover it if it is an estimate. */
export const meteredRecordOf = (record: MeterRecord, actuals: readonly MeterRecord[] = []): MeteredRecord => ({
  ...record,
  covered: isEstimate(record) ? coveredIntervals(record, actuals) : [],
})

/** Price records in the counting order, as the rows of a statement. */
export const priceRecords = (
  snapshot: PricingSnapshot,
  records: readonly MeteredRecord[],
  isBilled = (_: MeteredRecord): boolean => true,
): readonly BilledRow[] => {
  const inOrder = records
    .map((record, index) => ({ ...record, recordId: String(index).padStart(6, '0') }))
    .sort((a, b) => a.start - b.start || a.end - b.end)
  const rows = priceRows(snapshot, inOrder, countsAtStarts(snapshot, inOrder), isBilled)
  return [...rows].filter(row => row !== null)
}

type Flow = Pick<MeterRecord, 'energyFlowDirection' | 'tariffDirection'>

const flowKey = ({ energyFlowDirection, tariffDirection }: Flow): string => `${energyFlowDirection} ${tariffDirection}`

const calendarOf = ({ calendar }: BillCase): LocationCalendar | null => {
  if (calendar === undefined || calendar === null) return null
  const dayTypes = (calendar.day_types ?? []).map(({ name, dates }) => ({ name, days: new Set(dates.map(dayOf)) }))
  return { holidays: new Set(calendar.add.map(({ date }) => dayOf(date))), dayTypes }
}

const meteredRecordsOf = (one: BillCase): readonly MeteredRecord[] => {
  const records = billRecords(one).map(recordOf)
  const coverageOf = coverageLookup(records)
  return records.map(record => ({ ...record, covered: coverageOf(record) }))
}

/**
 * Return a function that decides if a flow has the records of devices. By default a flow has them if the location
 * itself has no record with energy in it.
 */
const deviceInclusion = ({ statement }: BillCase, records: readonly MeterRecord[]): ((flow: Flow) => boolean) => {
  const inclusion = statement['include_devices'] ?? 'auto'
  if (inclusion !== 'auto') return () => inclusion === true
  const own = records.filter(({ deviceId, energy }) => deviceId === null && energy > 0n)
  const ownFlows = new Set(own.map(flowKey))
  return flow => !ownFlows.has(flowKey(flow))
}

const decimalsByCurrency: Readonly<Record<string, number>> = { JPY: 0, KWD: 3 }

const rangeOf = (wire: WireObject) => ({
  startDay: dayOf(String(wire['start_date'])),
  endDay: dayOf(String(wire['end_date'])),
})

const periodsOf = (wire: WireObject): RequestedPeriods => {
  const periods = wire['periods'] ?? 'MONTH'
  return typeof periods === 'string' ? (periods as 'MONTH') : (periods as WireObject[]).map(rangeOf)
}

/** Prepare the statement of a case: price its records with the evaluator. `now` is after all cases. */
export const inputOfCase = (one: BillCase, pool: PricingPool = createPricingPool()): StatementInput => {
  const timeZone = zoneOf(one.location.timezone)
  const tariffs = tariffsOf(one)
  const calendar = calendarOf(one)
  const pricing = { locationId: 'loc_1', currencyCode: one.location.currency_code, timeZone, calendar }
  const snapshot = compileSnapshot({ ...pricing, tariffs, importMarket: null, exportMarket: null }, pool)
  const records = meteredRecordsOf(one)
  const includesDevicesOf = deviceInclusion(one, records)
  const includesDevices = {
    IMPORT: includesDevicesOf({ energyFlowDirection: 'INBOUND', tariffDirection: 'IMPORT' }),
    EXPORT: includesDevicesOf({ energyFlowDirection: 'OUTBOUND', tariffDirection: 'EXPORT' }),
    LOCAL: includesDevicesOf({ energyFlowDirection: 'INBOUND', tariffDirection: 'LOCAL' }),
  }
  const isBilled = (record: MeteredRecord): boolean => record.deviceId === null || includesDevicesOf(record)
  const rows = priceRecords(snapshot, records, isBilled)
  const { statement } = one
  const rounding = (statement['rounding'] ?? {}) as WireObject
  return {
    locationId: 'loc_1',
    pool,
    calendar,
    metered: createMeteredEnergy(records, { timeZone, includesDevices }),
    periods: acceptedValue(statementPeriods(rangeOf(statement), periodsOf(statement))),
    rounding: {
      profile: (rounding['profile'] ?? 'EXACT') as 'EXACT',
      decimals: Number(rounding['decimals'] ?? decimalsByCurrency[one.location.currency_code] ?? 2),
    },
    expected: (statement['expect'] ?? null) as StatementInput['expected'],
    hasDetail: statement['detail'] === 'PRICE',
    tariffs: billedTariffsOf(one),
    rows,
    charges: one.charges.map((charge, index) => chargeOf(charge, `chg_${index}`)),
    finals: [],
    now: one.now === undefined ? Date.UTC(2100, 0, 1) : Date.parse(one.now),
  }
}
