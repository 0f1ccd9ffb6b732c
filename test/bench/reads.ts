import { setTimeout as sleep } from 'node:timers/promises'
import { noTexts } from '../../services/domain/record/record.ts'
import type { ClickHouse } from '../../services/platform/clickhouse/clickhouse.ts'
import { meterCostBlock } from '../../services/platform/clickhouse/encoding/fast-path/meter-cost-block.ts'
import type { MeterCostRow } from '../../services/platform/clickhouse/meter-cost/meter-cost-row.ts'
import { tokenOf } from '../support/registry/accounts.ts'
import { type Client, login } from '../support/system/client.ts'
import type { OpenBench } from './bench-system.ts'
import { addCharges } from './bills/bill-rows.ts'
import { bodiesOf, createFleet, type Fleet } from './fleet.ts'
import { forkLoad } from './fork-load.ts'
import { quantile } from './statistics.ts'

/** 99th percentiles of reads of costs over HTTP, in ms. Promise P7. */
export type ReadFigures = Readonly<Record<'day' | 'month' | 'session' | 'account', number>>

const devices = 400
const slotMs = 900_000
const firstMonth = Date.UTC(2025, 0, 1)
const hex = (value: number): string => value.toString(16).padStart(24, '0')

/** Return the row of a device and a quarter hour. The 400 devices have some 1.2 million rows in 30 days. */
const rowOf = (account: string, fleet: Fleet, device: number, slot: number): MeterCostRow => {
  const start = firstMonth + slot * slotMs
  const energy = BigInt(250_000_000 + ((device * 7919 + slot * 31) % 100_000) * 1000)
  const cost = (energy * 321n) / 1000n
  return {
    ...{
      accountId: account,
      liveMode: false,
      energyFlowDirection: 'INBOUND',
      tariffDirection: 'IMPORT',
      status: 'PRICED',
      currency: 'EUR',
    },
    locationId: fleet.locations[device % fleet.locations.length] ?? '',
    deviceId: fleet.devices[device] ?? '',
    ...{ start, end: start + slotMs, energy, cost },
    recordId: hex(slot * devices + device),
    ...noTexts,
    sessionReferenceId: `session-${device}-${Math.floor(slot / 16)}`,
    energySubmitted: null,
    recordConfidence: 1_000_000,
    confidence: 1_000_000,
    pieces: [{ start, energy, price: 321_000_000n, tier: 0n, cost, confidence: 1_000_000 }],
    ...{
      tariffIds: [],
      marketSourceIds: [],
      pricingRevision: 1,
      priceRevision: 0n,
      batchId: null,
      receivedAt: start,
      isDeleted: false,
    },
    version: BigInt(slot * devices + device),
    sourceVersion: BigInt(slot * devices + device),
  }
}

const slotsPerMonth = 3_000
const slotsPerInsert = 100

/** Insert the rows of some months, as the cost worker writes them. */
const fill = async (db: ClickHouse, account: string, fleet: Fleet, months: number): Promise<void> => {
  for (let slot = 0; slot < months * slotsPerMonth; slot += slotsPerInsert) {
    const rows: MeterCostRow[] = []
    for (let i = slot; i < slot + slotsPerInsert; i += 1)
      for (let device = 0; device < devices; device += 1) rows.push(rowOf(account, fleet, device, i))
    await db.insert(meterCostBlock(rows))
  }
}

const loadSeconds = 44
/** Time for each of the four kinds of reads under load. All four end before the load ends. */
const underLoadMs = 9_000

const p99 = async (times: number, maxMs: number, read: (round: number) => Promise<unknown>): Promise<number> => {
  const durations: number[] = []
  const endsAt = performance.now() + maxMs
  for (let round = -3; round < times && performance.now() < endsAt; round += 1) {
    const startedAt = performance.now()
    await read(round)
    if (round >= 0) durations.push(performance.now() - startedAt)
  }
  return quantile(durations, 0.99) ?? 0
}

const iso = (at: number): string => new Date(at).toISOString()

const measure = async (
  client: Client,
  account: string,
  fleet: Fleet,
  months: number,
  maxMs: number,
): Promise<ReadFigures> => {
  const monthAt = (round: number): number => firstMonth + ((round + months) % months) * slotsPerMonth * slotMs
  const device = (round: number): string => fleet.devices[(round + 17) % devices] ?? ''
  const cost = (object: string, start: number, ms: number, query = '') =>
    client.ask('POST', `/costs/interval/${object}${query}`, { start_time: iso(start), end_time: iso(start + ms) })
  const day = 86_400_000
  const sessions = Math.floor((months * slotsPerMonth) / 16)
  return {
    day: await p99(200, maxMs, round => cost(device(round), monthAt(round) + 5 * day, day)),
    month: await p99(200, maxMs, round =>
      cost(device(round), monthAt(round), slotsPerMonth * slotMs, '?aggregation=DAY'),
    ),
    session: await p99(200, maxMs, round =>
      client.ask('POST', `/costs/session/session-${(round + 17) % devices}-${(round * 7 + 50) % sessions}`),
    ),
    account: await p99(30, maxMs, round => cost(account, monthAt(round), slotsPerMonth * slotMs, '?currency_code=EUR')),
  }
}

/** Measure reads in months of 1.2 million rows: alone, and during a load of `rate` records/s if it is not null.
 * `charges`: charges of each location. */
export const readFigures = async (
  open: OpenBench,
  months: number,
  rate: number | null,
  charges: readonly object[] = [],
): Promise<{ readonly alone: ReadFigures; readonly underLoad: ReadFigures | null }> => {
  await using system = await open()
  const account = system.sandbox().account_id
  const owner = await login(system.sandbox())
  const fleet = await createFleet(owner, devices / 2, devices)
  await addCharges(owner, fleet.locations, charges)
  await system.fill(db => fill(db, account, fleet, months))
  const client = await login(system.sandbox())
  const alone = await measure(client, account, fleet, months, Number.POSITIVE_INFINITY)
  if (rate === null) return { alone, underLoad: null }
  const { hostname: host, port } = new URL(system.gatewayUrl())
  const load = forkLoad({
    ...{
      host,
      port: Number(port),
      path: '/meters/interval',
      token: await tokenOf(system.sandbox(), system.sandbox().test_key),
    },
    ...{ bodies: bodiesOf(fleet, 400), recordsPerBody: 400, connections: 4, seconds: loadSeconds, rate },
    ...{ firstSlot: Date.parse('2026-06-01T00:00:00Z'), slotMs },
  })
  await sleep(2_000)
  const underLoad = await measure(client, account, fleet, months, underLoadMs)
  await load
  return { alone, underLoad }
}
