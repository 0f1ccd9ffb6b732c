import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouse } from '../../services/platform/clickhouse/clickhouse.ts'
import { tokenOf } from '../support/registry/accounts.ts'
import { type Client, login } from '../support/system/client.ts'
import type { OpenBench } from './bench-system.ts'
import { addCharges } from './bills/bill-rows.ts'
import { devices, fillMonths, firstMonth, slotMs, slotsPerMonth, untilMerged } from './fleet/fill-months.ts'
import { bodiesOf, createFleet, type Fleet } from './fleet/fleet.ts'
import { forkLoad } from './fork-load.ts'
import { quantile } from './statistics.ts'

/** Kinds of reads. `months`: all records of a location, by month. */
export const readKinds = ['day', 'month', 'session', 'months', 'account'] as const

/** Median and 99th percentile of a kind of read, in ms. */
export type ReadTimes = { readonly p50: number; readonly p99: number }

/** Times of reads of costs. Promise P7. */
export type ReadFigures = Readonly<Record<(typeof readKinds)[number], ReadTimes>>

const loadSeconds = 53
/** Time for each of the five kinds of reads under load. All end before the load ends. */
const underLoadMs = 9_000

const timesOf = async (times: number, maxMs: number, read: (round: number) => Promise<unknown>): Promise<ReadTimes> => {
  const durations: number[] = []
  const endsAt = performance.now() + maxMs
  for (let round = -3; round < times && performance.now() < endsAt; round += 1) {
    const startedAt = performance.now()
    await read(round)
    if (round >= 0) durations.push(performance.now() - startedAt)
  }
  return { p50: quantile(durations, 0.5) ?? 0, p99: quantile(durations, 0.99) ?? 0 }
}

const iso = (at: number): string => new Date(at).toISOString()

const day = 86_400_000
const rounds = 200
const accountRounds = 30

/** Objects and times that a round reads, the same over HTTP and by hand. */
const subjectsOf = ({ locations, devices: ids }: Fleet, months: number) => {
  const sessions = Math.floor((months * slotsPerMonth) / 16)
  return {
    month: (round: number) => firstMonth + ((round + months) % months) * slotsPerMonth * slotMs,
    device: (round: number) => ids[(round + 17) % devices] ?? '',
    location: (round: number) => locations[(round + 17) % locations.length] ?? '',
    session: (round: number) => `session-${(round + 17) % devices}-${(round * 7 + 50) % sessions}`,
    sessionStart: (round: number) => firstMonth + ((round * 7 + 50) % sessions) * 16 * slotMs,
    all: { start: firstMonth, ms: months * slotsPerMonth * slotMs },
  }
}

const measure = async (
  client: Client,
  account: string,
  fleet: Fleet,
  months: number,
  maxMs: number,
): Promise<ReadFigures> => {
  const { month, device, location, session, all } = subjectsOf(fleet, months)
  const cost = (object: string, start: number, ms: number, query = '') =>
    client.ask('POST', `/costs/interval/${object}${query}`, { start_time: iso(start), end_time: iso(start + ms) })
  const monthMs = slotsPerMonth * slotMs
  return {
    day: await timesOf(rounds, maxMs, round => cost(device(round), month(round) + 5 * day, day)),
    month: await timesOf(rounds, maxMs, round => cost(device(round), month(round), monthMs, '?aggregation=DAY')),
    session: await timesOf(rounds, maxMs, round => client.ask('POST', `/costs/session/${session(round)}`)),
    months: await timesOf(rounds, maxMs, round => cost(location(round), all.start, all.ms, '?aggregation=MONTH')),
    account: await timesOf(accountRounds, maxMs, round => cost(account, month(round), monthMs, '?currency_code=EUR')),
  }
}

/** Measure the engine with sums that are written by hand: the limit of the reads over HTTP. */
const measureByHand = async (db: ClickHouse, account: string, fleet: Fleet, months: number): Promise<ReadFigures> => {
  const { month, device, location, session, sessionStart, all } = subjectsOf(fleet, months)
  const idOf = (id: string): string => `toFixedString(unhex('${id.slice(4)}'), 12)`
  const sum = (condition: string, start: number, ms: number, bucket = '') =>
    db.rows(`SELECT ${bucket === '' ? '' : `${bucket} AS bucket, `}sum(energy), sum(cost) FROM meter_cost FINAL
      WHERE account_id = ${idOf(account)} AND live_mode = false AND ${condition}
        AND start_time >= fromUnixTimestamp64Milli(${start}) AND start_time < fromUnixTimestamp64Milli(${start + ms})
      ${bucket === '' ? '' : 'GROUP BY bucket'}
      SETTINGS max_threads = 2, do_not_merge_across_partitions_select_final = 1`)
  const locationOf = (object: string): string =>
    `location_id = ${idOf(fleet.locations[fleet.devices.indexOf(object) % fleet.locations.length] ?? '')}`
  const isDevice = (object: string): string => `${locationOf(object)} AND device_id = ${idOf(object)}`
  const monthMs = slotsPerMonth * slotMs
  const never = Number.POSITIVE_INFINITY
  return {
    day: await timesOf(rounds, never, round => sum(isDevice(device(round)), month(round) + 5 * day, day)),
    month: await timesOf(rounds, never, round =>
      sum(isDevice(device(round)), month(round), monthMs, 'toDate(start_time)'),
    ),
    session: await timesOf(rounds, never, round =>
      sum(
        `${isDevice(device(round))} AND session_reference_id = '${session(round)}'`,
        sessionStart(round),
        16 * slotMs,
      ),
    ),
    months: await timesOf(rounds, never, round =>
      sum(`location_id = ${idOf(location(round))}`, all.start, all.ms, 'toStartOfMonth(start_time)'),
    ),
    account: await timesOf(accountRounds, never, round => sum('true', month(round), monthMs)),
  }
}

/**
 * Measure reads in months of 1.2 million rows: alone, and during a load of `rate` records/s if it is not null.
 * `byHand`: the engine alone. `charges`: charges of each location.
 */
export const readFigures = async (
  open: OpenBench,
  months: number,
  rate: number | null,
  charges: readonly object[] = [],
): Promise<{ readonly alone: ReadFigures; readonly underLoad: ReadFigures | null; readonly byHand: ReadFigures }> => {
  await using system = await open()
  const account = system.sandbox().account_id
  const owner = await login(system.sandbox())
  const fleet = await createFleet(owner, devices / 2, devices)
  await addCharges(owner, fleet.locations, charges)
  const byHand = await system.fill(async db => {
    await fillMonths(db, account, fleet, months)
    await untilMerged(db)
    return measureByHand(db, account, fleet, months)
  })
  const client = await login(system.sandbox())
  const alone = await measure(client, account, fleet, months, Number.POSITIVE_INFINITY)
  if (rate === null) return { alone, underLoad: null, byHand }
  const { hostname: host, port } = new URL(system.gatewayUrl())
  const load = forkLoad({
    host,
    port: Number(port),
    path: '/meters/interval',
    token: await tokenOf(system.sandbox(), system.sandbox().test_key),
    bodies: bodiesOf(fleet, 400),
    recordsPerBody: 400,
    connections: 4,
    seconds: loadSeconds,
    rate,
    firstSlot: Date.parse('2026-06-01T00:00:00Z'),
    slotMs,
  })
  await sleep(2_000)
  const underLoad = await measure(client, account, fleet, months, underLoadMs)
  await load
  return { alone, underLoad, byHand }
}
