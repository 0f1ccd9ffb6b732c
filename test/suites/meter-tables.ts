import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { openChdb } from '../../services/platform/clickhouse/chdb.ts'
import type { ClickHouse } from '../../services/platform/clickhouse/clickhouse.ts'
import { meterCostBlock } from '../../services/platform/clickhouse/encoding/fast-path/meter-cost-block.ts'
import type { Tenant } from '../../services/platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { MeterCostRow } from '../../services/platform/clickhouse/meter-cost/meter-cost-row.ts'
import { type CostedRow, decodeCostedRows } from '../../services/platform/clickhouse/meter-cost/meter-cost-rows.ts'
import { applySchemas, schemaFiles } from '../../services/platform/clickhouse/schemas.ts'
import { costRow, hexId } from './cost-rows.ts'

/** Engine of the test file, with tables. */
export let db: ClickHouse
/** Account of the current test. */
export let tenant: Tenant

/** Open an engine for all tests of the calling file. Each test gets its own account. */
export const useMeterTables = (): void => {
  const folder = mkdtempSync(join(tmpdir(), 'wattledger-engine-'))
  beforeAll(async () => {
    db = openChdb({ folder })
    await applySchemas(db, schemaFiles())
  })
  beforeEach(() => {
    tenant = nextTenant()
  })
  afterAll(async () => {
    await db.close()
    rmSync(folder, { recursive: true, force: true })
  })
}

let accounts = 0
export const nextTenant = (): Tenant => {
  accounts += 1
  return { accountId: hexId('acc_', accounts), liveMode: true }
}

export const insert = (rows: readonly MeterCostRow[]): Promise<void> => db.insert(meterCostBlock(rows))
export const own = (given: Partial<MeterCostRow>): MeterCostRow => costRow({ ...tenant, ...given })
export const all = async (blocks: AsyncIterable<readonly MeterCostRow[]>): Promise<MeterCostRow[]> =>
  (await Array.fromAsync(blocks)).flat()

/** Return the database and the list of the statements that read rows. */
export const recordStatements = (): { readonly recording: ClickHouse; readonly statements: readonly string[] } => {
  const statements: string[] = []
  const stream: ClickHouse['stream'] = sql => {
    statements.push(sql)
    return db.stream(sql)
  }
  const blocks: ClickHouse['blocks'] = sql => {
    statements.push(sql)
    return db.blocks(sql)
  }
  return { recording: { ...db, stream, blocks }, statements }
}

export const decoded = async (blocks: AsyncIterable<Buffer>): Promise<CostedRow[]> =>
  (await Array.fromAsync(blocks)).flatMap(decodeCostedRows)

/** Return the members of rows that costs are added up from, as ordered texts. */
export const costedTexts = (rows: readonly CostedRow[]): readonly string[] =>
  rows
    .map(({ deviceId, energyFlowDirection, tariffDirection, start, end, recordReferenceId, ...row }) => {
      const { energy, recordConfidence, cost, confidence, pieces, version } = row
      const record = { deviceId, energyFlowDirection, tariffDirection, start, end, recordReferenceId }
      return inspect({ ...record, energy, recordConfidence, cost, confidence, pieces, version }, { depth: null })
    })
    .sort()
export const location = hexId('loc_', 1)
export const other = hexId('loc_', 2)
export const hourMs = 3_600_000
export const dayMs = 24 * hourMs
export const base = Date.UTC(2026, 8, 1)
export const always = { from: 0, to: Date.UTC(2101, 0, 1) }
export const anything = {
  locationIds: null,
  deviceIds: null,
  sessionReferenceId: null,
  recordReferenceId: null,
  batchId: null,
  from: null,
  to: null,
}
export const firstPage = { after: null, isBack: false, limit: 10 }
export const recordIds = (rows: readonly MeterCostRow[]): readonly string[] => rows.map(row => row.recordId).sort()
