import sql, { raw } from 'sql-template-tag'
import { ownedBy } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'

type ImportedTable = 'tariffs' | 'charges'

/** Save the source of an imported tariff or charge. */
export const saveImportSource = async (
  transaction: TenantTransaction,
  table: ImportedTable,
  id: string,
  sourceId: string,
): Promise<void> => {
  await transaction.query(
    sql`update ${raw(table)} set source_id = ${sourceId} where ${ownedBy(transaction)} and id = ${id}`,
  )
}

/** Return the sources of the imported tariffs or charges of a location, by id. */
export const importSourcesOf = async (
  transaction: TenantTransaction,
  table: ImportedTable,
  locationId: string,
): Promise<ReadonlyMap<string, string>> => {
  const { rows } = await transaction.query<{ id: string; sourceId: string }>(sql`
    select id, source_id as "sourceId" from ${raw(table)}
    where ${ownedBy(transaction)} and location_id = ${locationId} and source_id is not null`)
  return new Map(rows.map(({ id, sourceId }) => [id, sourceId]))
}
