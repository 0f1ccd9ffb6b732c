import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { Failure } from '../failure.ts'
import type { ClickHouse } from './clickhouse.ts'
import { textLiteral } from './literals.ts'

export type SchemaFile = { readonly name: string; readonly sql: string }

const folder = new URL('../../../schemas/clickhouse/', import.meta.url)

/** The numbered files of `schemas/clickhouse`, in order. */
export const schemaFiles = (): readonly SchemaFile[] =>
  readdirSync(folder)
    .filter(name => name.endsWith('.sql'))
    .sort()
    .map(name => ({ name, sql: readFileSync(new URL(name, folder), 'utf8') }))

const historyTable = `CREATE TABLE IF NOT EXISTS schema_history
(
    name String COMMENT 'of the file',
    hash String COMMENT 'SHA-256 of the file',
    tables String COMMENT 'JSON: SHA-256 of each table definition after it',
    applied_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = MergeTree
ORDER BY name`

/**
 * Bring the tables up to date: apply the files that were not applied yet, in order, each once. Statements are safe to
 * repeat, so a crash in between is repaired by the next call. `replicated` makes replicated tables of the same files.
 * Gives the names of the files that were applied. Throws `schema_drift` where an applied file, or a table since, was changed.
 */
export const applySchemas = async (db: ClickHouse, files: readonly SchemaFile[], replicated = false): Promise<readonly string[]> => {
  const done: string[] = []
  for (const statement of statementsOf(historyTable, replicated)) await db.command(statement)
  const applied = await db.rows('SELECT name, hash, tables FROM schema_history ORDER BY name')
  const known = new Map(applied.map(([name, hash]) => [String(name), String(hash)]))
  await refuseDrift(db, String(applied.at(-1)?.[2] ?? '{}'))
  for (const { name, sql } of files) {
    const hash = sha256(sql)
    const before = known.get(name)
    if (before === hash) continue
    if (before !== undefined)
      throw new Failure('schema_drift', `${name} was changed after it was applied; add a new file`, { retriable: false })
    for (const statement of statementsOf(sql, replicated)) await db.command(statement)
    const values = [name, hash, JSON.stringify(await tableHashes(db))].map(textLiteral).join(', ')
    await db.command(`INSERT INTO schema_history (name, hash, tables) VALUES (${values})`)
    done.push(name)
  }
  return done
}

/** The statements of a schema file; `replicated` turns its engines into those that copy themselves over a cluster. */
export const statementsOf = (sql: string, replicated: boolean): readonly string[] =>
  sql
    .split(/;\s*$/m)
    .map(statement => (replicated ? statement.replaceAll(/^ENGINE = (\w*MergeTree)/gm, 'ENGINE = Replicated$1') : statement).trim())
    .filter(statement => statement !== '')

/** Tables of a file that a crash cut short are not known yet and do not count. */
const refuseDrift = async (db: ClickHouse, tables: string): Promise<void> => {
  const now = await tableHashes(db)
  for (const [name, hash] of Object.entries(JSON.parse(tables) as Record<string, string>))
    if (now[name] !== hash) throw new Failure('schema_drift', `${name} is not as the applied files made it`, { retriable: false })
}

const tableHashes = async (db: ClickHouse): Promise<Readonly<Record<string, string>>> => {
  const tables = await db.rows('SELECT name, create_table_query FROM system.tables WHERE database = currentDatabase() ORDER BY name')
  return Object.fromEntries(tables.map(([name, definition]) => [String(name), sha256(String(definition))]))
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
