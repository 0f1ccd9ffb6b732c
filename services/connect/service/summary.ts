import { scaledNumber } from '../../contract/json/exact-number.ts'
import { structureType } from '../../contract/registry/location-view.ts'
import type { LocationCalendar } from '../../domain/charge/location-calendar.ts'
import { nextLocalMidnight, offsetAt, startOfLocalDay, type TimeZone } from '../../domain/civil-time.ts'
import { unambiguousArea } from '../../domain/geocoding/market-areas.ts'
import { writeInstant } from '../../domain/instant.ts'
import { dayMs } from '../../domain/interval.ts'
import { priceSeries } from '../../domain/price/price-series.ts'
import { moneyScale } from '../../domain/quantity.ts'
import type { Location } from '../../domain/registry/location.ts'
import { createPricingPool } from '../../domain/tariff/pricing-pool.ts'
import { compileSnapshot, type PricingSnapshot } from '../../domain/tariff/snapshot.ts'
import { specialDaysOf } from '../../domain/tariff/special-days.ts'
import type { StoredTariff } from '../../domain/tariff/stored-tariff.ts'
import type { MarketSeries, TariffDirection } from '../../domain/tariff/tariff.ts'
import { scheduleAt, schedulesOf } from '../../domain/tariff/tariff-version.ts'
import { defaultCalendarId } from '../../platform/holidays/country-calendar.ts'
import { calendarIdOf, holdCalendar } from '../../platform/postgres/pricing/calendars.ts'
import { loadLocationPricing, loadSourcePrices } from '../../platform/postgres/pricing/pricing-input.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { findAreaSource } from '../postgres/connect-session-markets.ts'
import type { StoredSession } from '../postgres/connect-sessions.ts'
import type { ConnectDependencies } from './connect-dependencies.ts'
import { postalOf } from './geocode-address.ts'

const confidenceScale = 4

/** Tariff of a summary. */
export type SummaryTariff = Pick<
  StoredTariff,
  'direction' | 'type' | 'connectionType' | 'displayName' | 'marketRates' | 'schedule'
> &
  Pick<StoredTariff, 'contractStart' | 'contractEnd' | 'versions'>

/** Write an instant in the location's offset. Clients read the offset, so UTC is written as +00:00. */
export const writeInOffset = (zone: TimeZone, at: number): string =>
  writeInstant(at, offsetAt(zone, at) / 60_000).replace('Z', '+00:00')

/** Return the prices of a local day, in the location's offset. */
const ratesOf = (snapshot: PricingSnapshot, direction: TariffDirection, start: number) => {
  const zone = snapshot.timeZone
  const { elements } = priceSeries(snapshot, { direction, start, end: nextLocalMidnight(zone, start) })
  return elements.map(element => ({
    valid_from: writeInOffset(zone, element.start),
    valid_to: writeInOffset(zone, element.end),
    tariff: {
      cost: scaledNumber(element.price, moneyScale),
      confidence: scaledNumber(BigInt(element.confidence), confidenceScale),
    },
  }))
}

/** Prices of three local days. */
export type SummaryRates = Readonly<Record<'yesterday' | 'today' | 'tomorrow', ReturnType<typeof ratesOf>>>

/** Return the prices of yesterday, today and tomorrow. A day without prices is empty. */
export const ratesOfThreeDays = (snapshot: PricingSnapshot, direction: TariffDirection, at: number): SummaryRates => {
  const today = startOfLocalDay(snapshot.timeZone, at)
  return {
    yesterday: ratesOf(snapshot, direction, startOfLocalDay(snapshot.timeZone, today - 1)),
    today: ratesOf(snapshot, direction, today),
    tomorrow: ratesOf(snapshot, direction, nextLocalMidnight(snapshot.timeZone, today)),
  }
}

/** Load the published prices of a source from 3 days before an instant to 3 days after it. */
const marketSeriesAround = async (
  { database }: ConnectDependencies,
  sourceId: string | null,
  at: number,
): Promise<MarketSeries | null> => {
  if (sourceId === null) return null
  const [prices] = await loadSourcePrices(database.operator, [{ sourceId, from: at - 3 * dayMs, to: at + 3 * dayMs }])
  if (prices === undefined) return null
  const { starts, ends, values } = prices.published
  return { sourceId, starts, ends, prices: values, confidences: starts.map(() => 1) }
}

