import fc from 'fast-check'
import sql from 'sql-template-tag'
import { describe, expect, it } from 'vitest'
import { forecastWork } from '../../../services/background/forecast-work.ts'
import { offsetAt, type TimeZone } from '../../../services/domain/civil-time.ts'
import { putMarketPrices } from '../../../services/platform/postgres/pricing/market-prices.ts'
import { createMarket, lockMarket, updateMarket } from '../../../services/platform/postgres/pricing/markets.ts'
import { withOperator } from '../../../services/platform/postgres/transaction.ts'
import { timeZone } from '../../../services/platform/time-zone.ts'
import { forecastNow } from '../../support/markets/forecast-now.ts'
import { leasedTurn } from '../../support/partitions/leased-turn.ts'
import { useTestDatabase } from '../../support/registry/use-database.ts'
import { makeTenants } from '../../support/stores/postgres.ts'

const { database } = await useTestDatabase()
const { operator } = database
const { live } = await makeTenants(database)

const [hourMs, dayMs] = [3_600_000, 86_400_000]
const announced: { sourceId: string; from: number; to: number }[] = []
const workAll = async (): Promise<void> => {
  const work = forecastWork({
    database,
    forecast: forecastNow,
    logger: { info: () => undefined },
    at: () => Date.now(),
    announcePrices: async change => void announced.push(change as never),
  })
  while (await work.turn(leasedTurn));
}

const zoneOf = (name: string): TimeZone => {
  const zone = timeZone(name)
  if (zone === null) throw new RangeError(name)
  return zone
}
const localHour = (zone: TimeZone, at: number): number => ((at + offsetAt(zone, at)) / hourMs) % 24
const isPeak = (hour: number): boolean => hour >= 17 && hour < 21

type SourceClock = { readonly area?: string; readonly timezone?: string }

/** Source with 28 days of hourly prices up to a day before `change`, dear from 17 to 21 in a zone. */
const newSource = async (zone: TimeZone, change: number, { area, timezone }: SourceClock): Promise<string> => {
  const end = change - dayMs
  const prices = Array.from({ length: 28 * 24 }, (_, index) => {
    const start = end - 28 * dayMs + index * hourMs
    return { start, end: start + hourMs, value: isPeak(localHour(zone, start)) ? 400_000_000n : 100_000_000n }
  })
  const draft = { displayName: 'Peak', currencyCode: 'EUR', resolutionMinutes: 60, importer: null }
  return withOperator(database, async transaction => {
    const clock = { area: area ?? null, timezone: timezone ?? null }
    const { id } = await createMarket(transaction, { ...draft, ...clock }, end)
    await putMarketPrices(transaction, id, prices)
    return id
  })
}

let locations = 0
const addLocation = async (
  sourceId: string,
  zone: string,
  direction: 'IMPORT' | 'EXPORT' = 'IMPORT',
): Promise<string> => {
  const id = `loc_${(locations++).toString(16).padStart(24, '0')}`
  const [imported, exported] = direction === 'IMPORT' ? [sourceId, null] : [null, sourceId]
  await operator(sql`
    insert into locations (account_id, live_mode, id, timezone, currency_code, import_market_source_id,
      export_market_source_id, time_created)
    values (${live.accountId}, ${live.liveMode}, ${id}, ${zone}, 'EUR', ${imported}, ${exported}, now())`)
  return id
}

/** Local hours of the dear forecasts on the days after a clock change. */
const dearHours = async (sourceId: string, zone: TimeZone, change: number): Promise<readonly number[]> => {
  const { rows } = await operator<{ start_time: number; value: string }>(sql`
    select start_time, value from market_prices where source_id = ${sourceId} and not published
      and start_time >= ${new Date(change + dayMs).toISOString()} order by start_time`)
  expect(rows.length).toBeGreaterThan(48)
  const dear = rows.filter(({ value }) => Number(value) > 0.25).map(row => localHour(zone, row.start_time))
  return [...new Set(dear)].sort((a, b) => a - b)
}

