import sql, { join, raw, type Sql } from 'sql-template-tag'
import type { Tenant } from '../../domain/tenant.ts'
import { toTimestamp } from './column.ts'

type ColumnType = 'text' | 'text[]' | 'integer' | 'bigint' | 'double precision' | 'json' | 'jsonb' | 'timestamptz'

/**
 * Table with the objects of tenants: its name, and the columns of the members of an object, by their names in the
 * domain. The columns that all objects have are not listed. A test compares the tables with the migrated schema.
 */
export type ObjectTable<Values> = {
  readonly name: string
  readonly columns: { readonly [Name in keyof Values]-?: readonly [column: string, type: ColumnType] }
}

type Columns = readonly (readonly [name: string, readonly [column: string, type: ColumnType]])[]

const columnsOf = <Values>({ columns }: ObjectTable<Values>): Columns => Object.entries(columns)

/** Write a value as a parameter of a column. */
const parameterOf = (value: unknown, type: ColumnType): Sql => {
  const isJson = type === 'json' || type === 'jsonb'
  const written = typeof value === 'number' && type === 'timestamptz' ? toTimestamp(value) : value
  return sql`${isJson && value !== null ? JSON.stringify(value) : written}::${raw(type)}`
}

/** Return the columns of a select, with the names of the domain. */
export const selectOf = <Values>(table: ObjectTable<Values>): Sql =>
  raw(`id, account_id as "accountId", live_mode as "liveMode", ${membersOf(table)}, time_created as "createdAt"`)

/** Return the columns of the members for a select, with the names of the domain. */
export const membersOf = <Values>(table: ObjectTable<Values>): string =>
  columnsOf(table)
    .map(([name, [column]]) => `${column} as "${name}"`)
    .join(', ')

/** Return the statement that stores an object at `at` (ms). Absent members get the defaults of their columns. */
export const insertOf = <Values extends object>(
  table: ObjectTable<Values>,
  { accountId, liveMode }: Tenant | { readonly accountId: null; readonly liveMode: null },
  id: string,
  values: Partial<Values>,
  at: number,
): Sql => {
  const given = columnsOf(table).filter(([name]) => name in values)
  const parameters = given.map(([name, [, type]]) => parameterOf(values[name as keyof Values], type))
  return sql`
    insert into ${raw(table.name)} (id, account_id, live_mode, ${raw(given.map(([, [column]]) => column).join(', '))},
      time_created)
    values (${id}, ${accountId}, ${liveMode}, ${join(parameters)}, ${toTimestamp(at)})`
}

/** Return the assignments of an update. Absent members stay unchanged. One text serves all changes of a table. */
export const assignmentsOf = <Values extends object>(table: ObjectTable<Values>, change: Partial<Values>): Sql =>
  join(
    columnsOf(table).map(([name, [column, type]]) => {
      const isChanged = name in change
      const value = parameterOf(isChanged ? change[name as keyof Values] : null, type)
      return sql`${raw(column)} = case when ${isChanged}::boolean then ${value} else ${raw(column)} end`
    }),
  )

/** Return a reader of rows. Columns of type `json` arrive as text, which keeps order and digits. */
export const rowReader = <Values>(table: ObjectTable<Values>): (<Row extends object>(row: Row) => Row & Values) => {
  const texts = columnsOf(table).flatMap(([name, [, type]]) => (type === 'json' ? [name] : []))
  return row => {
    const read = { ...row } as Record<string, unknown>
    for (const name of texts) if (typeof read[name] === 'string') read[name] = JSON.parse(read[name])
    return read as typeof row & Values
  }
}
