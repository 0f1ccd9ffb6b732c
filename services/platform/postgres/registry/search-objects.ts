import sql, { join, raw } from 'sql-template-tag'
import { readRows } from '../database.ts'
import { ownedBy } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'

/** Object that a search found. */
export type FoundObject = {
  readonly kind: string
  readonly id: string
  readonly name: string
  readonly locationId: string | null
}

/** Tables that a search reads: the shown name, the searched texts, the location, and the condition of active rows. */
const tables = [
  {
    kind: 'location',
    table: 'locations',
    prefix: 'loc_',
    name: 'coalesce(display_name, reference_id)',
    texts: ['display_name', 'reference_id'],
    location: 'id',
    active: 'deleted_at is null',
  },
  {
    kind: 'device',
    table: 'devices',
    prefix: 'dev_',
    name: 'coalesce(display_name, reference_id)',
    texts: ['display_name', 'reference_id'],
    location: 'null',
    active: 'deleted_at is null',
  },
  {
    kind: 'customer',
    table: 'customers',
    prefix: 'cus_',
    name: 'coalesce(display_name, reference_id)',
    texts: ['display_name', 'reference_id'],
    location: 'null',
    active: 'deleted_at is null',
  },
  {
    kind: 'tariff',
    table: 'tariffs',
    prefix: 'trf_',
    name: 'display_name',
    texts: ['display_name'],
    location: 'location_id',
    active: 'closed_at is null and voided_at is null',
  },
  {
    kind: 'plan',
    table: 'plans',
    prefix: 'pln_',
    name: 'name',
    texts: ['name'],
    location: 'null',
    active: 'deleted_at is null',
  },
] as const

/** Escape the wildcards of LIKE. */
const literalPattern = (text: string): string => text.replace(/[\\%_]/g, '\\$&')

/**
 * Find objects of a tenant whose name or own reference contains a text, or whose id begins with the text. The names of the newest
 * `scanned` objects of each kind are searched. Returns at most `limit` objects of each kind, the newest first.
 */
export const searchObjects = async (
  { query, ...tenant }: TenantTransaction,
  text: string,
  { limit, scanned }: { readonly limit: number; readonly scanned: number },
): Promise<readonly FoundObject[]> => {
  const pattern = `%${literalPattern(text)}%`
  const parts = tables.map(({ kind, table, prefix, name, texts, location, active }) => {
    const columns = sql`${kind}::text as kind, id, coalesce(${raw(name)}, id) as name, ${raw(location)}::text as "locationId"`
    const matches = join(
      texts.map(column => sql`${raw(column)} ilike ${pattern}`),
      ' or ',
    )
    const owned = sql`${ownedBy(tenant)} and ${raw(active)}`
    const found = text.startsWith(prefix)
      ? sql`select ${columns} from ${raw(table)} where ${owned} and id >= ${text} and id < ${`${text}g`}
          order by id desc limit ${limit}`
      : sql`select ${columns} from (select * from ${raw(table)} where ${owned} order by id desc limit ${scanned}) newest
          where ${matches} order by id desc limit ${limit}`
    return sql`(${found})`
  })
  const statement = join(parts, ' union all ')
  return readRows(query)<FoundObject>(sql`${statement}`)
}

/** Return whether an event of a tenant exists. */
export const hasEvent = async ({ query, ...tenant }: TenantTransaction, id: string): Promise<boolean> => {
  const { rows } = await query(sql`select 1 from events where ${ownedBy(tenant)} and id = ${id}`)
  return rows.length > 0
}
