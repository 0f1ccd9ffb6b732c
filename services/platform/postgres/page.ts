import { type Kysely, type RawBuilder, sql } from 'kysely'
import { beginSlices } from '../../contract/slices.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { Tables } from './tables.ts'
import type { Tenant } from './transaction.ts'

/** Where in a list to read: `limit` objects after one of them (older), before one (newer), or from the newest on. */
export type Paging = { readonly limit: number; readonly startingAfter: string | null; readonly endingBefore: string | null }

/** Objects newest first; `hasMore` tells whether more exist in the direction of paging. */
export type Page<T> = { readonly items: readonly T[]; readonly hasMore: boolean }

/**
 * What a list reads: `scope` says whose rows they are, `filter` which of them are shown, `columns` what `fromRow` needs. `turnOf`: rows are
 * large, and are read in slices of that account's turn; the transaction is open meanwhile.
 */
export type Listing<Row, Item> = {
  readonly table: keyof Tables
  readonly columns: RawBuilder<unknown>
  readonly scope: RawBuilder<unknown>
  readonly filter: RawBuilder<unknown>
  readonly fromRow: (row: Row) => Item
  readonly turnOf?: string
}

/** Where a page begins and how its rows are ordered. */
type Beginning = { readonly place: RawBuilder<unknown>; readonly direction: RawBuilder<unknown>; readonly isBack: boolean }

const beginningOf = async (
  query: Kysely<Tables>,
  { table, scope }: Pick<Listing<unknown, unknown>, 'table' | 'scope'>,
  { startingAfter, endingBefore }: Paging,
): Promise<Result<Beginning>> => {
  const isBack = endingBefore !== null
  const cursor = startingAfter ?? endingBefore
  if (cursor !== null) {
    const known = await sql`select 1 from ${sql.table(table)} where ${scope} and id = ${cursor}`.execute(query)
    const field = isBack ? 'ending_before' : 'starting_after'
    if (known.rows.length === 0) return refused('cursor_not_found', `${field} must be the id of an object of this list.`, field)
  }
  const place = cursor === null ? sql`` : isBack ? sql`and id > ${cursor}` : sql`and id < ${cursor}`
  return accepted({ place, direction: isBack ? sql`asc` : sql`desc`, isBack })
}

const itemsOf = async <Row, Item>(
  rows: readonly Row[],
  { fromRow, turnOf }: Pick<Listing<Row, Item>, 'fromRow' | 'turnOf'>,
  { isBack }: Beginning,
): Promise<readonly Item[]> => {
  const items: Item[] = []
  const slices = turnOf === undefined ? null : beginSlices(turnOf)
  for (const row of rows) {
    items.push(fromRow(row))
    if (slices?.isOver() === true) await slices.rest()
  }
  return isBack ? items.reverse() : items
}

/**
 * Read one page of a table, newest first. Stable while objects come and go: a cursor holds also after its object was deleted.
 * Refuses `cursor_not_found` for an id that was never in the scope. Source: docs/rules/identifiers-and-lists.md #lists.
 */
export const readPage = async <Row, Item>(
  query: Kysely<Tables>,
  listing: Listing<Row, Item>,
  paging: Paging,
): Promise<Result<Page<Item>>> => {
  const begun = await beginningOf(query, listing, paging)
  if (!begun.ok) return begun
  const { columns, scope, filter } = listing
  const { place, direction } = begun.value
  const { rows } = await sql<Row>`
    select ${columns} from ${sql.table(listing.table)} where ${scope} and ${filter} ${place}
    order by id ${direction} limit ${paging.limit + 1}`.execute(query)
  return accepted({ items: await itemsOf(rows.slice(0, paging.limit), listing, begun.value), hasMore: rows.length > paging.limit })
}

/** A list whose objects may be large: `size` is the bytes of one as it is stored, `mostBytes` those of a page, unless its first object has more. */
export type BoundedListing<Row, Item> = Listing<Row, Item> & { readonly size: RawBuilder<number>; readonly mostBytes: number }

/** `page_found`: how many objects there are from the beginning of the page on, up to one more than asked for. */
type Found = { readonly page_found: number }

/**
 * Read one page as `readPage` does. The page ends sooner than asked for if its objects are large: then `hasMore`. Sizes and objects are read in
 * one statement, so that the page shows one state of the table, whatever is written meanwhile. Refuses `cursor_not_found`.
 */
export const readBoundedPage = async <Row, Item>(
  query: Kysely<Tables>,
  listing: BoundedListing<Row, Item>,
  paging: Paging,
): Promise<Result<Page<Item>>> => {
  const begun = await beginningOf(query, listing, paging)
  if (!begun.ok) return begun
  const { columns, scope, filter, size, mostBytes } = listing
  const { place, direction } = begun.value
  const table = sql.table(listing.table)
  const { rows } = await sql<Row & Found>`
    with listed as (
      select id, (${size})::bigint as size from ${table} where ${scope} and ${filter} ${place}
      order by id ${direction} limit ${paging.limit + 1}
    ), measured as (
      select id, row_number() over page as place, sum(size) over page as bytes from listed window page as (order by id ${direction})
    )
    select ${columns}, (select count(*)::int from listed) as page_found from ${table}
    where ${scope} and id in (
      select id from measured where place <= ${paging.limit} and (place = 1 or bytes <= ${mostBytes})
    )
    order by id ${direction}`.execute(query)
  const found = rows[0]?.page_found ?? 0
  return accepted({ items: await itemsOf(rows, listing, begun.value), hasMore: found > rows.length })
}

/** The condition that finds a tenant's rows by their index. */
export const ownedBy = ({ accountId, liveMode }: Tenant): RawBuilder<boolean> =>
  sql<boolean>`account_id = ${accountId} and live_mode = ${liveMode}`

/** A condition on a column, where a filter asks for one. */
export const matching = (column: string, value: string | null | undefined): RawBuilder<boolean> =>
  value === null || value === undefined ? sql<boolean>`true` : sql<boolean>`${sql.ref(column)} = ${value}`

export const all = (...conditions: readonly RawBuilder<unknown>[]): RawBuilder<unknown> => sql.join(conditions, sql` and `)

export const isLiving: RawBuilder<unknown> = sql`deleted_at is null`
