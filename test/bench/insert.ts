import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { noOptions } from '../../services/domain/record/record.ts'
import { openChdb } from '../../services/platform/clickhouse/chdb.ts'
import { meterCostBlock } from '../../services/platform/clickhouse/encoding/fast-path/meter-cost-block.ts'
import type { MeterCostRow } from '../../services/platform/clickhouse/meter-cost/meter-cost-row.ts'
import { applySchemas, schemaFiles } from '../../services/platform/clickhouse/schemas.ts'
import { dataFolder } from '../support/system/running-system.ts'
import { removeAfterRun } from './data-folders.ts'

/**
 * Inserted rows per second without and with the time to encode rows. `bytesPerRow` is the size on disk after merges.
 */
export type InsertFigures = { readonly engine: number; readonly withEncoding: number; readonly bytesPerRow: number }

const rowsPerStep = 10_000

const rowOf = (index: number, step: number): MeterCostRow => {
  const digits = (value: number): string => value.toString(16).padStart(24, '0')
  const start = Date.UTC(2025, 0, 1) + step * 900_000
  const energy = BigInt(250_000_000 + ((index * 7919) % 100_000) * 1000)
  const cost = (energy * 321n) / 1000n
  return {
    accountId: `acc_${digits(1)}`,
    liveMode: false,
    locationId: `loc_${digits(index >> 1)}`,
    deviceId: `dev_${digits(index)}`,
    energyFlowDirection: 'INBOUND',
    tariffDirection: 'IMPORT',
    start,
    end: start + 900_000,
    recordId: ((index * 2_654_435_761 + step * 40_503) >>> 0).toString(16).padStart(8, '0').repeat(3),
    ...noOptions,
    energy,
    energySubmitted: null,
    recordConfidence: 1_000_000,
    status: 'PRICED',
    cost,
    currency: 'EUR',
    confidence: 1_000_000,
    pieces: [{ start, end: start + 900_000, energy, price: 321_000_000n, tier: 0n, cost, confidence: 1_000_000 }],
    tariffIds: [`trf_${digits(index % 64)}`],
    marketSourceIds: [],
    pricingRevision: 1,
    priceRevision: 0n,
    batchId: `bat_${digits(step)}`,
    version: BigInt(step * rowsPerStep + index),
    sourceVersion: BigInt(step * rowsPerStep + index),
    receivedAt: start,
    isDeleted: false,
  }
}

/** Measure inserts of 10,000 rows each, and the encoding of these rows. Promise P5, and the storage of P10. */
export const insertRates = async (steps = 40): Promise<InsertFigures> => {
  const folder = dataFolder()
  mkdirSync(folder, { recursive: true })
  const db = openChdb({ folder: join(folder, 'clickhouse') })
  try {
    await applySchemas(db, schemaFiles())
    let engineMs = 0
    let totalMs = 0
    for (let step = 0; step < steps; step += 1) {
      const rows = Array.from({ length: rowsPerStep }, (_, index) => rowOf(index, step))
      const startedAt = performance.now()
      const block = meterCostBlock(rows)
      const encodedAt = performance.now()
      await db.insert(block)
      engineMs += performance.now() - encodedAt
      totalMs += performance.now() - startedAt
    }
    await db.command('OPTIMIZE TABLE meter_cost FINAL')
    const [answer] = await db.rows(
      `SELECT sum(bytes_on_disk) / sum(rows) FROM system.parts
       WHERE active AND table = 'meter_cost' AND database = currentDatabase()`,
    )
    const rows = steps * rowsPerStep
    return {
      engine: (rows * 1000) / engineMs,
      withEncoding: (rows * 1000) / totalMs,
      bytesPerRow: Number(answer?.[0] ?? 0),
    }
  } finally {
    await db.close()
    removeAfterRun(folder)
  }
}

if (import.meta.main) process.stdout.write(`${JSON.stringify(await insertRates())}\n`)
