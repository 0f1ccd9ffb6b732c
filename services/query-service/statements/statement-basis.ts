import { createHash } from 'node:crypto'
import { statementRules } from '../../domain/statement/calculate-statement.ts'
import type { Tenant } from '../../domain/tenant.ts'
import { readPricingRevisions } from '../../platform/postgres/pricing/pricing-input.ts'
import type { StoredFinal } from '../../platform/postgres/statements/statements.ts'
import { type BillingTerms, readsOf, readsSessions, type StatementStores, spanOf } from './gather-statement.ts'

/** Write a value as JSON. Integers of any size are texts, sets are lists. */
const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) => {
    if (typeof one === 'bigint') return `${one}n`
    return one instanceof Set ? [...one] : one
  })

/** Days and request of a FINAL statement. */
type BasisRequest = Pick<StoredFinal, 'id' | 'request' | 'startDay' | 'endDay'>

/**
 * Return for each FINAL statement of a location a hash of all that decides its lines now: stored rows, charges, tariffs,
 * calendar, and the rules of the calculation. Equal hashes mean equal lines. Read it before the rows: rows that change
 * in between then give another hash later. Empty if charges read whole sessions, whose records can be at any time.
 * Throws `Failure` if a store is unavailable.
 */
export const readBases = async (
  { records, database }: Pick<StatementStores, 'records' | 'database'>,
  tenant: Tenant,
  terms: BillingTerms,
  finals: readonly BasisRequest[],
): Promise<ReadonlyMap<string, string>> => {
  if (finals.length === 0 || readsSessions(terms)) return new Map()
  const { location, timeZone, charges, calendar } = terms
  const locationId = location.id
  const intervals = finals.map(final => {
    const { start, end } = spanOf(timeZone, final)
    const { readFrom, earlier } = readsOf(terms, start, final)
    return { from: Math.min(readFrom, earlier?.from ?? readFrom), to: end }
  })
  const [prices] = await readPricingRevisions(database.operator, [{ ...tenant, locationId }])
  if (prices === undefined) return new Map()
  const { fingerprints, includesDevices } = await records.fingerprintsOf({ tenant, locationId, intervals })
  const shared = textOf([statementRules, location, charges, calendar, prices.revision, includesDevices])
  return new Map(
    finals.map(({ id, request }, index) => {
      const own = textOf([request, fingerprints[index]])
      return [id, createHash('sha256').update(shared).update(own).digest('hex')]
    }),
  )
}
