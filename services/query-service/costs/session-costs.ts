import { energyCostToCsv, sessionCost } from '../../contract/costs/energy-cost.ts'
import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import { refused } from '../../domain/refusal.ts'
import { blocksOfSession, locationsOfSession } from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { costedLocations } from '../../platform/postgres/pricing/costed-locations.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { tenantOf } from '../change.ts'
import type { CostDependencies } from '../dependencies.ts'
import { answerCosts, areSmall, costViewOf, flowOf, totalLength } from './answer-costs.ts'
import { chooseLocations } from './interval-costs.ts'

type SessionCostRequest = RequestOf<typeof sessionCost>

/** Calculate the costs of the records of a session, together or per record. Source: docs/rules/costs.md #sessions. */
const calculateSessionCost = async (
  { database, clickHouse, thread }: CostDependencies,
  request: SessionCostRequest,
): Promise<Outcome<AnswerOf<typeof sessionCost>>> => {
  const tenant = tenantOf(request)
  const meteredObjects = await locationsOfSession(clickHouse, tenant, request.id)
  if (meteredObjects.length === 0) return refused('not_found', 'No record has this session_reference_id')
  const ids = [...new Set(meteredObjects.map(({ locationId }) => locationId))]
  const locations = await withTenant(database, tenant, transaction => costedLocations(transaction, ids))
  const chosen = chooseLocations(locations, request.query)
  if (!chosen.ok) return chosen
  const [location, other] = chosen.value
  if (location === undefined) return refused('not_found', 'No record has this session_reference_id')
  if (other !== undefined) {
    return refused(
      'location_ambiguous',
      'location_id is required, because the session has records at several locations',
      'location_id',
    )
  }
  const objectsAtLocation = meteredObjects.filter(({ locationId }) => locationId === location.id)
  const blocks: Buffer[] = []
  for await (const block of blocksOfSession(clickHouse, tenant, request.id, objectsAtLocation)) blocks.push(block)
  const input = {
    view: costViewOf(request, location.timezone, location.currencyCode),
    blocks,
    sessionReferenceId: request.id,
    isByRecord: request.query.include_records,
    flow: flowOf(request),
    meteredObjects: objectsAtLocation,
    locationId: location.id,
  }
  return answerCosts({ thread }, request, {
    name: 'sessionCost',
    input,
    isSmall: areSmall(blocks),
    bytes: totalLength(blocks),
  })
}

/** Bind the operation on the costs of a session. */
export const sessionCostOperation = (dependencies: CostDependencies): Binding =>
  bind(sessionCost, request => calculateSessionCost(dependencies, request), energyCostToCsv)
