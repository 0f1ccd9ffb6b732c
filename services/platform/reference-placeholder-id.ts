import { createHash } from 'node:crypto'
import { idPrefixes } from '../domain/identifier.ts'
import type { Tenant } from './postgres/transaction.ts'

/**
 * Give the id under which the failure of a record is kept that names an unknown reference: it tells an erasure of an object with that
 * reference which words are about the object. Equal for equal references of a tenant, and the id of no object.
 */
export const referencePlaceholderId = (
  { accountId, liveMode }: Tenant,
  kind: 'location' | 'device',
  reference: string,
): string => {
  const hash = createHash('sha256')
    .update(`reference ${kind} ${accountId} ${liveMode ? 'L' : 'T'} ${reference}`)
    .digest('hex')
  return idPrefixes[kind] + hash.slice(0, 24)
}
