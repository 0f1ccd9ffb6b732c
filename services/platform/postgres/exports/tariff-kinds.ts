import sql from 'sql-template-tag'
import { readRows } from '../database.ts'
import type { TenantTransaction } from '../transaction.ts'

/** Maximum number of tariffs that a statement of the engine names. */
const maxTariffs = 1_000_000

/** Return the ids of the NON_COMMODITY tariffs of a tenant, also of closed ones. Throws RangeError above a million. */
export const nonCommodityTariffs = async ({
  query,
  accountId,
  liveMode,
}: TenantTransaction): Promise<readonly string[]> => {
  const rows = await readRows(query)<{ id: string }>(sql`
    select id from tariffs
    where account_id = ${accountId} and live_mode = ${liveMode} and type = 'NON_COMMODITY'
    limit ${maxTariffs + 1}`)
  if (rows.length > maxTariffs) throw new RangeError('The account has too many NON_COMMODITY tariffs for an export.')
  return rows.map(({ id }) => id)
}
