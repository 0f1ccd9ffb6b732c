import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openChdb, readLimits } from '../../../../services/platform/clickhouse/chdb.ts'
import type { ClickHouse } from '../../../../services/platform/clickhouse/clickhouse.ts'
import { fairReads } from '../../../../services/platform/clickhouse/fair-reads.ts'

const folder = mkdtempSync(join(tmpdir(), 'wattledger-fair-reads-'))
let engine: ClickHouse
let db: ClickHouse
beforeAll(() => {
  engine = openChdb({ folder })
  db = fairReads(engine, readLimits)
})
afterAll(async () => {
  await engine.close()
  rmSync(folder, { recursive: true })
})

const statement = 'SELECT sleep(0.02)'
const [greedy, other] = [{ accountId: 'acc_a' }, { accountId: 'acc_b' }]

const streamed = async (of: typeof greedy): Promise<void> => {
  for await (const _ of db.stream(statement, of));
}

/**
 * Return the names of reads in the order of completion: 40 of one account, then one of another, then one of the
 * service.
 */
const play = async (read: (of?: typeof greedy) => Promise<unknown>): Promise<readonly string[]> => {
  const ended: string[] = []
  const note = async (name: string, of?: typeof greedy): Promise<void> => {
    await read(of)
    ended.push(name)
  }
  const reads = Array.from({ length: 40 }, () => note('greedy', greedy))
  await Promise.all([...reads, note('other', other), note('service')])
  return ended
}

describe('reads of an engine', () => {
  it('alternate between accounts: an account with many reads delays only itself', async () => {
    for (const read of [
      (of?: typeof greedy) => db.rows(statement, of),
      (of?: typeof greedy) => streamed(of ?? { accountId: '' }),
    ]) {
      const ended = await play(read)
      expect(ended.length).toBe(42)
      expect(ended.indexOf('other')).toBeLessThanOrEqual(8)
      expect(ended.indexOf('service')).toBeLessThanOrEqual(8)
    }
  })

  it('leave a slot to another account, and are refused beyond the limit, except those of the service', async () => {
    const reads = Array.from({ length: 258 }, () => db.rows(statement, greedy))
    await expect(db.rows(statement, greedy)).rejects.toMatchObject({ code: 'clickhouse_busy', retriable: true })
    expect(await db.rows('SELECT 1', other)).toEqual([[1]])
    await Promise.all([...reads, ...Array.from({ length: 300 }, () => db.rows('SELECT 1'))])
  })

  it('release their slot if they fail or end early', async () => {
    for (let at = 0; at < 5; at += 1) {
      await expect(db.rows('SELEC 1', greedy)).rejects.toMatchObject({ code: 'clickhouse_refused' })
      for await (const _ of db.stream('SELECT number FROM numbers(3000000)', greedy)) break
    }
    expect(await db.rows('SELECT 1', greedy)).toEqual([[1]])
  })
})
