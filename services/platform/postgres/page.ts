import sql, { join, raw, type Sql } from 'sql-template-tag'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { Query } from './database.ts'
import type { Tenant } from './transaction.ts'

/** Position in a list: `limit` objects after an object (older), before an object (newer), or from the newest on. */
export type Paging = {
  readonly limit: number
  readonly startingAfter: string | null
  readonly endingBefore: string | null
}

/** Page of objects, newest first. `hasMore`: more objects exist in the direction of paging. */
export type Page<T> = { readonly items: readonly T[]; readonly hasMore: boolean }

/** Convert the rows of a page. */
export const mapPage = <Row, Item>(page: Result<Page<Row>>, fromRow: (row: Row) => Item): Result<Page<Item>> =>
  page.ok ? accepted({ ...page.value, items: page.value.items.map(fromRow) }) : page

/**
 * Rows of a list. `table`: a name in the code, never input; `scope`: the rows that a cursor may name; `filter`: the
 * rows of them that are listed; `columns`: the columns to read.
 */
export type Listing = { readonly table: string; readonly columns: Sql; readonly scope: Sql; readonly filter: Sql }

/** Start of a page and order of its rows. */
type PageStart = {
  readonly cursorCondition: Sql
  readonly direction: Sql
  readonly isBack: boolean
}

const findPageStart = async (
  query: Query,
  { table, scope }: Pick<Listing, 'table' | 'scope'>,
  { startingAfter, endingBefore }: Paging,
): Promise<Result<PageStart>> => {
  const isBack = endingBefore !== null
  const cursor = startingAfter ?? endingBefore
  if (cursor !== null) {
    const known = await query(sql`select 1 from ${raw(table)} where ${scope} and id = ${cursor}`)
    const field = isBack ? 'ending_before' : 'starting_after'
    if (known.rows.length === 0)
      return refused('cursor_not_found', `${field} must be the id of an object of this list.`, field)
  }
  const cursorCondition = cursor === null ? sql`` : isBack ? sql`and id > ${cursor}` : sql`and id < ${cursor}`
  return accepted({ cursorCondition, direction: isBack ? sql`asc` : sql`desc`, isBack })
}

const newestFirst = <Row>(rows: readonly Row[], { isBack }: PageStart): readonly Row[] =>
  isBack ? rows.toReversed() : rows

/**
 * Read one page of a table, newest first. Pages stay stable if objects are added or deleted: the cursor of a deleted
 * object stays valid.
 * Refuses `cursor_not_found` if the id was never in the scope.
 * Source: docs/rules/identifiers-and-lists.md #lists.
 */
export const readPage = async <Row>(query: Query, listing: Listing, paging: Paging): Promise<Result<Page<Row>>> => {
  const pageStart = await findPageStart(query, listing, paging)
  if (!pageStart.ok) return pageStart
  const { columns, scope, filter } = listing
  const { cursorCondition, direction } = pageStart.value
  const { rows } = await query<Row>(sql`
    select ${columns} from ${raw(listing.table)} where ${scope} and ${filter} ${cursorCondition}
    order by id ${direction} limit ${paging.limit + 1}`)
  return accepted({
    items: newestFirst(rows.slice(0, paging.limit), pageStart.value),
    hasMore: rows.length > paging.limit,
  })
}

/**
 * List of objects that may be large. `size`: stored bytes of an object; `maxBytes`: of a page, unless its first object
 * is larger.
 */
export type BoundedListing = Listing & { readonly size: Sql; readonly maxBytes: number }

/** `page_found`: number of objects from the start of the page, up to one more than the limit. */
type FoundCount = { readonly page_found: number }

/**
 * Read one page as `readPage` does. A page of large objects ends before its limit, with `hasMore`. One statement reads
 * sizes and objects, so that the page shows one state of the table.
 * Refuses `cursor_not_found`.
 */
export const readBoundedPage = async <Row>(
  query: Query,
  listing: BoundedListing,
  paging: Paging,
): Promise<Result<Page<Row>>> => {
  const pageStart = await findPageStart(query, listing, paging)
  if (!pageStart.ok) return pageStart
  const { columns, scope, filter, size, maxBytes } = listing
  const { cursorCondition, direction } = pageStart.value
  const table = raw(listing.table)
  const { rows } = await query<Row & FoundCount>(sql`
    with listed as (
      select id, (${size})::bigint as size from ${table} where ${scope} and ${filter} ${cursorCondition}
      order by id ${direction} limit ${paging.limit + 1}
    ), measured as (
      select id, row_number() over page as place, sum(size) over page as bytes from listed
      window page as (order by id ${direction})
    )
    select ${columns}, (select count(*)::int from listed) as page_found from ${table}
    where ${scope} and id in (
      select id from measured where place <= ${paging.limit} and (place = 1 or bytes <= ${maxBytes})
    )
    order by id ${direction}`)
  const found = rows[0]?.page_found ?? 0
  const items = rows.map(({ page_found: _, ...row }) => row as unknown as Row)
  return accepted({ items: newestFirst(items, pageStart.value), hasMore: found > rows.length })
}

/** Condition for the rows of a tenant; the index finds them. */
export const ownedBy = ({ accountId, liveMode }: Tenant): Sql =>
  sql`account_id = ${accountId} and live_mode = ${liveMode}`

/** Condition that a column has a value; true for all rows if the value is null. */
export const matching = (column: string, value: string | null | undefined): Sql =>
  value === null || value === undefined ? sql`true` : sql`${raw(column)} = ${value}`

export const allOf = (...conditions: readonly Sql[]): Sql => join(conditions, ' and ')

export const isActive: Sql = sql`deleted_at is null`
