import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { openChdb } from '../../../../services/platform/clickhouse/chdb.ts'
import {
  type ClickHouse,
  maxSmallBytes,
  readSmall,
  streamUnlessSmall,
} from '../../../../services/platform/clickhouse/clickhouse.ts'
import { meterCostBlock } from '../../../../services/platform/clickhouse/encoding/fast-path/meter-cost-block.ts'
import { decodeBlocks, readColumns } from '../../../../services/platform/clickhouse/encoding/fast-path/native-block.ts'
import { uint64 } from '../../../../services/platform/clickhouse/encoding/fast-path/native-types.ts'
import { kindsOfLocations } from '../../../../services/platform/clickhouse/meter-cost/location-flows.ts'
import { applySchemas, schemaFiles, statementsOf } from '../../../../services/platform/clickhouse/schemas.ts'
import { costRow, hexId } from '../../../suites/cost-rows.ts'

const opened: { folder: string; db?: ClickHouse }[] = []
const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'wattledger-engine-'))
  opened.push({ folder })
  return folder
}
const openEngine = (folder = newFolder()): ClickHouse => {
  const db = openChdb({ folder })
  opened.push({ folder, db })
  return db
}
afterEach(async () => {
  const all = opened.splice(0)
  for (const { db } of all) await db?.close()
  for (const { folder } of all) rmSync(folder, { recursive: true, force: true })
})

/** Create an engine that ignores all commands after some, as after a crash. */
const endingAfter = (db: ClickHouse, commands: number): ClickHouse => {
  let left = commands
  const command = (sql: string): Promise<void> => {
    left -= 1
    return left < 0 ? Promise.reject(new Error('The process crashed.')) : db.command(sql)
  }
  return { ...db, command }
}

/** Return the names of the schema files that were applied to their end. */
const completedFiles = async (db: ClickHouse): Promise<readonly string[]> => {
  const rows = await db
    .rows("SELECT DISTINCT name FROM schema_history WHERE tables != '' ORDER BY name")
    // The first crash comes before the history exists.
    .catch(() => [])
  return rows.map(([name]) => String(name))
}

const tableDefinitions = (db: ClickHouse) =>
  db.rows('SELECT name, create_table_query FROM system.tables WHERE database = currentDatabase() ORDER BY name')

const insertRows = (db: ClickHouse, ids: readonly number[]): Promise<void> =>
  db.insert(
    meterCostBlock(
      ids.map(number => costRow({ recordId: hexId('', number), start: 1_600_000_000_000 + number * 86_400_000 })),
    ),
  )

const runWriter = (
  ...args: string[]
): { readonly output: () => string; readonly ended: Promise<number | null>; readonly kill: () => void } => {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'clickhouse-writer.ts'), ...args])
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', data => {
      output += data
    })
  return {
    output: () => output,
    ended: new Promise(resolve => child.on('close', resolve)),
    kill: () => child.kill('SIGKILL'),
  }
}