const peak = [17, 18, 19, 20]
const october = Date.UTC(2026, 9, 25, 1)

/** Clock changes of zones, and an area of the zone. */
const changes = [
  ['Europe/Berlin', october, 'DE-LU'],
  ['Europe/Berlin', Date.UTC(2026, 2, 29, 1), 'AT'],
  ['Europe/London', Date.UTC(2026, 9, 25, 1), 'GB'],
  ['America/New_York', Date.UTC(2026, 10, 1, 6), 'PJM'],
  ['America/New_York', Date.UTC(2026, 2, 8, 7), 'NYISO'],
  ['Australia/Sydney', Date.UTC(2026, 3, 4, 16), null],
  ['Asia/Tokyo', october, null],
] as const

describe('the clock of a forecast', () => {
  it('is that of the first location of a source without an area: a peak stays at 17 to 21 over the change', async () => {
    const berlin = zoneOf('Europe/Berlin')
    const source = await newSource(berlin, october, {})
    await addLocation(source, 'Europe/Berlin')
    await workAll()
    expect(await dearHours(source, berlin, october)).toEqual(peak)
  })

  it('keeps a local peak over each clock change, however the source gets its clock', { timeout: 60_000 }, async () => {
    const ways = ['timezone', 'area', 'IMPORT', 'EXPORT', 'later location', 'later timezone', 'wrong area'] as const
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...changes), fc.constantFrom(...ways), async ([name, change, area], way) => {
        const zone = zoneOf(name)
        const clock: SourceClock =
          way === 'area' && area !== null
            ? { area }
            : way === 'timezone' || way === 'area'
              ? { timezone: name, area: 'AT' }
              : way === 'wrong area'
                ? { area: 'My street' }
                : {}
        const source = await newSource(zone, change, clock)
        // Later locations do not change the clock.
        if (way === 'IMPORT' || way === 'EXPORT' || way === 'wrong area') {
          await addLocation(source, name, way === 'EXPORT' ? 'EXPORT' : 'IMPORT')
          await addLocation(source, 'Pacific/Auckland')
        }
        await workAll()
        if (way === 'later location') await addLocation(source, name)
        if (way === 'later timezone')
          await withOperator(database, async transaction => {
            const market = await lockMarket(transaction, source)
            if (market !== null) await updateMarket(transaction, market, { timezone: name })
          })
        await workAll()
        expect(await dearHours(source, zone, change)).toEqual(peak)
      }),
      { numRuns: 24 },
    )
  })

  it('changes forecasts and announces them as a price change, once', async () => {
    const berlin = zoneOf('Europe/Berlin')
    const source = await newSource(berlin, october, {})
    await workAll()
    expect(await dearHours(source, berlin, october)).toEqual([16, 17, 18, 19])
    announced.length = 0
    const first = await addLocation(source, 'Europe/Berlin')
    await workAll()
    expect(announced.map(({ sourceId }) => sourceId)).toEqual([source])
    const { rows } = await operator<{ revision: number }>(
      sql`select max(revision) as revision from price_fan_outs where source_id = ${source}`,
    )
    expect(rows[0]?.revision).toBe(3)
    await workAll()
    expect(announced).toHaveLength(1)
    // A time zone of the location that changes, and a deleted location, change the clock too. Tokyo keeps its offset.
    const follow = async (change: ReturnType<typeof sql>): Promise<readonly number[]> => {
      await operator(sql`update locations set ${change} where id = ${first}`)
      await workAll()
      return dearHours(source, berlin, october)
    }
    expect(await follow(sql`timezone = 'Asia/Tokyo'`)).toEqual([16, 17, 18, 19])
    expect(await follow(sql`timezone = 'Europe/Berlin'`)).toEqual(peak)
    expect(await follow(sql`deleted_at = now()`)).toEqual([16, 17, 18, 19])
    expect(announced).toHaveLength(4)
  })
})
