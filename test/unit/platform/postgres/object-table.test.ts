import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ObjectTable } from '../../../../services/platform/postgres/object-table.ts'
import { calendarTable } from '../../../../services/platform/postgres/pricing/calendars.ts'
import { marketTable } from '../../../../services/platform/postgres/pricing/markets.ts'
import { customerTable } from '../../../../services/platform/postgres/registry/customers.ts'
import { deviceTable } from '../../../../services/platform/postgres/registry/devices.ts'
import { locationTable } from '../../../../services/platform/postgres/registry/location-row.ts'
import { endpointTable } from '../../../../services/platform/postgres/webhooks/webhook-endpoints.ts'
import { openTestDatabase, type TestDatabase } from '../../../support/stores/postgres.ts'

type AnyTable = Pick<ObjectTable<Readonly<Record<string, unknown>>>, 'name' | 'columns'>
type Column = { readonly column: string; readonly type: string }

let opened: TestDatabase
beforeAll(async () => {
  opened = await openTestDatabase()
}, 60_000)
afterAll(() => opened[Symbol.asyncDispose]())

const storedColumns = async (table: string): Promise<readonly Column[]> => {
  const { rows } = await opened.database.operator<Column>(sql`
    select attname as column,
      case atttypid when 'timestamptz'::regtype then 'timestamptz' else atttypid::regtype::text end as type
    from pg_attribute where attrelid = ${table}::regclass and attnum > 0 and not attisdropped`)
  return rows
}

const text = ({ column, type }: Column): string => `${column} ${type}`

/** List the columns of a table of objects that the migrated table does not have. */
const missingColumns = async ({ name, columns }: AnyTable): Promise<readonly string[]> => {
  const stored = new Set((await storedColumns(name)).map(text))
  const listed = Object.values(columns).map(([column, type]) => text({ column, type }))
  return listed.filter(column => !stored.has(column))
}

/** Columns of all objects. */
const sharedColumns = ['id', 'account_id', 'live_mode', 'time_created', 'deleted_at']

/** Tables, with the columns that other statements read and write. */
const tables: readonly (readonly [AnyTable, readonly string[]])[] = [
  [deviceTable, []],
  [customerTable, []],
  [locationTable, ['needs_calendar', 'pricing_revision']],
  [endpointTable, ['disabled_at', 'outbox_id']],
  [marketTable, ['forecast_from', 'forecast_timezone', 'linked_at']],
  [calendarTable, ['revision', 'source_version']],
]

describe.each(tables.map(([table, others]) => ({ table, others, name: table.name })))('the table $name', entry => {
  it('has the columns and types of the migrated table', async () => {
    expect(await missingColumns(entry.table)).toEqual([])
  })

  it('has all columns of the migrated table, apart from the named ones', async () => {
    const listed = [...sharedColumns, ...Object.values(entry.table.columns).map(([column]) => column)]
    const others = (await storedColumns(entry.name)).flatMap(({ column }) => (listed.includes(column) ? [] : [column]))
    expect(others.toSorted()).toEqual(entry.others)
  })
})

describe('the comparison of tables', () => {
  it('finds an unknown column and a wrong type', async () => {
    const wrong: AnyTable = {
      name: 'devices',
      columns: { note: ['note', 'text'], register: ['register', 'json'], metadata: ['metadata', 'jsonb'] },
    }
    expect(await missingColumns(wrong)).toEqual(['note text', 'register json'])
  })
})
