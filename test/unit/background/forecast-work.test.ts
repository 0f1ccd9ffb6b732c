import fc from 'fast-check'
import sql from 'sql-template-tag'
import { describe, expect, it } from 'vitest'
import { forecastWork } from '../../../services/background/forecast-work.ts'
import { nextDueForecast, priceGaps, storeForecasts } from '../../../services/platform/postgres/pricing/forecasts.ts'
import { putMarketPrices } from '../../../services/platform/postgres/pricing/market-prices.ts'
import { createMarket } from '../../../services/platform/postgres/pricing/markets.ts'
import type { PriceInterval } from '../../../services/platform/postgres/pricing/price-overlap.ts'
import { withOperator } from '../../../services/platform/postgres/transaction.ts'
import { forecastNow } from '../../support/markets/forecast-now.ts'
import { leasedTurn } from '../../support/partitions/leased-turn.ts'
import { useTestDatabase } from '../../support/registry/use-database.ts'

const { database } = await useTestDatabase()
const { operator } = database

const hour = 3_600_000
const start = Date.UTC(2025, 5, 2)
const announced: unknown[] = []
const options = {
  database,
  forecast: forecastNow,
  announcePrices: async (change: unknown) => void announced.push(change),
  logger: { info: () => undefined },
  at: () => start,
}
const workAll = async (): Promise<number> => {
  const work = forecastWork(options)
  for (let rounds = 0; ; rounds += 1) if (!(await work.turn(leasedTurn))) return rounds
}

const newSource = async (): Promise<string> => {
  const draft = { displayName: 'Exchange', currencyCode: 'EUR', area: 'DE-LU', resolutionMinutes: 60, importer: null }
  return (await withOperator(database, keeper => createMarket(keeper, draft, start))).id
}
const priceOf = (at: number): bigint => BigInt(50_000_000 + 1_000_000 * (at % 24) + 100_000 * ((at * 7) % 13))
const hours = (from: number, to: number): PriceInterval[] =>
  Array.from({ length: to - from }, (_, i) => ({
    start: start + (from + i) * hour,
    end: start + (from + i + 1) * hour,
    value: priceOf(from + i),
  }))
const put = (sourceId: string, prices: readonly PriceInterval[]) =>
  withOperator(database, keeper => putMarketPrices(keeper, sourceId, prices))

type Row = { readonly hour: number; readonly value: string; readonly confidence: string }

/** Valid forecasts: published prices hide the forecasts that they replace. */
const forecastsOf = async (sourceId: string): Promise<readonly Row[]> => {
  const { rows } = await operator<Row>(sql`
    select (extract(epoch from f.start_time) * 1000 - ${start})::bigint / ${hour} as hour, f.value, f.confidence
    from market_prices f where f.source_id = ${sourceId} and not f.published and not exists (
      select 1 from market_prices p where p.source_id = f.source_id and p.published and p.start_time < f.end_time
        and p.end_time > f.start_time)
    order by f.start_time`)
  return rows
}
const hoursOf = (rows: readonly Row[]): readonly number[] => rows.map(row => Number(row.hour))
const range = (from: number, to: number): readonly number[] => Array.from({ length: to - from }, (_, i) => from + i)
const revisionOf = async (sourceId: string): Promise<number | undefined> => {
  const { rows } = await operator<{ price_revision: number }>(
    sql`select price_revision from market_sources where id = ${sourceId}`,
  )
  return rows[0]?.price_revision
}
const fanOutsOf = async (sourceId: string) => {
  const { rows } = await operator<{ revision: number; from_time: number; to_time: number }>(
    sql`select revision, from_time, to_time from price_fan_outs where source_id = ${sourceId} order by revision`,
  )
  return rows.map(row => [row.revision, (row.from_time - start) / hour, (row.to_time - start) / hour])
}

