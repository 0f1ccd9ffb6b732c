import { type RawBuilder, sql } from 'kysely'
import {
  type FindReferences,
  type FoundReferences,
  isPossibleReference,
  type OwnReference,
  type ReferenceKind,
  referenceKinds,
} from '../../domain/reference.ts'
import type { Database } from './database.ts'
import { isLiving, ownedBy } from './page.ts'
import { type TenantTransaction, withTenant } from './transaction.ts'

const tables = { location: 'locations', device: 'devices', customer: 'customers' } as const satisfies Record<ReferenceKind, string>

/** References in one statement, so that a search for 20,000 takes no long turn. */
const referencesAtOnce = 1_000

/** Find the active objects of a tenant that have some own references; the index on the reference finds each. */
const findReferenced = async (transaction: TenantTransaction, wanted: readonly OwnReference[]): Promise<FoundReferences> => {
  const found = { location: new Map<string, string>(), device: new Map<string, string>(), customer: new Map<string, string>() }
  for (let from = 0; from < wanted.length; from += referencesAtOnce) {
    for (const { kind, reference, id } of await findSome(transaction, wanted.slice(from, from + referencesAtOnce))) {
      found[kind].set(reference, id)
    }
  }
  return found
}

type Found = { readonly kind: ReferenceKind; readonly reference: string; readonly id: string }

const findSome = async (transaction: TenantTransaction, wanted: readonly OwnReference[]): Promise<readonly Found[]> => {
  const parts = referenceKinds.flatMap((kind): RawBuilder<unknown>[] => {
    const references = new Set(wanted.filter(one => one.kinds.includes(kind)).map(({ reference }) => reference))
    const possible = [...references].filter(isPossibleReference)
    if (possible.length === 0) return []
    return [
      sql`select ${kind}::text as kind, reference_id as reference, id from ${sql.table(tables[kind])}
        where ${ownedBy(transaction)} and reference_id = any(${possible}) and ${isLiving}`,
    ]
  })
  if (parts.length === 0) return []
  return (await sql<Found>`${sql.join(parts, sql` union all `)}`.execute(transaction.query)).rows
}

/** Make the search for the objects that own references name, in one transaction each. */
export const referenceFinder =
  (database: Database): FindReferences =>
  (tenant, wanted) =>
    withTenant(database, tenant, transaction => findReferenced(transaction, wanted))
