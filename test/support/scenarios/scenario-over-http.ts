import { writeDate } from '../../../services/domain/civil-date.ts'
import type { MeterRecord } from '../../../services/domain/record/record.ts'
import type {
  MarketSeries,
  PricingInput,
  ScheduleEntry,
  Tariff,
  TariffVersion,
} from '../../../services/domain/tariff/tariff.ts'
import { askExactly, exactBody, exactNumber } from '../exact/exact-json.ts'
import type { IdentifiedRecord } from '../oracle/cost.ts'
import type { Scenario } from '../oracle/generate.ts'
import type { Client } from '../system/client.ts'

type WithId = { readonly id: string }

/**
 * A scenario that was created in a running system: location, ids of the tariffs by name, and the records with their
 * ids.
 */
export type CreatedScenario = {
  readonly locationId: string
  readonly tariffIds: ReadonlyMap<string, string>
  readonly input: PricingInput
  readonly records: readonly IdentifiedRecord[]
}

const fiveCents = 50_000_000n

/** Return a series that a caller can publish: without forecasts and without gaps. The service would fill gaps. */
const published = (series: MarketSeries): MarketSeries => {
  const { sourceId, starts, ends, prices } = series
  const filled = {
    sourceId,
    starts: [] as number[],
    ends: [] as number[],
    prices: [] as bigint[],
    confidences: [] as number[],
  }
  const add = (start: number, end: number, price: bigint) => {
    filled.starts.push(start)
    filled.ends.push(end)
    filled.prices.push(price)
    filled.confidences.push(1)
  }
  for (const [index, start] of starts.entries()) {
    const last = filled.ends.at(-1) ?? start
    if (last < start) add(last, start, fiveCents)
    add(start, ends[index] ?? start, prices[index] ?? 0n)
  }
  return filled
}

const isWithin = (series: MarketSeries, { start, end }: MeterRecord): boolean =>
  (series.starts[0] ?? Number.POSITIVE_INFINITY) <= start && end < (series.ends.at(-1) ?? Number.NEGATIVE_INFINITY)

/**
 * Change a scenario so that HTTP requests can create it.
 * Tariffs are not closed, because a tariff can only be closed now.
 * Exports use the source of imports by default.
 * Each record has its own session, so that actuals do not cover estimates.
 * Records that end after `latest` or outside of the market prices are removed.
 * The service would refuse or forecast them.
 */
export const expressible = ({ input, records }: Scenario, latest: number): Scenario => {
  const importMarket = input.importMarket === null ? null : published(input.importMarket)
  const exportMarket = input.exportMarket === null ? importMarket : published(input.exportMarket)
  const markets = input.tariffs.some(({ marketRates }) => marketRates) ? [importMarket, exportMarket] : []
  const expressibleRecords = records.filter(
    ({ record }) => record.end < latest && markets.every(series => series !== null && isWithin(series, record)),
  )
  return {
    input: {
      ...input,
      importMarket,
      exportMarket,
      tariffs: input.tariffs.map(tariff => ({ ...tariff, closedAt: null })),
    },
    records: expressibleRecords.map(({ id, record }) => ({
      id,
      record: { ...record, sessionReferenceId: `session of ${id}`, recordReferenceId: id },
    })),
  }
}

const instant = (at: number): string => new Date(at).toISOString()
const instantOrNull = (at: number | null): string | null => (at === null ? null : instant(at))
const clock = (second: number): string => new Date((second % 86_400) * 1000).toISOString().slice(11, 19)
const nano = (value: bigint): string => exactNumber(value, 9)

const scheduleBody = (schedule: readonly ScheduleEntry[], isMarket: boolean) =>
  schedule.map(({ months, dates, daysAndHours }) => ({
    months,
    dates,
    days_and_hours: daysAndHours.map(({ days, hours }) => ({
      days,
      hours: hours.map(({ validFrom, validTo, rate }) => ({
        valid_from: clock(validFrom),
        valid_to: clock(validTo),
        rate: rate.map(({ fixed, to, surchargeFixed, surchargePercentage }) => ({
          ...(isMarket ? {} : { fixed: nano(fixed) }),
          ...(to === null ? {} : { to_kwh: nano(to) }),
          surcharge_fixed: nano(surchargeFixed),
          surcharge_percentage: exactNumber(surchargePercentage, 15),
        })),
      })),
    })),
  }))

/** Create the body of POST /tariffs, for `exactBody`. */
export const tariffBody = (tariff: Tariff, locationId: string) => ({
  location_id: locationId,
  direction: tariff.direction,
  type: tariff.type,
  market_rates: tariff.marketRates,
  contract_start_date: instantOrNull(tariff.contractStart),
  contract_end_date: instantOrNull(tariff.contractEnd),
  schedule: scheduleBody(tariff.schedule, tariff.marketRates),
})

