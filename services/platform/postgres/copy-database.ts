import pg from 'pg'
import { Failure } from '../failure.ts'
import { toTimestamp } from './column.ts'
import type { PostgresAddress } from './database.ts'
import { withClient } from './migrate.ts'

/** Number of rows of a table. */
export type TableRows = { readonly table: string; readonly rows: number }

/** The topic whose generation a copy raises: the offsets of the new topic begin at 0 again. */
export type NewTopic = { readonly topic: string; readonly partitions: number; readonly at: number }

type Column = { readonly name: string; readonly type: string }
type Table = {
  readonly name: string
  readonly columns: readonly Column[]
  /** Columns with a sequence. */
  readonly counters: readonly string[]
  /** Tables whose rows must exist first. */
  readonly parents: readonly string[]
}

/** Tables that are not copied: the target has its own migrations and its own topic. */
const ownTables = ['schema_migrations', 'lane_generations']
/** Tables that a running service changes without a request. They are copied, but do not decide if two databases differ. */
const restlessTables = ['leases']
const rowsPerRead = 100
const exactTexts = `set timezone = 'UTC'; set datestyle = 'ISO, YMD'; set intervalstyle = 'postgres';
  set bytea_output = 'hex'; set extra_float_digits = 1`

const tablesQuery = `
  select c.relname as name,
    (select json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod)) order by a.attnum)
      from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns,
    (select coalesce(json_agg(a.attname), '[]') from pg_attribute a
      where a.attrelid = c.oid and a.attidentity <> '' and not a.attisdropped) as counters,
    (select coalesce(json_agg(distinct f.confrelid::regclass::text), '[]') from pg_constraint f
      where f.contype = 'f' and f.conrelid = c.oid and f.confrelid <> c.oid) as parents
  from pg_class c
  where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and c.relname <> all($1)
  order by c.relname`

/** List the tables so that each follows the tables that its rows name. Throws if tables name each other in a circle. */
const listTables = async (client: pg.Client): Promise<readonly Table[]> => {
  const { rows } = await client.query<Table>(tablesQuery, [ownTables])
  const ordered: Table[] = []
  const isPlaced = (name: string): boolean => ordered.some(table => table.name === name)
  while (ordered.length < rows.length) {
    const next = rows.find(({ name, parents }) => !isPlaced(name) && parents.every(isPlaced))
    if (next === undefined) throw new RangeError('Foreign keys of the tables form a circle.')
    ordered.push(next)
  }
  return ordered
}

const quoted = (name: string): string => pg.escapeIdentifier(name)

/** Return the number of rows of a table, and a sum of their hashes. Equal texts mean equal rows. */
const readDigest = async (
  client: pg.Client,
  { name }: Table,
): Promise<{ readonly rows: number; readonly hash: string }> => {
  const hash = `('x' || substr(md5(t::text), 1, 15))::bit(60)::bigint`
  const read = `select count(*)::int as rows, coalesce(sum(${hash}), 0)::text as hash from ${quoted(name)} t`
  const { rows } = await client.query<{ rows: number; hash: string }>(read)
  return rows[0] ?? { rows: 0, hash: '0' }
}

/** Return the first table whose rows differ; null if all are equal. */
const findDifference = async (
  source: pg.Client,
  target: pg.Client,
  tables: readonly Table[],
): Promise<string | null> => {
  for (const table of tables) {
    const [ours, theirs] = await Promise.all([readDigest(source, table), readDigest(target, table)])
    if (ours.rows !== theirs.rows || ours.hash !== theirs.hash) return table.name
  }
  return null
}

const copyTable = async (source: pg.Client, target: pg.Client, { name, columns }: Table): Promise<number> => {
  const names = columns.map(column => quoted(column.name))
  const texts = names.map(column => `${column}::text`).join(', ')
  await source.query(`declare copied_rows no scroll cursor for select ${texts} from ${quoted(name)}`)
  const lists = columns.map((_, index) => `$${index + 1}::text[]`).join(', ')
  const values = columns.map((column, index) => `u.c${index}::${column.type}`).join(', ')
  const aliases = columns.map((_, index) => `c${index}`).join(', ')
  const insert = `insert into ${quoted(name)} (${names.join(', ')}) overriding system value
    select ${values} from unnest(${lists}) as u(${aliases})`
  let copied = 0
  for (;;) {
    const read = { text: `fetch ${rowsPerRead} from copied_rows`, rowMode: 'array' as const }
    const { rows } = await source.query<(string | null)[]>(read)
    if (rows.length === 0) break
    await target.query(
      insert,
      columns.map((_, index) => rows.map(row => row[index])),
    )
    copied += rows.length
  }
  await source.query('close copied_rows')
  return copied
}