describe('forecasts', () => {
  it('are due from the commit of prices on, in any process, and are a price change of their own', async () => {
    const source = await newSource()
    await put(source, hours(0, 200))
    expect(await nextDueForecast(operator, '')).toEqual({
      sourceId: source,
      revision: 1,
      from: start,
      area: 'DE-LU',
      timezone: null,
      locationTimezone: null,
    })
    expect(await forecastsOf(source)).toEqual([])
    announced.length = 0
    expect(await workAll()).toBe(1)
    expect(hoursOf(await forecastsOf(source))).toEqual(range(200, 320))
    expect(announced).toEqual([expect.objectContaining({ sourceId: source, revision: 2 })])
    expect(await fanOutsOf(source)).toEqual([
      [1, 0, 200],
      [2, 200, 320],
    ])
    expect(await workAll()).toBe(0)
  })

  it('follow the next prices: published ones replace them, and only new ones are announced', async () => {
    const source = await newSource()
    await put(source, hours(0, 240))
    await workAll()
    await put(source, hours(240, 264))
    await workAll()
    expect(hoursOf(await forecastsOf(source))).toEqual(range(264, 384))
    expect((await fanOutsOf(source)).slice(2)).toEqual([
      [3, 240, 264],
      [4, 264, 384],
    ])
    // The same prices change nothing.
    await put(source, hours(240, 264))
    expect(await workAll()).toBe(0)
    expect(await revisionOf(source)).toBe(4)
  })

  it('fill each gap from the prices before it, for five days at most', async () => {
    const source = await newSource()
    await put(source, [...hours(0, 200), ...hours(203, 250), ...hours(400, 430)])
    await workAll()
    expect(hoursOf(await forecastsOf(source))).toEqual([...range(200, 203), ...range(250, 370), ...range(430, 550)])
    const before = (await forecastsOf(source)).filter(row => Number(row.hour) < 300)
    await put(source, hours(300, 320))
    await workAll()
    expect(hoursOf(await forecastsOf(source))).toEqual([
      ...range(200, 203),
      ...range(250, 300),
      ...range(320, 400),
      ...range(430, 550),
    ])
    // Forecasts before a change were calculated from the prices before it.
    expect((await forecastsOf(source)).filter(row => Number(row.hour) < 300)).toEqual(before)
  })

  it('take several turns if there are more gaps than a turn takes', async () => {
    const source = await newSource()
    const gaps = range(0, 40).map(place => 200 + 3 * place)
    await put(
      source,
      hours(0, 321).filter(({ start: at }) => !gaps.includes((at - start) / hour)),
    )
    expect(await priceGaps(operator, { sourceId: source, from: start }, 100)).toHaveLength(41)
    expect(await workAll()).toBe(2)
    expect(hoursOf(await forecastsOf(source))).toEqual([...gaps, ...range(321, 441)])
  })

  it('are not stored and stay due if prices changed meanwhile', async () => {
    const source = await newSource()
    await put(source, hours(0, 200))
    const due = await nextDueForecast(operator, '')
    if (due === null) throw new Error('nothing is due')
    await put(source, hours(200, 224))
    const run = { due, timezone: 'Europe/Berlin', forecasts: [], firstGap: start + 200 * hour, next: null }
    expect(await withOperator(database, transaction => storeForecasts(transaction, run))).toBeNull()
    expect(await nextDueForecast(operator, '')).toMatchObject({ sourceId: source, from: start })
    await workAll()
    expect(hoursOf(await forecastsOf(source))).toEqual(range(224, 344))
  })

  it('are the same for the same prices, in any order and any parts', async () => {
    const [known, gap] = [260, 215]
    const all = hours(0, known).filter(({ start: at }) => at !== start + gap * hour)
    const inOrder = await newSource()
    await put(inOrder, all)
    await workAll()
    const wanted = await forecastsOf(inOrder)
    expect(wanted).toHaveLength(121)
    const parts = fc.shuffledSubarray([...range(0, 6)], { minLength: 6 })
    await fc.assert(
      fc.asyncProperty(parts, fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }), async (order, pauses) => {
        const source = await newSource()
        for (const [place, part] of order.entries()) {
          const share = all.slice((part * all.length) / 6, ((part + 1) * all.length) / 6)
          await put(source, pauses[place] === true ? share.map(one => ({ ...one, value: one.value + 1n })) : share)
          if (pauses[place] === true) {
            await workAll()
            await put(source, share)
          }
        }
        await workAll()
        expect(await forecastsOf(source)).toEqual(wanted)
      }),
      { numRuns: 6 },
    )
  })
})
