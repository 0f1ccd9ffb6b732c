import { beforeAll, describe, expect, it } from 'vitest'
import { writeInstant } from '../../../services/domain/instant.ts'
import { makeDevices } from '../../support/acceptance/schedule-cases.ts'
import type { ApiVersion, Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'
import { offsetMinutesAt } from '../../support/tariffs/hour-edges.ts'

const system = useSharedSystem()
let clients: Readonly<Record<ApiVersion, Client>>

beforeAll(async () => {
  clients = { current: await system.login(), earlier: await system.login('test', 'earlier') }
})

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Tariff with a price per hour of the day, so that hours divide every answer. */
const hourly = (locationId: string, direction: string) => ({
  location_id: locationId,
  direction,
  type: 'COMMODITY',
  schedule: [
    {
      months: ['All'],
      days_and_hours: [
        {
          days: ['All'],
          hours: Array.from({ length: 24 }, (_, hour) => ({
            valid_from: `${String(hour).padStart(2, '0')}:00:00`,
            valid_to: `${String((hour + 1) % 24).padStart(2, '0')}:00:00`,
            rate: [{ fixed: (10 + ((hour * 7) % 24)) / 100 }],
          })),
        },
      ],
    },
  ],
})

/** Return every instant of a series as it is written in the answer. */
const instantsOf = (value: unknown): string[] => {
  if (Array.isArray(value)) return value.flatMap(instantsOf)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) =>
    ['start_time', 'end_time', 'valid_from', 'valid_to'].includes(name) ? [String(member)] : instantsOf(member),
  )
}

/** Zone, instant of its clock change, and offsets in minutes before and after. */
const changes = [
  ['America/Denver', '2026-03-08T09:00:00Z', -420, -360],
  ['America/Denver', '2026-11-01T08:00:00Z', -360, -420],
  ['Europe/London', '2026-03-29T01:00:00Z', 0, 60],
  ['Europe/London', '2026-10-25T01:00:00Z', 60, 0],
  ['Australia/Lord_Howe', '2026-04-04T15:00:00Z', 660, 630],
  ['Australia/Lord_Howe', '2026-10-03T15:30:00Z', 630, 660],
] as const

/** Offset in minutes of start_time and end_time, and whether the answer is in UTC. */
const requests = [
  ['in another offset', 0, 120, false],
  ['whose start_time is in another offset', 330, -60, false],
  ['in Z', 0, 0, true],
  ['with only end_time in Z', 90, 0, true],
] as const

