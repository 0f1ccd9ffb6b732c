import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { ExactEnergyCost } from '../../support/exact/exact-answers.ts'
import { askExactly } from '../../support/exact/exact-json.ts'
import { cdrFrame } from '../../support/interchange/cdr-frame.ts'
import { parseExactly, units } from '../../support/ledger/exact-decimal.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
const folder = makeTestFolder()
const frameFile = join(folder, 'frame.json')
writeFileSync(frameFile, JSON.stringify(cdrFrame))

const sessions = ['tiers', 'midnight', 'corrected', 'removed-hour', 'clock-change', 'half-a-unit'] as const

/** A day price with tiers, and a night price. The tiers count the energy of the location in the month. */
const schedule = [
  {
    months: ['All'],
    days_and_hours: [
      {
        days: ['All'],
        hours: [
          {
            valid_from: '06:00:00',
            valid_to: '22:00:00',
            rate: [
              { fixed: 0.387654321, to_kwh: 20 },
              { fixed: 0.298765432, to_kwh: 45 },
              { fixed: 0.2111, to_kwh: null },
            ],
          },
          { valid_from: '22:00:00', valid_to: '06:00:00', rate: [{ fixed: 0.1234567, surcharge_percentage: 0.0725 }] },
        ],
      },
    ],
  },
]

const openSessions = async (client: Client): Promise<string> => {
  const location = await makeOne(client, '/locations', { timezone: 'Europe/Amsterdam', currency_code: 'EUR' })
  await makeOne(client, '/tariffs', { location_id: location, direction: 'IMPORT', type: 'COMMODITY', schedule })
  const device = await makeOne(client, '/devices', { reference_id: 'charger' })
  const record = (reference: (typeof sessions)[number], kwh: number, start: string, end: string, more: object = {}) =>
    bought(location, kwh, `2026-${start}:00Z`, `2026-${end}:00Z`, { session_reference_id: reference, ...more })
  const hour = { record_reference_id: 'hour' }
  const charger = { device_id: device }
  await client.submit([
    // The third record of the session crosses the bounds at 20 and 45 kWh.
    record('tiers', 7.123457, '03-02T09:00', '03-02T10:00', charger),
    record('tiers', 6.000001, '03-02T10:00', '03-02T10:17', charger),
    record('tiers', 41.333333, '03-02T10:17', '03-02T14:00', charger),
    record('midnight', 11.111111, '03-02T20:13', '03-02T22:47'),
    record('midnight', 9.87, '03-02T22:47', '03-03T05:31'),
    record('corrected', 3.3, '03-04T12:00', '03-04T13:00', hour),
    record('removed-hour', 4.4, '03-05T12:00', '03-05T13:00'),
    record('removed-hour', 2.0203, '03-05T13:00', '03-05T14:00'),
    record('clock-change', 5.000003, '03-29T00:30', '03-29T05:10'),
  ])
  await client.submit([
    record('corrected', 8.000007, '03-04T12:00', '03-04T13:00', hour),
    record('removed-hour', 0, '03-05T12:00', '03-05T13:00'),
  ])
  return location
}

/** A price of 0.0005 gives a cost that ends with half of OCPI's last digit. */
const openHalfUnit = async (client: Client): Promise<string> => {
  const location = await makeHome(client, { import: 0.0005 })
  const session = { session_reference_id: 'half-a-unit' }
  await client.submit([
    bought(location, 0.05, '2026-03-06T10:00:00Z', '2026-03-06T10:20:00Z', session),
    bought(location, 0.05, '2026-03-06T10:20:00Z', '2026-03-06T10:40:00Z', session),
  ])
  return location
}

type Price = { readonly excl_vat?: string; readonly before_taxes?: string }

/** Charge detail record. All numbers are texts with the digits of the JSON. */
type Cdr = {
  readonly session_id: string
  readonly total_cost: Price
  readonly total_energy_cost: Price
  readonly total_energy: string
  readonly charging_periods: readonly {
    readonly dimensions: readonly { readonly type: string; readonly volume: string }[]
  }[]
}

/** Round units of 1e-9 to units of 1e-4, halves up. */
const toFourDecimals = (nano: bigint): bigint => (nano + 50_000n) / 100_000n

const sum = (values: readonly bigint[]): bigint => values.reduce((total, one) => total + one, 0n)

type Amounts = { readonly cost: string; readonly energyWh: string }

