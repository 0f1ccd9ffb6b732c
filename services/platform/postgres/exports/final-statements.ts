import sql from 'sql-template-tag'
import { toTimestamp } from '../column.ts'
import { readRows } from '../database.ts'
import { ownedBy } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'

const pageSize = 100

/** Read the next FINAL statements that have a day of a period, after an id in the order of the ids. */
export const finalStatementPage = (
  transaction: TenantTransaction,
  { locationId, from, to }: { readonly locationId: string | null; readonly from: number; readonly to: number },
  after: string,
): Promise<readonly { readonly id: string; readonly answer: string }[]> =>
  readRows(transaction.query)(sql`
    select id, answer from statements
    where ${ownedBy(transaction)} and finalised_at is not null and id > ${after}
      and (${locationId}::text is null or location_id = ${locationId})
      and start_date < ${toTimestamp(to)}::timestamptz and end_date > ${toTimestamp(from)}::timestamptz
    order by id limit ${pageSize}`)
