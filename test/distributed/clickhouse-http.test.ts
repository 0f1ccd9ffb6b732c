import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ClickHouse } from '../../services/platform/clickhouse/clickhouse.ts'
import { openClickHouseHttp } from '../../services/platform/clickhouse/clickhouse-http.ts'
import { meterCostBlock } from '../../services/platform/clickhouse/meter-cost-block.ts'
import { rowsOfSpan } from '../../services/platform/clickhouse/meter-cost-reads.ts'
import { applySchemas, schemaFiles } from '../../services/platform/clickhouse/schemas.ts'
import { costRow, hexId } from '../suites/cost-rows.ts'
import { type ClickHouseFront, openClickHouseFront } from '../support/clickhouse-front.ts'
import { runCommand } from '../support/run-command.ts'
import { dataFolder, removeData } from '../support/running-system.ts'

const folder = dataFolder()
let front: ClickHouseFront
let db: ClickHouse

beforeAll(async () => {
  front = await openClickHouseFront()
  const access = { user: 'ledger', password: 'pass word', database: 'default', ca: null, isReplicated: false }
  db = openClickHouseHttp({ url: front.url, ...access, requestMs: 2_000 })
})
afterAll(async () => {
  await db.close()
  await front[Symbol.asyncDispose]()
  removeData(folder)
})

const stored = async (): Promise<number> => Number((await db.rows('SELECT count() FROM meter_cost FINAL'))[0]?.[0])

describe('the engine over HTTP', () => {
  it('has its tables from the command, which says what it applied and does nothing the second time', async () => {
    const server = {
      WATTLEDGER_CLICKHOUSE_URL: front.url,
      WATTLEDGER_CLICKHOUSE_USER: 'ledger',
      WATTLEDGER_CLICKHOUSE_PASSWORD: 'pass word',
    }
    const migrated = () => runCommand(['migrate'], { WATTLEDGER_DATA_DIR: folder, ...server })
    const first = await migrated()
    expect(first.out).toContain('applied 0001_accounts.sql')
    for (const { name } of schemaFiles()) expect(first.out).toContain(`applied ${name}`)
    expect((await migrated()).out).toContain('The schema is up to date.')
  })

  it('makes the tables once, shows who calls, and gives back the rows that were inserted', async () => {
    expect(await applySchemas(db, schemaFiles())).toEqual([])
    expect(front.credentials()).toBe('ledger:pass word')
    const rows = [costRow(), costRow({ recordId: hexId('', 2), start: 1_790_003_600_000 })]
    await db.insert(meterCostBlock(rows))
    const tenant = { accountId: hexId('acc_', 1), liveMode: true }
    const read = await Array.fromAsync(rowsOfSpan(db, tenant, { locationIds: [hexId('loc_', 1)] }, { from: 0, to: 4_000_000_000_000 }))
    expect(read.flat()).toEqual(rows)
  })

  it('sends the settings of inserts in their statement', () => {
    const insert = front.asked.find(sql => sql.startsWith('INSERT INTO meter_cost '))
    expect(insert).toMatch(/SETTINGS .*insert_deduplicate=0.* FORMAT Native$/)
  })

  it.each([
    ['refuses for want of memory', 'refuse', 'clickhouse_busy'],
    ['does not answer', 'hang', 'clickhouse_away'],
    ['cuts the connection', 'cut', 'clickhouse_away'],
  ] as const)('fails retriable where the server %s, and goes on afterwards', async (_, mood, code) => {
    front.mood = mood
    await expect(db.rows('SELECT 1')).rejects.toMatchObject({ code, retriable: true })
    await expect(db.insert(meterCostBlock([costRow()]))).rejects.toMatchObject({ code, retriable: true })
    front.mood = 'well'
    expect(await db.rows('SELECT 1')).toEqual([[1]])
  })

  it('closes within seconds while an insert hangs, which fails then', async () => {
    const other = openClickHouseHttp({ url: front.url, user: 'ledger', password: '', database: 'default', ca: null, isReplicated: false })
    front.mood = 'hang'
    const inserted = other.insert(meterCostBlock([costRow()]))
    const failed = expect(inserted).rejects.toMatchObject({ code: 'clickhouse_away', retriable: true })
    const askedAt = performance.now()
    await other.close()
    await failed
    expect(performance.now() - askedAt).toBeLessThan(6_000)
    front.mood = 'well'
  })

  it('waits for a slow server', async () => {
    front.mood = 'slow'
    expect(await db.rows('SELECT 2')).toEqual([[2]])
    front.mood = 'well'
  })

  it('may have stored what was cut off after the work: the same rows again change nothing', async () => {
    const rows = meterCostBlock([costRow({ recordId: hexId('', 3), start: 1_710_000_000_000 })])
    const before = await stored()
    front.mood = 'cut after'
    await expect(db.insert(rows)).rejects.toMatchObject({ code: 'clickhouse_away', retriable: true })
    front.mood = 'well'
    expect(await stored()).toBe(before + 1)
    await db.insert(rows)
    expect(await stored()).toBe(before + 1)
  })

  it('refuses what is wrong, not retriable', async () => {
    await expect(db.command('SELECT nothing')).rejects.toMatchObject({ code: 'clickhouse_refused', retriable: false })
  })
})
