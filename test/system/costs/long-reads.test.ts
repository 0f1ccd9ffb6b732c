import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client
let home: string

const bands = 1_440
const days = 71
const first = Date.UTC(2025, 0, 2)
const dayMs = 86_400_000
const clock = (minute: number): string =>
  `${String(Math.floor(minute / 60) % 24).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}:00`
const iso = (day: number): string => new Date(first + day * dayMs).toISOString()

/** Tariff with a new price every minute. */
const everyMinute = {
  direction: 'IMPORT',
  type: 'COMMODITY',
  schedule: [
    {
      days_and_hours: [
        {
          hours: Array.from({ length: bands }, (_, minute) => ({
            valid_from: clock(minute),
            valid_to: clock(minute + 1),
            rate: [{ fixed: (100 + (minute % 7)) / 1000 }],
          })),
        },
      ],
    },
  ],
}

beforeAll(async () => {
  client = await system.login()
  home = await makeHome(client, {})
  await makeOne(client, '/tariffs', { location_id: home, ...everyMinute })
  await client.submit(Array.from({ length: days }, (_, day) => bought(home, 24, iso(day), iso(day + 1))))
})

type RecordPage = {
  readonly has_more: boolean
  readonly data: readonly { readonly id: string; readonly pieces: readonly unknown[] }[]
}
type Series = { readonly data: readonly { readonly valid_from: string; readonly valid_to: string }[] }

describe('long reads', () => {
  it('return pages of records with at most 100,000 pieces, and all records in sequence', async () => {
    const page = async (query: string): Promise<RecordPage> =>
      (await client.send('GET', `/meters/records?location_id=${home}&limit=100${query}`)).json as RecordPage
    const newest = await page('')
    // 69 × 1,440 = 99,360; a 70th record would make 100,800.
    expect([newest.data.length, newest.has_more]).toEqual([69, true])
    expect(newest.data.every(record => record.pieces.length === bands)).toBe(true)
    const rest = await page(`&starting_after=${newest.data.at(-1)?.id}`)
    expect([rest.data.length, rest.has_more]).toEqual([days - 69, false])
    const back = await page(`&ending_before=${rest.data.at(-1)?.id}`)
    expect([back.data.length, back.has_more]).toEqual([69, true])
    expect(back.data.at(-1)?.id).toBe(rest.data.at(-2)?.id)
    const one = (await client.send('GET', `/meters/records/${newest.data[0]?.id}`)).json
    expect(one).toEqual(newest.data[0])
  })

  it('price an interval at once as in parts, also several intervals in parallel', async () => {
    const series = async (from: number, to: number): Promise<Series['data']> =>
      ((await client.send('POST', `/prices/${home}`, { start_time: iso(from), end_time: iso(to) })).json as Series).data
    const [whole, ...parts] = await Promise.all([
      series(0, 20),
      ...Array.from({ length: 20 }, (_, day) => series(day, day + 1)),
    ])
    expect(whole?.length).toBe(20 * bands)
    expect(JSON.stringify(whole) === JSON.stringify(parts.flat())).toBe(true)
  })
})
