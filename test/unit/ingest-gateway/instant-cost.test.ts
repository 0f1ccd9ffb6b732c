import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startCostWorker } from '../../../services/cost-worker/worker.ts'
import { currentInstant } from '../../../services/platform/clock.ts'
import type { TariffDraft } from '../../../services/platform/postgres/pricing/tariff-row.ts'
import { createTariff } from '../../../services/platform/postgres/pricing/tariffs.ts'
import { type Tenant, withTenant } from '../../../services/platform/postgres/transaction.ts'
import { pricingCache } from '../../../services/platform/pricing-cache/pricing-cache.ts'
import { createLogger } from '../../../services/platform/telemetry/logger.ts'
import { createMetrics } from '../../../services/platform/telemetry/metrics.ts'
import { timeZone } from '../../../services/platform/time-zone.ts'
import { acceptedValue } from '../../support/accepted-value.ts'
import {
  callAs,
  type Gateway,
  makeObjects,
  openGateway,
  readPartitions,
  recordsOf,
} from '../../support/metering/gateway.ts'
import { tariffDraft } from '../../support/registry/drafts.ts'
import type { Call } from '../../support/registry/service.ts'
import { makeTenants } from '../../support/stores/postgres.ts'

let gateway: Gateway
let live: Tenant
let call: Call