const sessionAmounts = async (client: Client, reference: string): Promise<Amounts> => {
  const { data } = await askExactly<ExactEnergyCost>(client, 'POST', `/costs/session/${reference}`)
  return { cost: data[0]?.tariff.cost.value ?? 'none', energyWh: data[0]?.energy.value ?? 'none' }
}

const exportCdrs = async (version: string, options: readonly string[] = []) => {
  const file = join(makeTestFolder(), 'cdrs.json')
  const { base_url: baseUrl, test_key: key } = system.sandbox()
  const period = ['--from', '2026-03-01', '--to', '2026-04-01', ...options]
  const args = ['export', 'costs', '--format', `ocpi-cdr-${version}`, '--frame', frameFile, ...period, '--out', file]
  const variables = { WATTLEDGER_API_KEY: key, WATTLEDGER_DATA_DIR: folder }
  const { code, err } = await runCommand([...args, '--base-url', baseUrl], variables)
  expect([code, err]).toEqual([0, ''])
  const { sums } = JSON.parse(readFileSync(`${file}.manifest.json`, 'utf8')) as {
    readonly sums: { readonly energy_wh: string; readonly cost: Readonly<Record<string, string>> }
  }
  const written: Amounts = { cost: sums.cost['EUR'] ?? 'none', energyWh: sums.energy_wh }
  return { cdrs: parseExactly(readFileSync(file, 'utf8')) as readonly Cdr[], written }
}

describe('amounts of charge detail records', () => {
  let client: Client
  const api = new Map<string, Amounts>()
  beforeAll(async () => {
    client = await system.login()
    await openSessions(client)
    await openHalfUnit(client)
    for (const one of sessions) api.set(one, await sessionAmounts(client, one))
  })
  const amountsOf = (reference: string): Amounts => api.get(reference) ?? { cost: 'none', energyWh: 'none' }

  it('of the API are those of the arithmetic', () => {
    // Corrected, with all tiers used: 8.000007 kWh × 0.2111 = 1.6888014777.
    expect(amountsOf('corrected')).toEqual({ cost: '1.688801478', energyWh: '8000.007' })
    // Two records of 0.05 kWh × 0.0005 = 0.000025.
    expect(amountsOf('half-a-unit')).toEqual({ cost: '0.00005', energyWh: '100' })
    // The first hour counts 0 after its correction: 2.0203 kWh × 0.2111 = 0.42648533.
    expect(amountsOf('removed-hour')).toEqual({ cost: '0.42648533', energyWh: '2020.3' })
  })

  it.each(['2.2.1', '2.3.0'])('of OCPI %s are those of the sessions in the API, to the last digit', async version => {
    const { cdrs, written } = await exportCdrs(version)
    expect(cdrs.map(one => one.session_id).sort()).toEqual([...sessions].sort())
    for (const { session_id: reference, total_energy_cost: ofEnergy, total_cost: whole, ...cdr } of cdrs) {
      const { cost, energyWh } = amountsOf(reference)
      const prices = [ofEnergy, whole].map(one => units(one.excl_vat ?? one.before_taxes ?? '', 4))
      const expectedPrice = toFourDecimals(units(cost, 9))
      expect([reference, ...prices]).toEqual([reference, expectedPrice, expectedPrice])
      const volumes = cdr.charging_periods.flatMap(({ dimensions }) => dimensions.filter(one => one.type === 'ENERGY'))
      // Energy in 1e-6 Wh is energy in 1e-9 kWh.
      const expectedEnergy = toFourDecimals(units(energyWh, 6))
      expect([reference, units(cdr.total_energy, 4)]).toEqual([reference, expectedEnergy])
      expect([reference, sum(volumes.map(one => units(one.volume, 4)))]).toEqual([reference, expectedEnergy])
    }
    expect(units(written.cost, 9)).toBe(sum(sessions.map(one => units(amountsOf(one).cost, 9))))
    expect(units(written.energyWh, 6)).toBe(sum(sessions.map(one => units(amountsOf(one).energyWh, 6))))
  })

  it('of one session have all digits of its cost in the manifest', async () => {
    for (const reference of sessions) {
      const { cdrs, written } = await exportCdrs('2.2.1', ['--session', reference])
      expect(cdrs.map(one => one.session_id)).toEqual([reference])
      expect(written).toEqual(amountsOf(reference))
    }
  })
})
