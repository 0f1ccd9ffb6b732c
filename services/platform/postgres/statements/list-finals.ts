import sql from 'sql-template-tag'
import { accepted, type Result, refused } from '../../../domain/refusal.ts'
import { readFirst, readRows } from '../database.ts'
import { matching, ownedBy, type Page, type Paging } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'
import { linesFromText } from './statements.ts'

/** FINAL statement of a list. `summary`: its answer without lines, as JSON. `adjusts`: the statements that it adjusts. */
export type ListedFinal = {
  readonly summary: string
  readonly adjusts: readonly string[]
  readonly finalisedAt: number
}

/**
 * List FINAL statements by falling start date, of a location or of all (`locationId` null). The cursor of a voided
 * statement stays valid.
 * Refuses `cursor_not_found`.
 */
export const listFinals = async (
  transaction: TenantTransaction,
  locationId: string | null,
  { limit, startingAfter, endingBefore }: Paging,
): Promise<Result<Page<ListedFinal>>> => {
  const isBack = endingBefore !== null
  const cursor = startingAfter ?? endingBefore
  const [comparison, direction] = isBack ? [sql`>`, sql`asc`] : [sql`<`, sql`desc`]
  const place =
    cursor === null
      ? null
      : await readFirst(transaction.query)<{ start: string }>(sql`
          select start_date::text as start from statements where ${ownedBy(transaction)} and id = ${cursor}`)
  if (cursor !== null && place === null) {
    const field = isBack ? 'ending_before' : 'starting_after'
    return refused('cursor_not_found', `${field} must be the id of a statement of this list.`, field)
  }
  const isAfterCursor =
    place === null ? sql`true` : sql`(start_date, id) ${comparison} (${place.start}::date, ${cursor})`
  const rows = await readRows(transaction.query)<Pick<ListedFinal, 'summary' | 'finalisedAt'> & { lines: string }>(sql`
    select summary, lines, finalised_at as "finalisedAt" from statements
    where ${ownedBy(transaction)} and ${matching('location_id', locationId)} and finalised_at is not null
      and ${isAfterCursor}
    order by start_date ${direction}, id ${direction} limit ${limit + 1}`)
  const items = rows.slice(0, limit).map(({ lines, ...row }) => ({
    ...row,
    adjusts: [...new Set(linesFromText(lines).flatMap(({ statementId: id }) => (id === null ? [] : [id])))],
  }))
  return accepted({ items: isBack ? items.toReversed() : items, hasMore: rows.length > limit })
}
