import sql, { join, raw, type Sql } from 'sql-template-tag'
import { type RegisterProperties, type RegisterRule, registerRuleOf } from '../../../domain/record/reading-rules.ts'
import {
  type FindReferences,
  isPossibleReference,
  type OwnReference,
  type ReferenceIds,
  type ReferenceKind,
  referenceKinds,
} from '../../../domain/reference.ts'
import type { Database } from '../database.ts'
import { isActive, ownedBy } from '../page.ts'
import { type TenantTransaction, withTenant } from '../transaction.ts'

const tables = { location: 'locations', device: 'devices', customer: 'customers' } as const satisfies Record<
  ReferenceKind,
  string
>

/** Find the active objects of a tenant by own references, in one statement that uses the indexes on references. */
const findReferenced = async (
  transaction: TenantTransaction,
  wanted: readonly OwnReference[],
): Promise<ReferenceIds> => {
  const found = {
    location: new Map<string, string>(),
    device: new Map<string, string>(),
    customer: new Map<string, string>(),
  }
  const parts = referenceKinds.flatMap((kind): Sql[] => {
    const references = new Set(wanted.filter(one => one.kinds.includes(kind)).map(({ reference }) => reference))
    const possible = [...references].filter(isPossibleReference)
    if (possible.length === 0) return []
    return [
      sql`select ${kind}::text as kind, reference_id as reference, id from ${raw(tables[kind])}
        where ${ownedBy(transaction)} and reference_id = any(${possible}) and ${isActive}`,
    ]
  })
  if (parts.length === 0) return found
  const statement = join(parts, ' union all ')
  const { rows } = await transaction.query<{ kind: ReferenceKind; reference: string; id: string }>(sql`${statement}`)
  for (const { kind, reference, id } of rows) found[kind].set(reference, id)
  return found
}

/** Create the search for objects by own references, each search in its own transaction. */
export const referenceFinder =
  (database: Database): FindReferences =>
  (tenant, wanted) =>
    withTenant(database, tenant, transaction => findReferenced(transaction, wanted))

/** Return the ids that are active locations and devices, with the properties of their registers, in one statement. */
export const findActiveObjects = async (
  transaction: TenantTransaction,
  locationIds: readonly string[],
  deviceIds: readonly string[],
): Promise<ReadonlyMap<string, RegisterRule | null>> => {
  const { rows } = await transaction.query<{ id: string; register: RegisterProperties | null }>(sql`
    select id, register from locations where ${ownedBy(transaction)} and id = any(${locationIds}) and ${isActive}
    union all
    select id, register from devices where ${ownedBy(transaction)} and id = any(${deviceIds}) and ${isActive}`)
  return new Map(rows.map(({ id, register }) => [id, register === null ? null : registerRuleOf(register)]))
}