type TariffPlace = {
  readonly timezone: string
  readonly currencyCode: string
  readonly sourceId: string | null
  readonly calendar: LocationCalendar | null
}

/** Read a calendar for the prices of a tariff; null if the tariff names no special days. */
const calendarFor = async (
  transaction: TenantTransaction,
  tariff: SummaryTariff,
  findCalendar: () => Promise<string | null>,
): Promise<LocationCalendar | null> => {
  if (schedulesOf(tariff).every(({ schedule }) => specialDaysOf(schedule).length === 0)) return null
  const id = await findCalendar()
  return id === null ? null : holdCalendar(transaction, id)
}

/** Compile the prices of one tariff alone, to show them before the tariff is saved. */
const compileTariff = async (
  dependencies: ConnectDependencies,
  tariff: SummaryTariff,
  { timezone, currencyCode, sourceId, calendar }: TariffPlace,
  at: number,
): Promise<PricingSnapshot | null> => {
  const timeZone = dependencies.timeZone(timezone)
  if (timeZone === null) return null
  const market = tariff.marketRates ? await marketSeriesAround(dependencies, sourceId, at) : null
  // The rates of grid fees are shown alone, without the energy price. A COMMODITY tariff alone has a price.
  const shownTariff = {
    ...tariff,
    id: 'shown',
    type: 'COMMODITY' as const,
    contractStart: null,
    contractEnd: null,
    closedAt: null,
  }
  const input = {
    locationId: '',
    currencyCode,
    timeZone,
    calendar,
    tariffs: [shownTariff],
    importMarket: market,
    exportMarket: market,
  }
  return compileSnapshot(input, createPricingPool())
}

/**
 * Return the time zone of a session's location, or of its address if the location does not exist; null if both are
 * unknown.
 */
export const zoneOfSession = (
  dependencies: Pick<ConnectDependencies, 'geocode' | 'timeZone'>,
  { state }: Pick<StoredSession, 'state'>,
  location: { readonly timezone: string } | null,
): TimeZone | null => {
  if (location !== null) return dependencies.timeZone(location.timezone)
  const geoPlace = dependencies.geocode(postalOf(state.address))
  return geoPlace.ok ? dependencies.timeZone(geoPlace.value.timeZone) : null
}

/** Session, with its location if it exists. */
export type SummaryContext = {
  readonly dependencies: ConnectDependencies
  readonly transaction: TenantTransaction
  readonly session: StoredSession
  readonly location: Location | null
  readonly at: number
}

/** Return the place of a session's tariff from its address, before its location exists. */
const tariffPlaceOfSession = async (
  { dependencies, transaction, session: { state }, at }: SummaryContext,
  tariff: SummaryTariff,
): Promise<TariffPlace | null> => {
  const address = postalOf(state.address)
  const geoPlace = dependencies.geocode(address)
  if (!geoPlace.ok) return null
  const { timeZone: timezone, currencyCode } = geoPlace.value
  const area = state.region ?? unambiguousArea(state.regions)
  return {
    timezone,
    currencyCode,
    sourceId: area === null ? null : await findAreaSource(dependencies.database, area, currencyCode),
    calendar: await calendarFor(transaction, tariff, () =>
      defaultCalendarId(dependencies, { ...address, state: address.state ?? null }, at),
    ),
  }
}

/** Return the rates of a tariff that is not saved yet. A day without a known price is empty. */
export const ratesOfDesired = async (context: SummaryContext, tariff: SummaryTariff): Promise<SummaryRates> => {
  const { dependencies, transaction, location, at } = context
  const tariffPlace =
    location === null
      ? await tariffPlaceOfSession(context, tariff)
      : {
          timezone: location.timezone,
          currencyCode: location.currencyCode,
          sourceId: tariff.direction === 'EXPORT' ? location.exportSourceId : location.importSourceId,
          calendar: await calendarFor(transaction, tariff, async () => location.calendarId),
        }
  const snapshot = tariffPlace === null ? null : await compileTariff(dependencies, tariff, tariffPlace, at)
  return snapshot === null
    ? { yesterday: [], today: [], tomorrow: [] }
    : ratesOfThreeDays(snapshot, tariff.direction, at)
}