/** Set the sequences of a table, so that ids of deleted rows are not given again. */
const copyCounters = async (source: pg.Client, target: pg.Client, { name, counters }: Table): Promise<void> => {
  for (const column of counters) {
    const ofColumn = [quoted(name), column]
    const { rows } = await source.query<{ sequence: string }>(
      'select pg_get_serial_sequence($1, $2) as sequence',
      ofColumn,
    )
    const state = await source.query<{ last: string; called: boolean }>(
      `select last_value::text as last, is_called as called from ${rows[0]?.sequence}`,
    )
    const { last = '1', called = false } = state.rows[0] ?? {}
    await target.query('select setval(pg_get_serial_sequence($1, $2), $3::bigint, $4)', [...ofColumn, last, called])
  }
}

/**
 * Run work in which the owner may write every row of the tables, and no trigger changes what it writes. The transaction
 * of the caller contains the change of the tables: other sessions never see it.
 */
const withoutGuards = async <T>(client: pg.Client, tables: readonly Table[], work: () => Promise<T>): Promise<T> => {
  const { rows } = await client.query<{ name: string }>(
    'select relname as name from pg_class where relforcerowsecurity and relnamespace = current_schema()::regnamespace',
  )
  const forced = tables.filter(({ name }) => rows.some(row => row.name === name))
  for (const { name } of tables) await client.query(`alter table ${quoted(name)} disable trigger user`)
  for (const { name } of forced) await client.query(`alter table ${quoted(name)} no force row level security`)
  const result = await work()
  for (const { name } of forced) await client.query(`alter table ${quoted(name)} force row level security`)
  for (const { name } of tables) await client.query(`alter table ${quoted(name)} enable trigger user`)
  return result
}

/** Register the topic in the target, with a generation above those of all copied rows. */
const raiseGeneration = async (
  source: pg.Client,
  target: pg.Client,
  { topic, partitions, at }: NewTopic,
): Promise<void> => {
  const { rows } = await source.query<{ generation: number }>(
    'select generation from lane_generations where topic = $1',
    [topic],
  )
  await target.query(
    `insert into lane_generations as known (topic, generation, partitions, time_updated) values ($1, $2, $3, $4)
     on conflict (topic) do update set generation = greatest(known.generation, excluded.generation),
       partitions = excluded.partitions, time_updated = excluded.time_updated`,
    [topic, (rows[0]?.generation ?? -1) + 1, partitions, toTimestamp(at)],
  )
}

const inTransaction = async <T>(client: pg.Client, begin: string, work: () => Promise<T>): Promise<T> => {
  await client.query(exactTexts)
  await client.query(begin)
  try {
    const result = await work()
    await client.query('commit')
    return result
  } catch (error) {
    // If the connection broke, there is nothing to undo.
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

const readOnly = 'begin isolation level repeatable read read only'

const withBoth = <T>(
  source: PostgresAddress,
  target: PostgresAddress,
  work: (source: pg.Client, target: pg.Client) => Promise<T>,
): Promise<T> => withClient(source, from => withClient(target, to => work(from, to)))

/**
 * Compare the rows of two migrated databases: `empty` if the target has none, `equal` if it has those of the source,
 * else `different`. Changes nothing. Topics and leases do not count.
 */
export const compareDatabases = (
  source: PostgresAddress,
  target: PostgresAddress,
): Promise<'empty' | 'equal' | 'different'> =>
  withBoth(source, target, (from, to) =>
    inTransaction(from, readOnly, () =>
      inTransaction(to, `${readOnly}; set local role wattledger_operator`, async () => {
        const tables = (await listTables(from)).filter(({ name }) => !restlessTables.includes(name))
        let isEmpty = true
        for (const { name } of tables) {
          const { rows } = await to.query(`select 1 from ${quoted(name)} limit 1`)
          if (rows.length > 0) isEmpty = false
        }
        if (isEmpty) return 'empty'
        return (await findDifference(from, to, tables)) === null ? 'equal' : 'different'
      }),
    ),
  )

/**
 * Copy all rows of a database into an empty database with the same migrations, in one transaction: after a crash the
 * target is empty or complete. Values are copied as text, which is exact. The copy is compared before its commit. The
 * topic gets a generation above that of the source, in the same transaction. `onTable` is called after each table.
 * Throws `Failure` `copy_differs` if the compared rows are not equal.
 */
export const copyDatabase = (
  source: PostgresAddress,
  target: PostgresAddress,
  { newTopic, onTable }: { readonly newTopic: NewTopic; readonly onTable: (copied: TableRows) => void },
): Promise<readonly TableRows[]> =>
  withBoth(source, target, (from, to) =>
    inTransaction(from, readOnly, () =>
      inTransaction(to, 'begin', async () => {
        const tables = await listTables(to)
        const copied = await withoutGuards(to, tables, async () => {
          const counts: TableRows[] = []
          for (const table of tables) {
            const rows = await copyTable(from, to, table)
            await copyCounters(from, to, table)
            counts.push({ table: table.name, rows })
            onTable({ table: table.name, rows })
          }
          const difference = await findDifference(from, to, tables)
          if (difference !== null)
            throw new Failure('copy_differs', `The copied rows of ${difference} differ from the rows of the folder.`)
          return counts
        })
        await raiseGeneration(from, to, newTopic)
        return copied
      }),
    ),
  )