beforeAll(async () => {
  gateway = await openGateway()
  live = (await makeTenants(gateway.database)).live
  call = callAs(gateway.app, live)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const always = (rate: readonly { fixed: bigint; to: bigint | null }[]) => [
  {
    months: ['All'] as const,
    dates: [],
    daysAndHours: [
      {
        days: ['All'] as const,
        hours: [
          {
            validFrom: 0,
            validTo: 86_400,
            rate: rate.map(one => ({ ...one, surchargeFixed: 0n, surchargePercentage: 0n })),
          },
        ],
      },
    ],
  },
]

/** A location whose import costs 0.30 per kWh, or 0.20 up to 100 kWh a month and 0.30 beyond. */
const home = async (reference: string, tiered: boolean | null) => {
  const objects = await makeObjects(gateway, live, reference)
  if (tiered !== null) {
    const upper = { fixed: 300_000_000n, to: null }
    const schedule = always(tiered ? [{ fixed: 200_000_000n, to: 100_000_000_000n }, upper] : [upper])
    acceptedValue(
      await withTenant(gateway.database, live, transaction =>
        createTariff(transaction, tariffDraft(objects.locationId, { schedule }), currentInstant()),
      ),
    )
  }
  return objects
}

const record = (locationId: string, change: object = {}) => ({
  location_id: locationId,
  units: 'KWH',
  value: 1.25,
  start_time: '2026-01-10T12:00:00+01:00',
  end_time: '2026-01-10T12:15:00+01:00',
  ...change,
})
const recordCount = async () => recordsOf(await readPartitions(gateway), null).length

describe('a record without tiers', () => {
  it('has the cost of its tariff at once, and is stored through its partition', async () => {
    const { locationId, deviceId } = await home('flat', false)
    const before = await recordCount()
    const answer = await call(
      'POST',
      '/costs/instant',
      record(locationId, { device_id: deviceId, record_reference_id: 'r' }),
    )
    // 1.25 kWh × 0.30 = 0.375
    expect(answer.body).toMatchObject({
      object: 'meter_record',
      live_mode: true,
      currency_code: 'EUR',
      energy_units: 'WH',
      energy_flow_direction: 'INBOUND',
      tariff_direction: 'IMPORT',
      request: { location_id: locationId, units: 'KWH', value: 1.25, confidence: 1, non_persistent: false },
      data: {
        start_time: '2026-01-10T12:00:00+01:00',
        end_time: '2026-01-10T12:15:00+01:00',
        record_reference_id: 'r',
        energy: { value: 1250 },
        tariff: { cost: { value: 0.375, confidence: 1 } },
      },
    })
    expect(Object.keys(answer.body['request'] as object)).not.toContain('include_tariff')
    expect(await recordCount()).toBe(before + 1)
  })

  it('has the published form of the earlier API version', async () => {
    const { locationId } = await home('flat-earlier', false)
    const send = (search: string) =>
      call('POST', `/costs/instant?non_persistent=true${search}`, record(locationId, { direction: 'IMPORT' }), {
        'api-version': '2024-08-24',
      })
    const { body } = await send('&include_carbon=1')
    expect(body).toMatchObject({
      direction: 'IMPORT',
      tariff_rate: 'IMPORT',
      carbon_units: 'gCO2eq',
      request: {
        direction: 'IMPORT',
        tariff_rate: 'IMPORT',
        include_tariff: true,
        include_carbon: true,
        non_persistent: true,
      },
      data: { tariff: { value: 0.375, confidence: 1 } },
    })
    expect((await send('&include_tariff=false')).body['data']).not.toHaveProperty('tariff')
    expect((await call('POST', '/costs/instant?include_tariff=false', record(locationId))).status).toBe(400)
  })

  it('writes nothing when it is non_persistent', async () => {
    const { locationId } = await home('flat-simulated', false)
    const before = await recordCount()
    const answer = await call('POST', '/costs/instant?non_persistent=True', record(locationId))
    expect([answer.status, await recordCount()]).toEqual([200, before])
  })

  it('has one id with the same record of a submission', async () => {
    const { locationId } = await home('flat-twice', false)
    const instant = await call('POST', '/costs/instant', record(locationId))
    const batch = await call('PUT', '/meters/interval', [record(locationId)])
    const [submitted] = recordsOf(await readPartitions(gateway), String(batch.body['id']))
    expect(instant.body['id']).toBe(`mre_${submitted?.recordId}`)
  })
})

describe('a record without a price', () => {
  it('is refused, says what to post, and is not stored', async () => {
    const { locationId } = await home('bare', null)
    const before = await recordCount()
    const answer = await call('POST', '/costs/instant', record(locationId))
    expect([answer.status, answer.body['code']]).toEqual([422, 'no_tariff_connected'])
    expect(answer.body['message']).toMatch(/IMPORT .*post one to \/tariffs /)
    expect(await recordCount()).toBe(before)
  })

  it('names the object that does not exist', async () => {
    const { locationId } = await home('lone', false)
    const wrong = [
      [{ location_id: 'loc_ffffffffffffffffffffffff' }, 'location_not_found', 'location_id'],
      [{ device_id: 'dev_ffffffffffffffffffffffff' }, 'device_not_found', 'device_id'],
    ] as const
    for (const [change, code, field] of wrong) {
      const { status, body } = await call('POST', '/costs/instant', record(locationId, change))
      expect([status, body['code'], body['field']]).toEqual([400, code, field])
    }
  })
})

describe('a record with tiers', () => {
  const at = (minutes: number, value: number) => ({
    value,
    start_time: new Date(Date.UTC(2026, 0, 12) + minutes * 60_000).toISOString(),
    end_time: new Date(Date.UTC(2026, 0, 12) + minutes * 60_000 + 900_000).toISOString(),
  })

  it('counts every record acknowledged before; without a worker it is accepted and 503', async () => {
    const { locationId } = await home('tiered', true)
    const late = await call('POST', '/costs/instant', record(locationId, at(0, 90)))
    expect([late.status, late.body['code']]).toEqual([503, 'unavailable'])
    const { log, codec, clickHouse, database, pricing } = gateway
    await using _ = await startCostWorker({
      log,
      codec,
      clickHouse,
      database,
      pricing,
      requestRecosts: async () => undefined,
      failing: { share: 1, minLocations: 1 },
      metrics: createMetrics(),
      logger: createLogger('error'),
      at: currentInstant,
    })
    const costOf = async (search: string, change: object) => {
      const { status, body } = await call('POST', `/costs/instant${search}`, record(locationId, change))
      const data = body['data'] as { readonly tariff: { readonly cost: { readonly value: number } } }
      return [status, data?.tariff.cost.value]
    }
    // 90 kWh are counted, so 10 of the 30 kWh are below the bound: 10 × 0.20 + 20 × 0.30 = 8
    expect(await costOf('?non_persistent=true', at(15, 30))).toEqual([200, 8])
    expect(await costOf('', at(15, 30))).toEqual([200, 8])
    // The same again counts once.
    expect(await costOf('', at(15, 30))).toEqual([200, 8])
    // An earlier record is priced in its own place, below the bound: 5 × 0.20 = 1
    expect(await costOf('?non_persistent=true', at(-15, 5))).toEqual([200, 1])
    // All 120 kWh are counted by now: 10 × 0.30 = 3
    expect(await costOf('', at(30, 10))).toEqual([200, 3])
  })

  it('has the newest tariffs before their recost request arrives, with or without a change of price', async () => {
    const { locationId } = await home('changed', true)
    const { log, codec, clickHouse, database } = gateway
    await using _ = await startCostWorker({
      log,
      codec,
      clickHouse,
      database,
      metrics: createMetrics(),
      logger: createLogger('error'),
      at: currentInstant,
      // A process of its own keeps prices of its own until an order comes.
      pricing: pricingCache(database, timeZone),
      requestRecosts: async () => undefined,
      failing: { share: 1, minLocations: 1 },
    })
    const costOf = async (change: object) => {
      const { status, body } = await call('POST', '/costs/instant', record(locationId, change))
      return [status, (body['data'] as { tariff: { cost: { value: number } } } | undefined)?.tariff.cost.value]
    }
    const add = (draft: Partial<TariffDraft>) =>
      withTenant(database, live, transaction =>
        createTariff(transaction, tariffDraft(locationId, draft), currentInstant()),
      )
    // 90 kWh are below the bound: 90 × 0.20 = 18
    expect(await costOf(at(0, 90))).toEqual([200, 18])
    const gridFee = always([{ fixed: 100_000_000n, to: null }])
    expect(await add({ type: 'NON_COMMODITY', contractStart: Date.UTC(2027, 0, 1), schedule: gridFee })).toMatchObject({
      ok: true,
    })
    // 10 below the bound and 10 above: 10 × 0.20 + 10 × 0.30 = 5
    expect(await costOf(at(15, 20))).toEqual([200, 5])
    const span = { contractStart: Date.UTC(2026, 0, 1), contractEnd: Date.UTC(2027, 0, 1) }
    expect(await add({ type: 'NON_COMMODITY', ...span, schedule: gridFee })).toMatchObject({ ok: true })
    // 10 × (0.30 + 0.10) = 4
    expect(await costOf(at(30, 10))).toEqual([200, 4])
  })
})