describe.each(changes)('in %s at %s', (zone, text, before, after) => {
  const change = Date.parse(text)
  let home: string
  let device: string

  beforeAll(async () => {
    home = await makeHome(clients.current, {}, { timezone: zone })
    for (const direction of ['IMPORT', 'EXPORT']) await makeOne(clients.current, '/tariffs', hourly(home, direction))
    device = (await makeDevices(clients.current, 1))[0] ?? ''
  })

  it('the clock changes', () =>
    expect([change - 60_000, change].map(at => offsetMinutesAt(zone, at))).toEqual([before, after]))

  describe.each(requests)('a request %s', (_, startOffset, endOffset, isUtc) => {
    const span = (from: number, to: number) => ({
      start_time: writeInstant(change + from, startOffset),
      end_time: writeInstant(change + to, endOffset),
    })
    const query = (body: Readonly<Record<string, string>>) => new URLSearchParams(body).toString()

    /** Expect each instant in its offset, with instants before and after the clock change. */
    const expectOffsets = (data: unknown) => {
      const found = instantsOf(data)
      for (const one of found) {
        const at = Date.parse(one)
        expect(one).toBe(writeInstant(at, isUtc ? 0 : offsetMinutesAt(zone, Math.floor(at / 60_000) * 60_000)))
      }
      const sides = new Set(found.map(one => Date.parse(one) < change))
      expect([found.length > 0, sides.size]).toEqual([true, 2])
    }
    const askData = async (apiVersion: ApiVersion, path: string, body?: object): Promise<unknown> =>
      ((await clients[apiVersion].ask(body === undefined ? 'GET' : 'POST', path, body)) as { readonly data: unknown })
        .data

    it('has prices and audits in the offset of the location at each instant', async () => {
      const body = span(-2 * dayMs, 2 * dayMs)
      for (const path of [`/prices/${home}`, `/audits/prices/${home}`])
        expectOffsets(await askData('current', path, body))
      for (const path of [`/tariffs/rates/${home}`, `/tariffs/audits/${home}`]) {
        expectOffsets(await askData('earlier', `${path}?${query(body)}`))
      }
    })

    it('has the same offsets in a long answer, which the work thread writes', async () => {
      const data = (await askData('current', `/prices/${home}`, span(-44 * dayMs, 45 * dayMs))) as readonly unknown[]
      expect(data.length).toBeGreaterThan(2_000)
      expectOffsets(data)
    })

    it('has the same offsets in schedules', async () => {
      const window = { ...span(-dayMs, dayMs), segment: 'LOW' }
      const cases = [
        ['duration', '/slots/time', { duration: 20 * 60 }],
        ['limit', '/slots/threshold', { absolute: 0.25 }],
      ] as const
      for (const [kind, path, more] of cases) {
        expectOffsets(await askData('current', `/schedules/${kind}/${home}`, { ...window, ...more }))
        const words = Object.fromEntries(
          Object.entries({ ...window, ...more }).map(([name, value]) => [name, String(value)]),
        )
        expectOffsets(await askData('earlier', `${path}/${home}?${query(words)}`))
      }
      const task = {
        device_id: device,
        ...span(-dayMs, dayMs),
        max_power: { units: 'KW', value: 1 },
        energy: { units: 'KWH', value: 20 },
      }
      expectOffsets(await askData('current', `/schedules/amount/${home}`, { data: [task] }))
      expectOffsets(
        await askData('earlier', '/schedules', { location_id: home, data: [{ ...task, direction: 'IMPORT' }] }),
      )
    })

    it('has the same offsets in the cost of a record and of an interval', async () => {
      const { start_time, end_time } = span(-hourMs, hourMs)
      const record = bought(home, 1.5, start_time, end_time)
      expectOffsets(await askData('current', '/costs/instant?non_persistent=true', record))
      expectOffsets(await askData('current', `/costs/interval/${home}`, span(-hourMs, hourMs)))
    })
  })

  it('has the same offsets in a refusal', async () => {
    const bare = await makeHome(clients.current, {}, { timezone: zone })
    const body = { start_time: writeInstant(change - hourMs, 0), end_time: writeInstant(change + hourMs, 120) }
    const { text: refusal } = await clients.current.send('POST', `/prices/${bare}`, body)
    expect(JSON.parse(refusal).message).toContain(`at ${writeInstant(change - hourMs, before)}`)
  })
})

it('has each window of a plan in the offset of its own end_time, and unpriced time as the first window', async () => {
  const home = await makeHome(clients.current, {}, { timezone: 'America/Denver' })
  const start = '2026-11-01T06:00:00Z'
  await makeOne(clients.current, '/tariffs', { ...hourly(home, 'IMPORT'), contract_start_date: start })
  const [one = '', other = ''] = await makeDevices(clients.current, 2)
  const task = {
    start_time: '2026-11-01T05:00:00Z',
    max_power: { units: 'KW', value: 1 },
    energy: { units: 'KWH', value: 1 },
  }
  const plan = (await clients.current.ask('POST', `/schedules/amount/${home}`, {
    data: [
      { ...task, device_id: one, end_time: '2026-11-01T12:00:00+01:00' },
      { ...task, device_id: other, end_time: '2026-11-01T11:00:00Z' },
    ],
  })) as { data: readonly { start_time: string; end_time: string }[]; unpriced: unknown }
  expect(plan.data.map(({ start_time, end_time }) => [start_time, end_time])).toEqual([
    ['2026-10-31T23:00:00-06:00', '2026-11-01T04:00:00-07:00'],
    ['2026-11-01T05:00:00Z', '2026-11-01T11:00:00Z'],
  ])
  expect(plan.unpriced).toEqual([{ start_time: '2026-10-31T23:00:00-06:00', end_time: '2026-11-01T00:00:00-06:00' }])
})
