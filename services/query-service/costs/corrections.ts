import { listAnswer, pageRequest } from '../../contract/list.ts'
import { correctionList, correctionToWire } from '../../contract/metering/correction.ts'
import type { AnswerOf, RequestOf } from '../../contract/operation.ts'
import { isId } from '../../domain/identifier.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { hasCorrection, pageOfCorrections } from '../../platform/clickhouse/meter-cost/corrections.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { costTarget } from '../../platform/postgres/pricing/costed-locations.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { tenantOf } from '../change.ts'
import type { CostDependencies } from '../dependencies.ts'
import { recordPrefix } from './stored-row.ts'

type Request = RequestOf<typeof correctionList>

/** Refuse the id of a location or device that the account does not have. */
const refuseUnknown = async ({ database }: CostDependencies, request: Request) => {
  for (const kind of ['location', 'device'] as const) {
    const id = request.query[`${kind}_id`]
    if (id === undefined) continue
    const target = await withTenant(database, tenantOf(request), transaction => costTarget(transaction, id))
    if (target === null)
      return refused(`${kind}_not_found`, `${kind}_id must be the id of a ${kind} of the account`, `${kind}_id`)
  }
  return null
}

/**
 * List corrections, newest first.
 * Source: docs/rules/metering.md #corrections; docs/rules/identifiers-and-lists.md #lists.
 */
const listCorrections = async (
  dependencies: CostDependencies,
  request: Request,
): Promise<Result<AnswerOf<typeof correctionList>>> => {
  const refusal = await refuseUnknown(dependencies, request)
  if (refusal !== null) return refusal
  const { clickHouse } = dependencies
  const tenant = tenantOf(request)
  const { record_id, location_id, device_id, start_time, end_time } = request.query
  const { limit, startingAfter, endingBefore } = pageRequest(request.query)
  const cursor = startingAfter ?? endingBefore
  if (cursor !== null && !(isId('meterCorrection', cursor) && (await hasCorrection(clickHouse, tenant, cursor)))) {
    const field = startingAfter === null ? 'ending_before' : 'starting_after'
    return refused('cursor_not_found', `${field} must be the id of a correction`, field)
  }
  const selection = {
    recordId: record_id?.slice(recordPrefix.length) ?? null,
    locationId: location_id ?? null,
    deviceId: device_id ?? null,
    from: start_time?.at ?? null,
    to: end_time?.at ?? null,
  }
  const isBack = endingBefore !== null
  const listed = await pageOfCorrections(clickHouse, tenant, selection, { cursor, isBack, limit: limit + 1 })
  const items = listed
    .slice(0, limit)
    .map(({ recordId, ...one }) => correctionToWire({ ...one, recordId: recordPrefix + recordId }))
  if (isBack) items.reverse()
  return accepted(listAnswer('/meters/corrections', { items, hasMore: listed.length > limit }))
}

/** Bind the operation on corrections. */
export const correctionOperations = (dependencies: CostDependencies): readonly Binding[] => [
  bind(correctionList, request => listCorrections(dependencies, request)),
]
