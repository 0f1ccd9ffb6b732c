import { stripVTControlCharacters } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { columnChart } from '../../../services/command-line/price-chart.ts'
import { zoneOf } from '../../support/oracle/zone.ts'
import { makeHome, makeOne } from '../../support/system/home.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
const variables = { WATTLEDGER_DATA_DIR: system.folder }
let home = ''

beforeAll(async () => {
  const client = await system.login()
  // A zone without clock changes, so that its day always has the same hours.
  home = await makeHome(client, {}, { timezone: 'Asia/Tokyo' })
  const band = (from: string, to: string, fixed: number) => ({ valid_from: from, valid_to: to, rate: [{ fixed }] })
  const hours = [band('00:00:00', '12:00:00', 0.2), band('12:00:00', '00:00:00', 0.4)]
  const schedule = [{ months: ['All'], days_and_hours: [{ days: ['All'], hours }] }]
  await makeOne(client, '/tariffs', { location_id: home, direction: 'IMPORT', type: 'COMMODITY', schedule })
})

describe('wattledger prices', () => {
  it('draws one day from the current hour, with the lowest and the highest price', async () => {
    const { code, out, err } = await runCommand(['prices', home], variables)
    expect([code, err]).toEqual([0, ''])
    const text = stripVTControlCharacters(out)
    expect(text).toContain(`IMPORT prices of ${home}, EUR per kWh, time zone Asia/Tokyo`)
    const [highest = ''] = text.match(/(?<= {2}0\.4000 │).*/) ?? []
    expect([...highest].filter(cell => cell === '█')).toHaveLength(24)
    expect(text).toMatch(/ {2} {5}0 ┼─{48}\n/)
    expect(text).toMatch(/lowest +0\.2 {2}.*00 to .*00\n +highest +0\.4 .*\n +mean +0\.3000/)
  })

  it('prints the JSON answer for scripts', async () => {
    const { code, out } = await runCommand(
      ['prices', home, '--hours', '2', '--direction', 'LOCAL', '--json'],
      variables,
    )
    const { object, tariff_direction, data } = JSON.parse(out) as {
      object: string
      tariff_direction: string
      data: { price: object }[]
    }
    expect([code, object, tariff_direction, data.map(({ price }) => price)]).toEqual([
      0,
      'price',
      'LOCAL',
      [{ value: 0, confidence: 1 }],
    ])
  })

  it.each([
    [['prices'], 2, 'LOCATION is missing'],
    [['prices', 'loc_1', '--hours', '1.5'], 2, '--hours must be a whole number from 1 to 2160, not "1.5"'],
    [['prices', 'loc_1', '--hours', '2161'], 2, '--hours must be a whole number'],
    [['prices', 'loc_1', '--direction', 'OUT'], 2, '--direction must be one of IMPORT, EXPORT, LOCAL'],
    [['prices', 'loc_1'], 1, 'No location has this id'],
  ])('%j exits with code %i and the reason', async (args, expected, reason) => {
    const { code, err } = await runCommand(args, variables)
    expect([code, err]).toEqual([expected, expect.stringContaining(reason)])
  })

  it('says what to do if there is no tariff', async () => {
    const { code, err } = await runCommand(['prices', home, '--direction', 'EXPORT'], variables)
    expect([code, err]).toEqual([1, expect.stringContaining('post one to /tariffs with direction EXPORT')])
  })
})

describe('a chart in the terminal', () => {
  const start = Date.UTC(2026, 10, 20, 23)
  const hour = 3_600_000
  const chartOf = (values: readonly number[], marks: readonly (readonly [number, number])[] = []): readonly string[] =>
    stripVTControlCharacters(
      columnChart(
        values.map((value, index) => ({ start: start + index * hour, end: start + (index + 1) * hour, value })),
        zoneOf('Europe/Berlin'),
        marks.map(([from, to]) => ({ start: start + from * hour, end: start + to * hour })),
      ),
    ).split('\n')

  it('has columns above and below the zero line, and marks under them', () => {
    expect(chartOf([4, 2, -4, 0, 4], [[1, 3]])).toEqual([
      '   4.0000 │████            ████',
      '          │████            ████',
      '          │████████        ████',
      '          │████████        ████',
      '        0 ┼────────────────────',
      '          │        ████',
      '          │        ████',
      '          │        ████',
      '  -4.0000 │        ████',
      '               ━━━━━━━━',
      '           00:00       03:00',
    ])
  })

  it('is never wider than the terminal', () => {
    for (const hours of [1, 5, 16, 24, 33, 64, 65, 200, 2160]) {
      const lines = chartOf(Array.from({ length: hours }, (_, index) => 0.1 + (index % 7) / 100))
      expect(Math.max(...lines.map(line => [...line].length))).toBeLessThanOrEqual(80)
    }
    expect(chartOf([])).toEqual([''])
  })
})