/** Create the body of the PATCH that replaces the prices of a tariff from an instant on, for `exactBody`. */
export const versionBody = ({ effectiveFrom, schedule }: TariffVersion, marketRates: boolean) => ({
  effective_from: instant(effectiveFrom),
  schedule: scheduleBody(schedule, marketRates),
})

/** Create a tariff with all its versions. Return its id. */
export const createTariff = async (client: Client, tariff: Tariff, locationId: string): Promise<string> => {
  const { id } = (await client.ask('POST', '/tariffs', exactBody(tariffBody(tariff, locationId)))) as WithId
  for (const version of tariff.versions ?? []) {
    await client.ask('PATCH', `/tariffs/${id}`, exactBody(versionBody(version, tariff.marketRates)))
  }
  return id
}

const recordBody = (record: MeterRecord, locationId: string, deviceIds: ReadonlyMap<string, string>) => ({
  location_id: locationId,
  ...(record.deviceId === null ? {} : { device_id: deviceIds.get(record.deviceId) }),
  session_reference_id: record.sessionReferenceId,
  record_reference_id: record.recordReferenceId,
  energy_flow_direction: record.energyFlowDirection,
  tariff_direction: record.tariffDirection,
  units: 'WH',
  value: exactNumber(record.energy, 6),
  confidence: exactNumber(BigInt(record.confidence), 6),
  start_time: instant(record.start),
  end_time: instant(record.end),
})

const makeMarket = async (client: Client, series: MarketSeries | null): Promise<string | null> => {
  if (series === null) return null
  const { id } = (await client.ask('POST', '/markets', {
    display_name: series.sourceId,
    currency_code: 'EUR',
  })) as WithId
  const prices = series.starts.map((start, index) => ({
    start_time: instant(start),
    end_time: instant(series.ends[index] ?? start),
    value: nano(series.prices[index] ?? 0n),
  }))
  await client.ask('PUT', `/markets/${id}/prices`, exactBody(prices))
  return id
}

const dates = (days: ReadonlySet<number>): readonly string[] => [...days].map(writeDate)

const makeCalendar = async (client: Client, { calendar }: PricingInput): Promise<string | null> => {
  if (calendar === null) return null
  const { id } = (await client.ask('POST', '/calendars', {
    name: 'of a scenario',
    add: dates(calendar.holidays).map(date => ({ date, name: 'Holiday' })),
    day_types: calendar.dayTypes.map(({ name, days }) => ({ name, dates: dates(days) })),
  })) as WithId
  return id
}

const makeLocation = async (client: Client, input: PricingInput): Promise<string> => {
  const { timeZone, importMarket, exportMarket } = input
  const source = await makeMarket(client, importMarket)
  const sources = {
    import: source,
    export: exportMarket === importMarket ? null : await makeMarket(client, exportMarket),
  }
  const calendar = await makeCalendar(client, input)
  const body = { timezone: timeZone.name, currency_code: 'EUR', market_sources: sources, calendar_id: calendar }
  return ((await client.ask('POST', '/locations', body)) as WithId).id
}

/** Function that divides records into consecutive submissions. */
export type Arrival = (records: readonly IdentifiedRecord[]) => readonly (readonly IdentifiedRecord[])[]

/** Return submissions in the order of time, with three records each. */
export const inOrderOfTime: Arrival = records => {
  const inOrder = records.toSorted((a, b) => a.record.start - b.record.start || a.record.end - b.record.end)
  return Array.from({ length: Math.ceil(inOrder.length / 3) }, (_, index) => inOrder.slice(index * 3, index * 3 + 3))
}

const submit = async (client: Client, bodies: readonly unknown[]) => {
  const { failed_records: failed } = (await client.submit(exactBody(bodies))) as { failed_records: unknown[] }
  if (failed.length > 0) throw new Error(`Records were refused: ${JSON.stringify(failed)}`)
}

/** Create a scenario: market sources with prices, calendar, location, tariffs, then the submissions. */
export const createScenario = async (
  client: Client,
  { input, records }: Scenario,
  deviceIds: ReadonlyMap<string, string>,
  arrival = inOrderOfTime,
): Promise<CreatedScenario> => {
  const locationId = await makeLocation(client, input)
  const tariffIds = new Map<string, string>()
  for (const tariff of input.tariffs) {
    const id = await createTariff(client, tariff, locationId)
    tariffIds.set(tariff.id, id)
  }
  for (const submission of arrival(records)) {
    const bodies = submission.map(({ record }) => recordBody(record, locationId, deviceIds))
    await submit(client, bodies)
  }
  const { data } = await askExactly<{ data: readonly (WithId & { data: { record_reference_id: string } })[] }>(
    client,
    'GET',
    `/meters/records?location_id=${locationId}&limit=100`,
  )
  const idOf = new Map(data.map(({ id, data: { record_reference_id: reference } }) => [reference, id]))
  return {
    locationId,
    tariffIds,
    input,
    records: records.map(({ id, record }) => ({ id: idOf.get(id) ?? 'missing', record })),
  }
}
