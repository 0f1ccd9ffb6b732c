import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  costOfInterval,
  type ExactEnergyCost,
  onlyElement,
  sumOf,
  type TextInterval,
} from '../../support/exact/exact-answers.ts'
import { bucketEdges } from '../../support/oracle/buckets.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'
import { hourEdges, offsetMinutesAt } from '../../support/tariffs/hour-edges.ts'

const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const iso = (at: number): string => new Date(at).toISOString()
const energies = ({ data }: ExactEnergyCost) => data.map(({ energy }) => energy.value)
const starts = ({ data }: ExactEnergyCost) => data.map(element => element.start_time)

/** Six time bands a day with prices of maximum precision, some with tiers. */
const unevenTariff = (locationId: string) => ({
  location_id: locationId,
  direction: 'IMPORT',
  type: 'COMMODITY',
  schedule: [
    {
      months: ['All'],
      days_and_hours: [
        {
          days: ['All'],
          hours: ['00:00:00', '01:30:00', '02:15:00', '03:00:00', '07:00:00', '22:30:00'].map(
            (valid_from, index, all) => ({
              valid_from,
              valid_to: all[index + 1] ?? '00:00:00',
              rate: [
                { fixed: 0.123456789 + index / 16, to_kwh: 41.7 },
                { fixed: 0.987654321 - index / 16, surcharge_percentage: 0.19 },
              ],
            }),
          ),
        },
      ],
    },
  ],
})

const changes = [
  ['Europe/Berlin', '2025-03-30T01:00:00Z'],
  ['Europe/Berlin', '2025-10-26T01:00:00Z'],
  ['America/New_York', '2025-03-09T07:00:00Z'],
  ['America/New_York', '2025-11-02T06:00:00Z'],
  ['Australia/Lord_Howe', '2025-04-05T15:00:00Z'],
  ['Australia/Lord_Howe', '2025-10-04T15:30:00Z'],
] as const

/** Records over a clock change that no bucket edge divides evenly: some days, quarter hours, impulses, an estimate. */
const recordsAround = (home: string, change: number) => [
  bought(home, 97.31234567, iso(change - 2 * dayMs - 1_234_567), iso(change + 3 * dayMs + 7_654_321)),
  ...Array.from({ length: 16 }, (_, index) =>
    bought(home, (7919 * (index + 1)) / 1e6, iso(change + (index - 8) * 900_000), iso(change + (index - 7) * 900_000)),
  ),
  bought(home, 0.777, iso(change), iso(change)),
  bought(home, 1.333333333, iso(change - 5 * hourMs), iso(change + 4 * hourMs + 1), { confidence: 0.3 }),
]

describe.each(changes)('in %s over the clock change of %s', (zone, text) => {
  const change = Date.parse(text)
  const [from, to] = [change - 3 * dayMs - 1_800_000, change + 4 * dayMs + 600_000]
  const span: TextInterval = [iso(from), iso(to)]
  let home: string

  beforeAll(async () => {
    home = await makeHome(client, {}, { timezone: zone })
    await client.ask('POST', '/tariffs', unevenTariff(home))
    await client.submit(recordsAround(home, change))
  })

  it('has a change of the clock', () =>
    expect(offsetMinutesAt(zone, change)).not.toBe(offsetMinutesAt(zone, change - 60_000)))

  it.each(['HOUR', 'DAY', 'MONTH'] as const)(
    'each %s exists, and their sum equals the whole interval to the last digit',
    async unit => {
      const edges = unit === 'HOUR' ? hourEdges(zone, from, to) : bucketEdges(zone, from, to, unit)
      const found = await costOfInterval(client, home, span, `aggregation=${unit}`)
      expect(found.data.map(element => [Date.parse(element.start_time), Date.parse(element.end_time)])).toEqual(
        edges.slice(0, -1).map((start, index) => [start, edges[index + 1]]),
      )
      const whole = sumOf(await costOfInterval(client, home, span))
      expect(whole.cost).toBeGreaterThan(0n)
      expect(sumOf(found)).toEqual(whole)
    },
  )

  it('buckets are in the local offset at each instant. A whole interval too, unless the request is in Z', async () => {
    const offsetOf = (written: string) => {
      const [, sign, hours, minutes] = /([+-])(\d\d):(\d\d)$/.exec(written) ?? []
      return (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0))
    }
    const requested: TextInterval = [iso(from).replace('Z', '+00:00'), iso(to + 5.5 * hourMs).replace('Z', '+05:30')]
    for (const [of, query] of [
      [span, 'aggregation=DAY'],
      [span, 'aggregation=HOUR'],
      [requested, 'aggregation=HOUR'],
      [requested, ''],
    ] as const) {
      for (const { start_time, end_time } of (await costOfInterval(client, home, of, query)).data) {
        for (const written of [start_time, end_time]) {
          // Offsets of the local time are found on whole minutes.
          expect(offsetOf(written)).toBe(offsetMinutesAt(zone, Math.floor(Date.parse(written) / 60_000) * 60_000))
        }
      }
    }
    const [whole] = (await costOfInterval(client, home, [iso(from), iso(to)])).data
    expect([whole?.start_time, whole?.end_time]).toEqual([from, to].map(at => iso(at).replace('.000Z', 'Z')))
    // The offset of end_time decides.
    const [other] = (
      await costOfInterval(client, home, [requested[1], iso(to + 12 * hourMs)].toSorted() as unknown as TextInterval)
    ).data
    expect(other?.end_time).toMatch(/Z$/)
  })
})

