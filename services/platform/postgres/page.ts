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

/**
 * Read one page of a table, newest first. Stable while objects come and go: a cursor holds also after its object was deleted.
 * Refuses `cursor_not_found` for an id that was never in the scope. Source: docs/rules/identifiers-and-lists.md #lists.
 */
export const readPage = async <Row, Item>(
  query: Kysely<Tables>,
  listing: Listing<Row, Item>,
  paging: Paging,
): Promise<Result<Page<Item>>> => {
  const { columns, scope, filter, fromRow, turnOf } = listing
  const table = sql.table(listing.table)
  const backwards = paging.endingBefore !== null
  const cursor = paging.startingAfter ?? paging.endingBefore
  if (cursor !== null) {
    const known = await sql`select 1 from ${table} where ${scope} and id = ${cursor}`.execute(query)
    const field = backwards ? 'ending_before' : 'starting_after'
    if (known.rows.length === 0) return refused('cursor_not_found', `${field} must be the id of an object of this list.`, field)
  }
  const place = cursor === null ? sql`` : backwards ? sql`and id > ${cursor}` : sql`and id < ${cursor}`
  const { rows } = await sql<Row>`
    select ${columns} from ${table} where ${scope} and ${filter} ${place}
    order by id ${backwards ? sql`asc` : sql`desc`} limit ${paging.limit + 1}`.execute(query)
  const items: Item[] = []
  const slices = turnOf === undefined ? null : beginSlices(turnOf)
  for (const row of rows.slice(0, paging.limit)) {
    items.push(fromRow(row))
    if (slices?.isOver() === true) await slices.rest()
  }
  return accepted({ items: backwards ? items.reverse() : items, hasMore: rows.length > paging.limit })
}

/** A list whose objects may be large: `size` is the bytes of one as it is stored, `mostBytes` those of a page, unless its first object has more. */
export type BoundedListing<Row, Item> = Listing<Row, Item> & { readonly size: RawBuilder<number>; readonly mostBytes: number }

type Sized = { readonly id: string; readonly size: number }

/** The objects that begin a page and have at most so many bytes together; the first one in any case. */
const withinBytes = (items: readonly Sized[], mostBytes: number): readonly Sized[] => {
  let bytes = 0
  const beyond = items.findIndex(({ size }, index) => {
    bytes += size
    return index > 0 && bytes > mostBytes
  })
  return beyond === -1 ? items : items.slice(0, beyond)
}

/** Read one page as `readPage` does. The page ends sooner than asked for if its objects are large: then `hasMore`. Refuses `cursor_not_found`. */
export const readBoundedPage = async <Row, Item>(
  query: Kysely<Tables>,
  { size, mostBytes, ...listing }: BoundedListing<Row, Item>,
  paging: Paging,
): Promise<Result<Page<Item>>> => {
  const sized = { ...listing, columns: sql`id, ${size} as size`, fromRow: (row: Sized) => row }
  const listed = await readPage(query, sized, paging)
  if (!listed.ok) return listed
  const { items, hasMore } = listed.value
  // A page that goes back begins beside its cursor, at its end.
  const isBack = paging.endingBefore !== null
  const within = isBack ? withinBytes(items.toReversed(), mostBytes).toReversed() : withinBytes(items, mostBytes)
  const ids = within.map(({ id }) => id)
  const whole = { ...listing, filter: sql`id = any(${ids})` }
  const read = await readPage(query, whole, { limit: within.length, startingAfter: null, endingBefore: null })
  return read.ok ? accepted({ items: read.value.items, hasMore: hasMore || within.length < items.length }) : read
}

/** The condition that finds a tenant's rows by their index. */
export const ownedBy = ({ accountId, liveMode }: Tenant): RawBuilder<boolean> =>
  sql<boolean>`account_id = ${accountId} and live_mode = ${liveMode}`

/** A condition on a column, where a filter asks for one. */
export const matching = (column: string, value: string | null | undefined): RawBuilder<boolean> =>
  value === null || value === undefined ? sql<boolean>`true` : sql<boolean>`${sql.ref(column)} = ${value}`

export const all = (...conditions: readonly RawBuilder<unknown>[]): RawBuilder<unknown> => sql.join(conditions, sql` and `)

export const isLiving: RawBuilder<unknown> = sql`deleted_at is null`
