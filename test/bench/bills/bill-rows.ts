import { noOptions } from '../../../services/domain/record/record.ts'
import type { ClickHouse } from '../../../services/platform/clickhouse/clickhouse.ts'
import { meterCostBlock } from '../../../services/platform/clickhouse/encoding/fast-path/meter-cost-block.ts'
import type { MeterCostRow } from '../../../services/platform/clickhouse/meter-cost/meter-cost-row.ts'
import type { Client } from '../../support/system/client.ts'
import { inParallel } from '../../support/system/in-parallel.ts'

/** Rows of each location of an account: `count` records of `lengthMs` one after the other, from `start` (ms) on. */
export type BillRows = {
  readonly accountId: string
  readonly locations: readonly string[]
  readonly start: number
  readonly lengthMs: number
  readonly count: number
}

const rowOf = ({ accountId, start, lengthMs }: BillRows, locationId: string, slot: number): MeterCostRow => {
  const location = Number.parseInt(locationId.slice(-6), 16)
  const from = start + slot * lengthMs
  const energy = BigInt(250_000_000 + ((location * 7919 + slot * 31) % 100_000) * 1000)
  const cost = (energy * 321n) / 1000n
  return {
    accountId,
    liveMode: false,
    energyFlowDirection: 'INBOUND',
    tariffDirection: 'IMPORT',
    status: 'PRICED',
    currency: 'EUR',
    locationId,
    deviceId: null,
    start: from,
    end: from + lengthMs,
    energy,
    cost,
    recordId: slot.toString(16).padStart(24, '0'),
    ...noOptions,
    energySubmitted: null,
    recordConfidence: 1_000_000,
    confidence: 1_000_000,
    tariffIds: [],
    marketSourceIds: [],
    pieces: [{ start: from, end: from + lengthMs, energy, price: 321_000_000n, tier: 0n, cost, confidence: 1_000_000 }],
    pricingRevision: 1,
    priceRevision: 0n,
    batchId: null,
    receivedAt: from,
    isDeleted: false,
    version: BigInt(slot),
    sourceVersion: BigInt(slot),
  }
}

const rowsPerInsert = 40_000

/** Write the cost rows of locations. */
export const insertBillRows = async (db: ClickHouse, rows: BillRows): Promise<void> => {
  let block: MeterCostRow[] = []
  for (const locationId of rows.locations) {
    for (let slot = 0; slot < rows.count; slot += 1) {
      block.push(rowOf(rows, locationId, slot))
      if (block.length < rowsPerInsert) continue
      await db.insert(meterCostBlock(block))
      block = []
    }
  }
  if (block.length > 0) await db.insert(meterCostBlock(block))
}

const demand = { kind: 'DEMAND', per: 'MONTH', distinct_days: true } as const

/** Six charges, of which two are for demand. */
export const sixCharges = [
  { kind: 'FIXED', name: 'Base', price: 9.9, per: 'MONTH' },
  { kind: 'PERCENTAGE', name: 'VAT', rate: 0.19 },
  { kind: 'USAGE', name: 'Levy', price: 0.0205 },
  { ...demand, name: 'Peak', price: 5, interval_minutes: 60, highest: 3 },
  { ...demand, name: 'Quarter hour', price: 2, interval_minutes: 15 },
  { kind: 'MINIMUM', name: 'Minimum', amount: 20, per: 'MONTH' },
]

/** Add charges to each location. */
export const addCharges = (
  client: Client,
  locations: readonly string[],
  charges: readonly object[],
): Promise<readonly unknown[]> =>
  inParallel(
    locations.flatMap(location => charges.map(charge => ({ ...charge, location_id: location }))),
    16,
    charge => client.ask('POST', '/charges', charge),
  )
