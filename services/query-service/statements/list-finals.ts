import { pageRequest } from '../../contract/list.ts'
import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import { type statementList, statementListUrl } from '../../contract/statements/statement-operations.ts'
import { writeInstant } from '../../domain/instant.ts'
import { noNamedObject } from '../../domain/no-object.ts'
import { costedLocations } from '../../platform/postgres/pricing/costed-locations.ts'
import { type ListedFinal, listFinals } from '../../platform/postgres/statements/list-finals.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { tenantOf } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'

/** Add the members of the list to the stored JSON of a statement. The stored text is not read: its digits stay. */
const listedText = ({ summary, adjusts, finalisedAt }: ListedFinal): string =>
  `${summary.slice(0, -1)},${JSON.stringify({ adjusts, time_finalised: writeInstant(finalisedAt) }).slice(1)}`

/** Answer the FINAL statements of a location or of all locations. Nothing is calculated. */
export const answerFinals = async (
  { database }: Pick<QueryServiceDependencies, 'database'>,
  request: RequestOf<typeof statementList>,
): Promise<Outcome<AnswerOf<typeof statementList>>> => {
  const { location_id: locationId = null } = request.query
  const page = await withTenant(database, tenantOf(request), async transaction =>
    locationId !== null && (await costedLocations(transaction, [locationId])).length === 0
      ? noNamedObject('location', 'location_id')
      : listFinals(transaction, locationId, pageRequest(request.query)),
  )
  if (!page.ok) return page
  const { items, hasMore } = page.value
  const head = JSON.stringify({ object: 'list', url: statementListUrl, has_more: hasMore }).slice(0, -1)
  return { ok: true, serialized: { bytes: Buffer.from(`${head},"data":[${items.map(listedText).join(',')}]}`) } }
}