describe('embedded engine', () => {
  it('applies the schema files once and retains all rows after a restart', async () => {
    const folder = newFolder()
    let db = openEngine(folder)
    await applySchemas(db, schemaFiles())
    await insertRows(db, [1, 2, 3])
    await db.close()
    db = openEngine(folder)
    await applySchemas(db, schemaFiles())
    expect(await db.rows('SELECT toUInt32(count()) FROM meter_cost FINAL')).toEqual([[3]])
    expect(await db.rows('SELECT toUInt32(count()) FROM schema_history')).toEqual([[2 * schemaFiles().length]])
  })

  it('inserts rows of many months in one statement, and repeated blocks again', async () => {
    const db = openEngine()
    await applySchemas(db, schemaFiles())
    const months = Array.from({ length: 20 }, (_, i) => i * 31)
    await insertRows(db, months)
    await insertRows(db, months)
    await db.command('SYSTEM STOP MERGES')
    expect(await db.rows('SELECT toUInt32(count()) FROM meter_cost')).toEqual([[40]])
    expect(await db.rows('SELECT toUInt32(count()) FROM meter_cost FINAL')).toEqual([[20]])
  })

  it('streams large answers, ends a stream early, and answers other reads meanwhile', async () => {
    const db = openEngine()
    let blocks = 0
    for await (const block of db.stream('SELECT number FROM numbers(3000000)')) {
      expect(block.length).toBeGreaterThan(0)
      blocks += 1
      if (blocks === 2) expect(await db.rows('SELECT toUInt8(1)')).toEqual([[1]])
      if (blocks === 3) break
    }
    expect(blocks).toBe(3)
    const counts = await Promise.all(Array.from({ length: 20 }, (_, i) => db.rows(`SELECT toUInt8(${i})`)))
    expect(counts.map(rows => rows[0]?.[0])).toEqual(Array.from({ length: 20 }, (_, i) => i))
  })

  it('reads an answer in one piece up to a size, and streams a larger one', async () => {
    const db = openEngine()
    let streams = 0
    const counted: ClickHouse = {
      ...db,
      stream: sql => {
        streams += 1
        return db.stream(sql)
      },
    }
    const account = { accountId: 'acc_000000000000000000000001' }
    const numbers = (count: number): string => `SELECT number FROM numbers(${count}) SETTINGS max_block_size=2048`
    const largest = maxSmallBytes / 8
    const bytesOf = async (count: number): Promise<Buffer> => {
      const blocks = await Array.fromAsync(streamUnlessSmall(counted, numbers(count), account))
      return Buffer.concat(blocks)
    }
    const uint64s = { number: uint64 } as const
    const read = async (count: number): Promise<readonly bigint[]> =>
      decodeBlocks(await bytesOf(count), (from, rows) => readColumns(from, uint64s, rows).number)
    expect(await read(0)).toEqual([])
    expect(await read(largest)).toHaveLength(largest)
    expect(streams).toBe(0)
    expect(await readSmall(db, numbers(largest + 1), account)).toBe(null)
    const all = await read(largest + 1)
    expect([all.length, all.at(-1), streams]).toEqual([largest + 1, BigInt(largest), 1])
  })

  it('gives each read only its own rows after reads that failed halfway', async () => {
    const db = openChdb({ folder: newFolder(), readers: 1 })
    opened.push({ folder: newFolder(), db })
    const halfway = 'SELECT throwIf(number = 2000000) FROM numbers(3000000)'
    const fail = (read: () => Promise<unknown>) => expect(read()).rejects.toMatchObject({ name: 'Failure' })
    const never = new AbortController().signal
    const one = 'SELECT toUInt8(1)'
    const oneBlock = await db.blocks(one)
    for (const failing of [
      () => db.rows(halfway),
      () => db.blocks(halfway),
      () => Array.fromAsync(db.stream(halfway)),
      () => db.command(halfway),
      () => db.files.rows(halfway, never),
    ]) {
      await fail(failing)
      expect(await db.rows(one)).toEqual([[1]])
      await fail(failing)
      expect(await db.blocks(one)).toEqual(oneBlock)
      await fail(failing)
      expect(await Array.fromAsync(db.stream(one))).toEqual([oneBlock])
      // The file engine has two sessions, so two failures make both dirty.
      await fail(failing)
      await fail(failing)
      expect(await Promise.all([db.files.rows(one, never), db.files.rows(one, never)])).toEqual([[[1]], [[1]]])
    }
  })

  it('classifies failures by the engine’s error number', async () => {
    const db = openEngine()
    await expect(db.rows('SELEC 1')).rejects.toMatchObject({
      name: 'Failure',
      code: 'clickhouse_refused',
      retriable: false,
    })
    await expect(db.command('INSERT INTO nowhere VALUES (1)')).rejects.toMatchObject({
      code: 'clickhouse_refused',
      retriable: false,
    })
    const slow = 'SELECT sum(sleepEachRow(0.1)) FROM numbers(100) SETTINGS max_execution_time=0.5, max_block_size=1'
    await expect(db.rows(slow)).rejects.toMatchObject({ code: 'clickhouse_timeout', retriable: true })
    const large = 'SELECT groupArray(number) FROM numbers(100000000) SETTINGS max_memory_usage=10000000'
    await expect(db.rows(large)).rejects.toMatchObject({ code: 'clickhouse_busy', retriable: true })
    const stream = db.stream('SELECT throwIf(number = 2000000) FROM numbers(3000000)')
    const reading = (async () => {
      for await (const _ of stream);
    })()
    await expect(reading).rejects.toMatchObject({ name: 'Failure', retriable: false })
    const tooLarge = (async () => {
      for await (const _ of db.stream(large));
    })()
    await expect(tooLarge).rejects.toMatchObject({ code: 'clickhouse_busy', retriable: true })
    expect(await db.rows('SELECT toUInt8(1)')).toEqual([[1]])
    await db.close()
    await expect(db.rows('SELECT 1')).rejects.toMatchObject({ code: 'clickhouse_away', retriable: true })
  })

  it('refuses a second opener, in the same process and in another', async () => {
    const folder = newFolder()
    openEngine(folder)
    expect(() => openChdb({ folder })).toThrow(expect.objectContaining({ code: 'folder_taken', retriable: false }))
    const other = runWriter(folder)
    expect(await other.ended).toBe(1)
    expect(other.output()).toContain('folder_taken')
  })
})

