import sql from 'sql-template-tag'
import type { Tariff } from '../../../domain/tariff/tariff.ts'
import { overlappingTariff } from '../../../domain/tariff/tariff-change.ts'
import { toTimestampOrNull } from '../column.ts'
import { ownedBy } from '../page.ts'
import type { StoredTariff } from '../pricing/tariff-row.ts'
import { retrieveTariff } from '../pricing/tariffs.ts'
import type { TenantTransaction } from '../transaction.ts'
import type { ReplacedTariff } from './connect-sessions.ts'

/**
 * Let a tariff hold again as it did before another one took its place. `others`: the location's tariffs of its kind that are not voided, it
 * among them. Null where it was ended or changed otherwise since, or where another tariff has come into its time. The caller owes the order.
 */
export const restoreTariff = async (
  transaction: TenantTransaction,
  { id, way, cutAt, contractEnd }: ReplacedTariff,
  others: readonly Tariff[],
): Promise<StoredTariff | null> => {
  const cut = others.find(one => one.id === id)
  const isAsCut = way === 'closes' ? cut?.closedAt === cutAt : cut?.closedAt === null && cut.contractEnd === cutAt
  if (cut === undefined || !isAsCut) return null
  if (overlappingTariff({ ...cut, closedAt: null, contractEnd }, others) !== undefined) return null
  await transaction.query(sql`
    update tariffs set closed_at = null, contract_end = ${toTimestampOrNull(contractEnd)}
    where ${ownedBy(transaction)} and id = ${id}`)
  return retrieveTariff(transaction, id)
}
