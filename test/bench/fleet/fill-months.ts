import { setTimeout as sleep } from 'node:timers/promises'
import { noOptions } from '../../../services/domain/record/record.ts'
import type { ClickHouse } from '../../../services/platform/clickhouse/clickhouse.ts'
import { meterCostBlock } from '../../../services/platform/clickhouse/encoding/fast-path/meter-cost-block.ts'
import type { MeterCostRow } from '../../../services/platform/clickhouse/meter-cost/meter-cost-row.ts'
import type { Fleet } from './fleet.ts'

/** Devices of a filled fleet. */
export const devices = 400
export const slotMs = 900_000
export const firstMonth = Date.UTC(2025, 0, 1)
const hex = (value: number): string => value.toString(16).padStart(24, '0')

/** Return the digits of an id without order, different for each number below 2^32. */
const recordIdOf = (index: number): string =>
  [0x9e37_79b1, 0x85eb_ca6b, 0xc2b2_ae35]
    .map(factor => (Math.imul(index, factor) >>> 0).toString(16).padStart(8, '0'))
    .join('')

/** Return the row of a device and a quarter hour. The 400 devices have some 1.2 million rows in 30 days. */
const rowOf = (account: string, fleet: Fleet, device: number, slot: number): MeterCostRow => {
  const start = firstMonth + slot * slotMs
  const energy = BigInt(250_000_000 + ((device * 7919 + slot * 31) % 100_000) * 1000)
  const cost = (energy * 321n) / 1000n
  return {
    accountId: account,
    liveMode: false,
    energyFlowDirection: 'INBOUND',
    tariffDirection: 'IMPORT',
    status: 'PRICED',
    currency: 'EUR',
    locationId: fleet.locations[device % fleet.locations.length] ?? '',
    deviceId: fleet.devices[device] ?? '',
    start,
    end: start + slotMs,
    energy,
    cost,
    recordId: recordIdOf(slot * devices + device),
    ...noOptions,
    sessionReferenceId: `session-${device}-${Math.floor(slot / 16)}`,
    energySubmitted: null,
    recordConfidence: 1_000_000,
    confidence: 1_000_000,
    pieces: [{ start, end: start + 900_000, energy, price: 321_000_000n, tier: 0n, cost, confidence: 1_000_000 }],
    tariffIds: [`trf_${hex(device % 64)}`],
    marketSourceIds: [],
    pricingRevision: 1,
    priceRevision: 0n,
    batchId: null,
    receivedAt: start,
    isDeleted: false,
    version: BigInt(slot * devices + device),
    sourceVersion: BigInt(slot * devices + device),
  }
}

export const slotsPerMonth = 3_000
const slotsPerInsert = 100
/** Rows that `fillMonths` inserts for each month. */
export const rowsPerMonth = slotsPerMonth * devices

/** Months that are written row by row. The engine copies them for more months. */
const writtenMonths = 10

/** Insert the rows of some months for a fleet of 400 devices, as the cost worker writes them. */
const writeMonths = async (db: ClickHouse, account: string, fleet: Fleet, months: number): Promise<void> => {
  for (let slot = 0; slot < months * slotsPerMonth; slot += slotsPerInsert) {
    const rows: MeterCostRow[] = []
    for (let i = slot; i < slot + slotsPerInsert; i += 1)
      for (let device = 0; device < devices; device += 1) rows.push(rowOf(account, fleet, device, i))
    await db.insert(meterCostBlock(rows))
  }
}

/** Copy the rows of one written month to a later time. */
const copyMonth = async (db: ClickHouse, month: number, copy: number): Promise<void> => {
  const slots = copy * writtenMonths * slotsPerMonth
  const [from, to] = [month, month + 1].map(at => firstMonth + at * slotsPerMonth * slotMs)
  const later = (column: string): string => `${column} + toIntervalMillisecond(${slots * slotMs}) AS ${column}`
  const session = `splitByChar('-', session_reference_id)`
  await db.command(`INSERT INTO meter_cost SELECT * REPLACE(
      toFixedString(substring(MD5(concat(record_id, '${copy}')), 1, 12), 12) AS record_id,
      concat('session-', ${session}[2], '-', toString(toUInt32(${session}[3]) + ${slots / 16})) AS session_reference_id,
      ${later('start_time')}, ${later('end_time')})
    FROM meter_cost
    WHERE meter_cost.start_time >= fromUnixTimestamp64Milli(${from}) AND meter_cost.start_time < fromUnixTimestamp64Milli(${to})
    SETTINGS max_threads = 1, max_insert_threads = 1, max_block_size = 65536`)
}

/**
 * Insert the rows of some months for a fleet of 400 devices: at most 10, or a multiple of 10. More than 10 are copied in
 * the engine and merged into one part for each month, as months are after two days without new rows.
 */
export const fillMonths = async (db: ClickHouse, account: string, fleet: Fleet, months: number): Promise<void> => {
  if (months > writtenMonths && months % writtenMonths !== 0)
    throw new RangeError(`The number of months must be at most 10, or a multiple of 10, not ${months}.`)
  await writeMonths(db, account, fleet, Math.min(months, writtenMonths))
  if (months <= writtenMonths) return
  for (let copy = 1; copy < months / writtenMonths; copy += 1)
    for (let month = 0; month < writtenMonths; month += 1) await copyMonth(db, month, copy)
  await untilMerged(db)
  await db.command('OPTIMIZE TABLE meter_cost FINAL')
}

/** Wait until the engine has merged the new parts: merges would take CPU time from the measurement. */
export const untilMerged = async (db: ClickHouse): Promise<void> => {
  for (let isMerging = true; isMerging; ) {
    await sleep(500)
    isMerging = (await db.rows('SELECT 1 FROM system.merges')).length > 0
  }
}