/**
 * Return the rates of a saved tariff. For a COMMODITY tariff this is the whole price of energy, including grid fees.
 */
export const ratesOfStored = async (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  tariff: StoredTariff,
  at: number,
): Promise<SummaryRates> => {
  const { accountId, liveMode } = transaction
  const pricingRequest = { accountId, liveMode, locationId: tariff.locationId, from: at - 3 * dayMs }
  const cachedPricing = (await dependencies.pricing.gatherNewest([pricingRequest])).get(tariff.locationId)
  if (cachedPricing !== undefined && tariff.type === 'COMMODITY')
    return ratesOfThreeDays(cachedPricing.snapshot, tariff.direction, at)
  const calendar = await calendarFor(transaction, tariff, () => calendarIdOf(transaction, tariff.locationId))
  const tariffPlace = { timezone: tariff.timezone, currencyCode: '', sourceId: null, calendar }
  const snapshot = await compileTariff(dependencies, tariff, tariffPlace, at)
  return snapshot === null
    ? { yesterday: [], today: [], tomorrow: [] }
    : ratesOfThreeDays(snapshot, tariff.direction, at)
}

/**
 * Return whether the saved tariff of a location has a price now, or at the start of a future contract. Includes
 * uncommitted changes of the transaction. Considers published market prices only.
 */
export const isPriced = async (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  tariff: StoredTariff | null,
  at: number,
): Promise<boolean> => {
  if (tariff === null) return false
  if (tariff.type === 'NON_COMMODITY' || !tariff.marketRates) return true
  const { accountId, liveMode, query } = transaction
  const [pricing] = await loadLocationPricing(query, [{ accountId, liveMode, locationId: tariff.locationId }])
  const source = tariff.direction === 'EXPORT' ? pricing?.exportSource : pricing?.importSource
  const from = Math.max(at, tariff.contractStart ?? at)
  const tariffPlace = {
    timezone: tariff.timezone,
    currencyCode: pricing?.currencyCode ?? '',
    sourceId: source?.sourceId ?? null,
    calendar: null,
  }
  const snapshot = await compileTariff(dependencies, tariff, tariffPlace, from)
  if (snapshot === null) return false
  return priceSeries(snapshot, { direction: tariff.direction, start: from, end: from + 1 }).elements.length > 0
}

/** Return whether the price of a tariff depends on the consumed energy at `at` (ms). */
const isTiered = (tariff: SummaryTariff, at: number): boolean =>
  scheduleAt(tariff, at).some(({ daysAndHours }) =>
    daysAndHours.some(({ hours }) => hours.some(({ rate }) => rate.length > 1)),
  )

/** Write the date of a contract in the location's offset, or in UTC if the location is unknown. */
export const dateOrNull = (zone: TimeZone | null, at: number | null | undefined): string | null => {
  if (at === null || at === undefined) return null
  return zone === null ? writeInstant(at) : writeInOffset(zone, at)
}

/** Convert the tariff of a summary to JSON, in `zone` as of `at` (ms). Source: docs/rules/connect.md #summary. */
export const summaryTariffToWire = (
  tariff: SummaryTariff,
  { termType, zone, at }: { readonly termType: string | null; readonly zone: TimeZone | null; readonly at: number },
) => ({
  status: 'CONNECTED',
  name: tariff.displayName ?? '',
  structure_type: structureType(tariff, at),
  contract_start_date: dateOrNull(zone, tariff.contractStart),
  contract_end_date: dateOrNull(zone, tariff.contractEnd),
  contract_term_type: termType ?? (tariff.contractEnd === null ? 'UNTIL_TERMINATED' : 'FIXED'),
  tiered: isTiered(tariff, at),
})
