import sql from 'sql-template-tag'
import { defaultMaxPower, type RegisterProperties, registerRuleOf } from '../../../domain/record/reading-rules.ts'
import { readRows } from '../database.ts'
import { isActive, ownedBy } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'

/** Maximum number of tariffs, and of objects with a raised power, that a statement of the engine names. */
const maxTariffs = 1_000_000
const maxRaised = 100_000

/** Objects of a tenant that decide the columns of a table of records. */
export type TableObjects = {
  /** All NON_COMMODITY tariffs, also closed ones. */
  readonly nonCommodityIds: readonly string[]
  /** Active locations and devices that allow a mean power above 10 MW; `maxPower` in 1e-6 W. */
  readonly raisedPowers: readonly { readonly id: string; readonly maxPower: bigint }[]
}

/** Return the objects of a table of records. Throws RangeError above a million tariffs, or 100,000 raised powers. */
export const tableObjects = async (transaction: TenantTransaction): Promise<TableObjects> => {
  const read = readRows(transaction.query)
  const tariffs = await read<{ id: string }>(sql`
    select id from tariffs where ${ownedBy(transaction)} and type = 'NON_COMMODITY'
    limit ${maxTariffs + 1}`)
  if (tariffs.length > maxTariffs) throw new RangeError('The account has too many NON_COMMODITY tariffs for an export.')
  const isRaised = sql`${ownedBy(transaction)} and ${isActive}
    and (register -> 'maxPower' ->> 'power')::numeric > ${String(defaultMaxPower)}::numeric`
  const raised = await read<{ id: string; register: RegisterProperties }>(sql`
    select id, register from locations where ${isRaised} union all select id, register from devices where ${isRaised}
    limit ${maxRaised + 1}`)
  if (raised.length > maxRaised) throw new RangeError('The account has too many objects above 10 MW for an export.')
  return {
    nonCommodityIds: tariffs.map(({ id }) => id),
    raisedPowers: raised.map(({ id, register }) => ({ id, maxPower: registerRuleOf(register).maxPower ?? 0n })),
  }
}
