import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { migrate, migrationFolder } from '../../../../services/platform/postgres/migrate.ts'
import { openTestDatabase } from '../../../support/stores/postgres.ts'

const opened = await openTestDatabase()
const folder = mkdtempSync(join(tmpdir(), 'wattledger-migrations-'))
cpSync(migrationFolder, folder, { recursive: true })
afterAll(async () => {
  await opened[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

const exists = async (table: string): Promise<boolean> => {
  const client = new pg.Client(opened.address)
  await client.connect()
  try {
    return (await client.query('select to_regclass($1) is not null as found', [table])).rows[0].found
  } finally {
    await client.end()
  }
}

describe('migrations', () => {
  it('are applied once, also if several processes start at the same time', async () => {
    expect(await migrate(opened.address, folder)).toEqual([])
    writeFileSync(join(folder, '9000_extra.sql'), 'create table extra (id integer);')
    const applied = await Promise.all([1, 2, 3].map(() => migrate(opened.address, folder)))
    expect(applied.flat()).toEqual(['9000_extra.sql'])
  })

  it('leave nothing of a file that fails in the middle', async () => {
    writeFileSync(join(folder, '9001_broken.sql'), 'create table half (id integer); select 1 / 0;')
    await expect(migrate(opened.address, folder)).rejects.toMatchObject({ code: '22012' })
    expect(await exists('half')).toBe(false)
    rmSync(join(folder, '9001_broken.sql'))
    expect(await migrate(opened.address, folder)).toEqual([])
  })

  it('refuse a database with a changed file, or with a file that this version lacks', async () => {
    await expect(migrate(opened.address)).rejects.toMatchObject({
      code: 'schema_drift',
      message: expect.stringContaining('9000_extra.sql'),
    })
    writeFileSync(join(folder, '9000_extra.sql'), 'create table extra (id bigint);')
    await expect(migrate(opened.address, folder)).rejects.toMatchObject({ code: 'schema_drift', retriable: false })
  })

  it('are numbered without gaps and duplicates', () => {
    const numbers = readdirSync(migrationFolder)
      .toSorted()
      .map(name => Number(name.slice(0, 4)))
    expect(numbers).toEqual(numbers.map((_, index) => index + 1))
  })
})
