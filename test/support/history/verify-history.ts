import type { MeterRecord } from '../../../services/domain/record/record.ts'
import type { MarketSeries, PricingInput } from '../../../services/domain/tariff/tariff.ts'
import { locationCosts } from '../../audit/verify/location-costs.ts'
import { withCoveredIntervals } from '../../audit/verify/stored-records.ts'
import { decimal } from '../ledger/exact-decimal.ts'
import { readRecords } from '../ledger/read-back.ts'
import type { IdentifiedRecord, OracleCost } from '../oracle/cost.ts'
import { zoneOf } from '../oracle/zone.ts'
import { oracleIntervals } from '../registers/register-oracle.ts'
import { usesMarket } from './arrivals.ts'
import {
  certain,
  finalOf,
  flows,
  type History,
  instant,
  readingName,
  type SentReading,
  type SentRegister,
} from './history.ts'
import type { PlayContext, PlayedLocation } from './play.ts'
import { ruleOf } from './register-rules.ts'
import { differences, rowName, type StoredState } from './stored-state.ts'

/** A record that must be stored in the end, with the name of its row. */
type ExpectedRecord = { readonly name: string; readonly record: MeterRecord }

const nameOf = (
  device: number | null,
  { energyFlowDirection, tariffDirection, ...record }: MeterRecord,
  reference: string,
): string =>
  `${reference} device ${device} session ${record.sessionReferenceId} ${energyFlowDirection} ${tariffDirection} ${instant(record.start)} ${instant(record.end)}`

/** Intervals of the readings in their last form. A reading that begins a new meter closes no interval. */
const intervalsOf = (history: History, register: SentRegister): readonly ExpectedRecord[] => {
  const closings = new Map(register.readings.filter(({ isRestart }) => !isRestart).map(one => [one.time, one]))
  const last = register.readings.map(({ time, isRestart, values }) => ({ time, isRestart, value: finalOf(values) }))
  return oracleIntervals(ruleOf(history, register), last).flatMap(([start, end, energy]) =>
    expectedOf(
      register.device,
      { ...flows[register.flow], start, end, energy, confidence: certain, sessionReferenceId: register.session },
      readingName(register, closings.get(end) as SentReading),
    ),
  )
}

const expectedOf = (
  device: number | null,
  of: Omit<MeterRecord, 'locationId' | 'deviceId' | 'recordReferenceId'>,
  reference: string,
): readonly [ExpectedRecord] => {
  const record = {
    ...of,
    locationId: 'loc',
    deviceId: device === null ? null : String(device),
    recordReferenceId: reference,
  }
  return [{ name: nameOf(device, record, reference), record }]
}

const expectedRecords = (history: History): readonly ExpectedRecord[] => [
  ...history.records.flatMap(({ name, device, flow, start, end, session, forms }) =>
    expectedOf(device, { ...flows[flow], start, end, ...finalOf(forms), sessionReferenceId: session }, name),
  ),
  ...history.registers.flatMap(register => intervalsOf(history, register)),
]

const seriesOf = ({ prices }: History): MarketSeries => {
  const intervals = prices.flatMap(({ start, stepMs, forms }) =>
    finalOf(forms).map((price, index) => ({ start: start + index * stepMs, end: start + (index + 1) * stepMs, price })),
  )
  return {
    sourceId: 'market',
    starts: intervals.map(({ start }) => start),
    ends: intervals.map(({ end }) => end),
    prices: intervals.map(({ price }) => price),
    confidences: intervals.map(() => 1),
  }
}

/** Return the final pricing of the location of a history. */
export const inputOf = (history: History): PricingInput => {
  const market = usesMarket(history) ? seriesOf(history) : null
  const { final: tariffs } = history.tariffs
  return {
    locationId: 'loc',
    currencyCode: 'EUR',
    timeZone: zoneOf(history.zone),
    calendar: null,
    tariffs,
    importMarket: market,
    exportMarket: market,
  }
}

const costText = ({ energy, record, priced }: OracleCost): string =>
  JSON.stringify([
    ...[decimal(energy, 6), decimal(record.energy, 6), priced === null ? null : decimal(priced.cost, 9)],
    (priced?.pieces ?? []).map(piece => [
      ...[instant(piece.start), instant(piece.end), decimal(piece.energy, 6), decimal(piece.price, 9)],
      ...[decimal(piece.tiers[0], 9), decimal(piece.cost, 9), String(piece.confidence)],
    ]),
  ])

/** Return the final records of a history with the intervals that actuals cover. The names of rows are the ids. */
export const finalRecords = (history: History): readonly IdentifiedRecord[] =>
  withCoveredIntervals(expectedRecords(history).map(({ name: id, record }) => ({ id, record })))

/**
 * Calculate the exact final rows, by row name.
 * `idOf`: ids of the rows by name. The ids decide the order of records with the same interval.
 */
export const expectedState = (history: History, idOf: ReadonlyMap<string, string>): StoredState => {
  const expected = expectedRecords(history).map(({ name, record }) => ({
    name,
    of: { id: idOf.get(name) ?? name, record },
  }))
  const covered: readonly IdentifiedRecord[] = withCoveredIntervals(expected.map(({ of }) => of))
  const costs = locationCosts(inputOf(history), covered)
  return new Map(expected.map(({ name }, index) => [name, costText(costs[index] as OracleCost)]))
}

/** Compare the stored rows of a location with an exact calculation from the history alone. Return the differences. */
export const verifyHistory = async (
  context: PlayContext,
  history: History,
  location: PlayedLocation,
): Promise<readonly string[]> => {
  const rows = await readRecords(context.client, location.locationId)
  const expected = expectedState(history, new Map(rows.map(row => [rowName(row, context.deviceIds), row.id])))
  const found: StoredState = new Map(
    rows.map(row => [
      rowName(row, context.deviceIds),
      JSON.stringify([
        ...[row.data.energy.value, row.energy_submitted, row.data.tariff.cost.value],
        row.pieces.map(piece => [
          ...[piece.start_time, piece.end_time].map(text => instant(Date.parse(text))),
          ...[piece.energy, piece.price, piece.tier, piece.cost, piece.confidence],
        ]),
      ]),
    ]),
  )
  return differences(expected, found, ['exact', 'stored'])
}