describe('buckets', () => {
  const [start, end]: TextInterval = ['2025-06-01T10:00:00Z', '2025-06-01T14:00:00Z']

  it('are clipped to the interval, and divide records that cross their edges by time', async () => {
    const home = await makeHome(client, { import: 0.1 })
    await client.submit([bought(home, 4, start, end)])
    const found = await costOfInterval(
      client,
      home,
      ['2025-06-01T12:20:00+02:00', '2025-06-01T14:40:00+02:00'],
      'aggregation=HOUR',
    )
    // 1 kW: 40 minutes, an hour, 40 minutes. 40 minutes are 666.666… Wh of the first hour and of the third hour.
    expect(starts(found)).toEqual([
      '2025-06-01T12:20:00+02:00',
      '2025-06-01T13:00:00+02:00',
      '2025-06-01T14:00:00+02:00',
    ])
    expect(found.data.at(-1)?.end_time).toBe('2025-06-01T14:40:00+02:00')
    expect(energies(found)).toEqual(['666.666667', '1000', '666.666667'])
    // From minute 20 to minute 160: 333.333333 to 2666.666667.
    expect(sumOf(found).energy).toBe(2_333_333_334n)
  })

  it('without records have energy 0, cost 0 and confidence 1', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const { data } = await costOfInterval(
      client,
      home,
      ['2025-01-15T00:00:00+01:00', '2025-04-02T00:00:00+02:00'],
      'aggregation=MONTH',
    )
    expect(data.map(({ start_time, end_time }) => [start_time, end_time])).toEqual([
      ['2025-01-15T00:00:00+01:00', '2025-02-01T00:00:00+01:00'],
      ['2025-02-01T00:00:00+01:00', '2025-03-01T00:00:00+01:00'],
      ['2025-03-01T00:00:00+01:00', '2025-04-01T00:00:00+02:00'],
      ['2025-04-01T00:00:00+02:00', '2025-04-02T00:00:00+02:00'],
    ])
    expect(data.map(({ energy, tariff }) => [energy.value, tariff.cost])).toEqual(
      Array(4).fill(['0', { value: '0', confidence: '1' }]),
    )
  })

  it('contain the impulses at their first instant, not at their end', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const midnights = ['2025-06-01T22:00:00Z', '2025-06-02T22:00:00Z', '2025-06-03T22:00:00Z'] as const
    await client.submit(midnights.map((at, index) => bought(home, 2 ** index, at, at)))
    const [first, , last] = midnights
    expect(energies(await costOfInterval(client, home, [first, last], 'aggregation=DAY'))).toEqual(['1000', '2000'])
    expect(onlyElement(await costOfInterval(client, home, [first, last]))[0]).toBe('3000')
  })

  it('include a record that begins a year earlier', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const car = await makeOne(client, '/devices', { reference_id: `car of ${home}` })
    const year: TextInterval = ['2024-01-01T00:00:00Z', '2025-01-01T00:00:00Z']
    await client.submit([bought(home, 8784, ...year), bought(home, 366, ...year, { device_id: car })])
    // 366 days of 24 kWh and of 1 kWh.
    const day: TextInterval = ['2024-12-24T00:00:00Z', '2024-12-25T00:00:00Z']
    expect(onlyElement(await costOfInterval(client, home, day))).toEqual(['24000', '2.4'])
    expect(onlyElement(await costOfInterval(client, car, day))).toEqual(['1000', '0.1'])
    const days = await costOfInterval(client, home, year, 'aggregation=DAY&include_devices=true')
    // Days in Berlin differ from days in UTC: 367 days, the first and the last with 23 h and 1 h.
    expect(days.data).toHaveLength(367)
    expect([days.data[0]?.energy.value, days.data[1]?.energy.value, days.data[366]?.energy.value]).toEqual([
      '23958.333333',
      '25000',
      '1041.666667',
    ])
    expect(sumOf(days)).toEqual({ energy: 9_150_000_000_000n, cost: 915_000_000_000n })
  })

  it('add up to the whole for any sequence of edges', async () => {
    const home = await makeHome(client, {})
    await client.ask('POST', '/tariffs', unevenTariff(home))
    const from = Date.parse('2025-03-29T20:00:00Z')
    await client.submit(recordsAround(home, from + 5 * hourMs))
    const to = from + 12 * hourMs
    const whole = sumOf(await costOfInterval(client, home, [iso(from), iso(to)]))
    const cuts = fc.uniqueArray(fc.integer({ min: from + 1, max: to - 1 }), { minLength: 1, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(cuts, async found => {
        const edges = [from, ...found.sort((a, b) => a - b), to]
        const parts = await Promise.all(
          edges
            .slice(1)
            .map(async (end, index) =>
              sumOf(await costOfInterval(client, home, [iso(edges[index] ?? from), iso(end)])),
            ),
        )
        const energy = parts.reduce((sum, part) => sum + part.energy, 0n)
        const cost = parts.reduce((sum, part) => sum + part.cost, 0n)
        expect({ energy, cost }).toEqual(whole)
      }),
      { numRuns: 8, seed: 5 },
    )
  })

  it('by calendar need one calendar: a customer in two zones must name a location', async () => {
    const customer = await makeOne(client, '/customers', {})
    for (const timezone of ['Europe/Berlin', 'Europe/London'])
      await makeHome(client, { import: 0.1 }, { customer_id: customer, timezone })
    const ask = (query: string) =>
      client.send('POST', `/costs/interval/${customer}?${query}`, { start_time: start, end_time: end })
    expect((await ask('')).status).toBe(200)
    expect((await ask('aggregation=DAY')).json).toMatchObject({ code: 'location_ambiguous', field: 'location_id' })
  })
})