describe('schema files', () => {
  it('refuse a changed file that was applied', async () => {
    const db = openEngine()
    await applySchemas(db, schemaFiles())
    const changed = schemaFiles().map((file, i) => (i === 1 ? { ...file, sql: `${file.sql}\n-- later` } : file))
    await expect(applySchemas(db, changed)).rejects.toMatchObject({ code: 'schema_drift', retriable: false })
  })

  it('refuse a table that was changed without them', async () => {
    const db = openEngine()
    await applySchemas(db, schemaFiles())
    await db.command('ALTER TABLE meter_batches ADD COLUMN extra UInt8')
    await expect(applySchemas(db, schemaFiles())).rejects.toMatchObject({ code: 'schema_drift' })
  })

  it('continue after a crash at any statement', { timeout: 120_000 }, async () => {
    const files = schemaFiles()
    const whole = openEngine()
    await applySchemas(whole, files)
    const expected = await tableDefinitions(whole)
    // A process has one engine at a time.
    await whole.close()
    const crashing = openEngine()
    // Each call crashes one statement later than the call before, and repeats the statements of the interrupted file.
    const crashes = new Map<string, number>()
    const completed: string[] = []
    // A file that cannot be repeated never ends.
    const maxCommands = 100
    for (
      let commands = 0, done: readonly string[] | null = null;
      done === null && commands < maxCommands;
      commands += 1
    ) {
      done = await applySchemas(endingAfter(crashing, commands), files).catch(() => null)
      const complete = await completedFiles(crashing)
      const begun = files[completed.length]?.name ?? ''
      crashes.set(begun, (crashes.get(begun) ?? 0) + 1)
      if (complete.length > completed.length) commands = 0
      completed.splice(0, completed.length, ...complete)
    }
    expect(completed).toEqual(files.map(({ name }) => name))
    for (const { name, sql } of files) expect(crashes.get(name), name).toBeGreaterThan(statementsOf(sql, false).length)
    expect(await applySchemas(crashing, files)).toEqual([])
    expect(await tableDefinitions(crashing)).toEqual(expected)
  })

  it('refuse a table that was changed, even after an interrupted file', async () => {
    const db = openEngine()
    const files = schemaFiles().filter(({ name }) => name < '007')
    const begun = { name: '900-later.sql', sql: 'ALTER TABLE meter_cost ADD COLUMN IF NOT EXISTS later UInt8' }
    await applySchemas(db, files)
    await applySchemas(endingAfter(db, 3), [...files, begun]).catch(() => null)
    await db.command('ALTER TABLE meter_batches ADD COLUMN extra UInt8')
    await expect(applySchemas(db, [...files, begun])).rejects.toMatchObject({ code: 'schema_drift' })
  })

  it('fill the flows of locations from earlier rows', async () => {
    const db = openEngine()
    const files = schemaFiles()
    await applySchemas(
      db,
      files.filter(({ name }) => name < '005'),
    )
    const cancelled = { locationId: hexId('loc_', 2), recordId: hexId('', 2), energy: 0n }
    await db.insert(meterCostBlock([costRow(), costRow(cancelled)]))
    await applySchemas(db, files)
    const flow = { energyFlowDirection: 'INBOUND', tariffDirection: 'IMPORT' } as const
    const kinds = await kindsOfLocations(db, { accountId: hexId('acc_', 1), liveMode: true }, flow, [
      hexId('loc_', 1),
      hexId('loc_', 2),
    ])
    expect([...kinds]).toEqual([[hexId('loc_', 1), { hasOwnRecords: true, hasDeviceRecords: false }]])
  })

  it('create replicated tables from the same text', () => {
    const engines = schemaFiles().flatMap(file =>
      statementsOf(file.sql, true).flatMap(sql => sql.match(/^ENGINE = \w+/gm) ?? []),
    )
    expect(engines).toHaveLength(14)
    for (const engine of engines) expect(engine).toMatch(/^ENGINE = Replicated\w*MergeTree$/)
  })
})

describe('embedded engine after a crash', () => {
  it('ends at once if the process aborts, without hanging for 300 s', { timeout: 150_000 }, async () => {
    const started = Date.now()
    await runWriter(newFolder(), '0', 'abort').ended
    expect(Date.now() - started).toBeLessThan(120_000)
  })

  it('has all rows of every acknowledged insert, and never a part of an insert', async () => {
    const folder = newFolder()
    const answered: number[] = []
    for (let round = 0; round < 3; round += 1) {
      const writer = runWriter(folder, String((answered.at(-1) ?? -2) + 2))
      // Two answers of each round, so that each kill can meet rows of an acknowledged insert.
      while (writer.output().split('\n').length <= 2) await new Promise(resolve => setTimeout(resolve, 10))
      await new Promise(resolve => setTimeout(resolve, 200 + 130 * round))
      writer.kill()
      await writer.ended
      answered.push(...writer.output().split('\n').slice(0, -1).map(Number))
    }
    const db = openEngine(folder)
    await applySchemas(db, schemaFiles())
    const found = await db.rows(
      'SELECT toUInt32(intDiv(reinterpretAsUInt64(reverse(substring(record_id, 5))), 50)) AS block, toUInt32(count()) FROM meter_cost FINAL GROUP BY block ORDER BY block',
    )
    const counts = new Map(found.map(([block, count]) => [Number(block), Number(count)]))
    expect([...counts.values()].filter(count => count !== 50)).toEqual([])
    expect(answered.filter(block => !counts.has(block))).toEqual([])
    expect(answered.length).toBeGreaterThan(3)
  })
})
