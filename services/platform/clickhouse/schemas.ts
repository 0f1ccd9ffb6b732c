import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { Failure } from '../failure.ts'
import type { ClickHouse } from './clickhouse.ts'
import { textLiteral } from './encoding/literals.ts'

export type SchemaFile = { readonly name: string; readonly sql: string }

const folder = new URL('../../../schemas/clickhouse/', import.meta.url)

/** Return the numbered files of `schemas/clickhouse`, in order. */
export const schemaFiles = (): readonly SchemaFile[] =>
  readdirSync(folder)
    .filter(name => name.endsWith('.sql'))
    .sort()
    .map(name => ({ name, sql: readFileSync(new URL(name, folder), 'utf8') }))

const historyTable = `CREATE TABLE IF NOT EXISTS schema_history
(
    name String COMMENT 'of the file',
    hash String COMMENT 'SHA-256 of the file',
    tables String COMMENT 'JSON: SHA-256 of each table definition after it; empty: the file was begun',
    applied_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = MergeTree
ORDER BY name`

/**
 * Apply the schema files that are not applied yet, in order, each once. The history records each file before its first
 * statement and after its last. Statements can be repeated, so the next call completes a file that a crash interrupted.
 * `isReplicated` creates replicated tables from the same files. Returns the names of the applied files. Throws
 * `schema_drift` if an applied file or a table has changed.
 */
export const applySchemas = async (
  db: ClickHouse,
  files: readonly SchemaFile[],
  isReplicated = false,
): Promise<readonly string[]> => {
  const appliedNames: string[] = []
  for (const statement of statementsOf(historyTable, isReplicated)) await db.command(statement)
  const history = await readHistory(db)
  const applied = new Map(history.filter(({ tables }) => tables !== '').map(entry => [entry.name, entry]))
  const interrupted = files.filter(({ name }) => !applied.has(name) && history.some(entry => entry.name === name))
  await refuseDrift(db, [...applied.values()].at(-1)?.tables ?? '{}', interrupted)
  for (const file of files) {
    const hash = sha256(file.sql)
    const before = applied.get(file.name)?.hash
    if (before === hash) continue
    if (before !== undefined)
      throw new Failure(
        'schema_drift',
        `${file.name} has changed since it was applied. Restore the file and add a new one.`,
      )
    await writeHistoryEntry(db, { name: file.name, hash, tables: '' })
    for (const statement of statementsOf(file.sql, isReplicated)) await db.command(statement)
    await writeHistoryEntry(db, { name: file.name, hash, tables: JSON.stringify(await tableHashes(db)) })
    appliedNames.push(file.name)
  }
  return appliedNames
}

type HistoryEntry = { readonly name: string; readonly hash: string; readonly tables: string }

/** Read the history in order, including interrupted files. */
const readHistory = async (db: ClickHouse): Promise<readonly HistoryEntry[]> => {
  const rows = await db.rows('SELECT name, hash, tables FROM schema_history ORDER BY name')
  return rows.map(([name, hash, tables]) => ({ name: String(name), hash: String(hash), tables: String(tables) }))
}

const writeHistoryEntry = ({ command }: ClickHouse, { name, hash, tables }: HistoryEntry): Promise<void> =>
  command(
    `INSERT INTO schema_history (name, hash, tables) VALUES (${[name, hash, tables].map(textLiteral).join(', ')})`,
  )

/** Parts of SQL: what is no statement (blanks, comments), the end of a statement, quoted texts and names, the rest. */
const sqlParts =
  /(?<blank>\s+|--[^\n]*|#[ !][^\n]*|\/\*[\s\S]*?\*\/)|(?<end>;)|'(?:[^'\\]|\\[\s\S])*'|"(?:[^"\\]|\\[\s\S])*"|`(?:[^`\\]|\\[\s\S])*`|[\s\S]/g

/**
 * Return the statements of a schema file, with their comments; `isReplicated` replaces the engines by replicated ones.
 * A `;` in a comment or in quotes ends no statement. Comments alone are no statement: a server refuses them.
 */
export const statementsOf = (sql: string, isReplicated: boolean): readonly string[] => {
  const statements: string[] = []
  let text = ''
  let isStatement = false
  const end = (): void => {
    if (isStatement) statements.push(text.trim())
    text = ''
    isStatement = false
  }
  for (const { 0: part, groups } of sql.matchAll(sqlParts)) {
    if (groups?.['end'] !== undefined) end()
    else {
      text += part
      isStatement ||= groups?.['blank'] === undefined
    }
  }
  end()
  return isReplicated
    ? statements.map(statement => statement.replaceAll(/^ENGINE = (\w*MergeTree)/gm, 'ENGINE = Replicated$1'))
    : statements
}

/**
 * Throw `schema_drift` if a table differs from the history. Unknown tables are ignored, and tables of interrupted
 * files.
 */
const refuseDrift = async (db: ClickHouse, tables: string, interrupted: readonly SchemaFile[]): Promise<void> => {
  const now = await tableHashes(db)
  for (const [name, hash] of Object.entries(JSON.parse(tables) as Record<string, string>)) {
    if (now[name] === hash || interrupted.some(({ sql }) => sql.includes(name))) continue
    throw new Failure('schema_drift', `Table ${name} differs from the applied schema files.`)
  }
}

const tableHashes = async (db: ClickHouse): Promise<Readonly<Record<string, string>>> => {
  const tables = await db.rows(
    'SELECT name, create_table_query FROM system.tables WHERE database = currentDatabase() ORDER BY name',
  )
  return Object.fromEntries(tables.map(([name, definition]) => [String(name), sha256(String(definition))]))
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
