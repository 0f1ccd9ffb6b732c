import { setImmediate as nextTurn } from 'node:timers/promises'
import { defaultFlow, type EnergyCostEntry, energyCostToWire, type sessionCost as operation } from '../../contract/energy-cost.ts'
import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import { sessionCost } from '../../domain/cost/energy-cost.ts'
import { accepted, refused } from '../../domain/refusal.ts'
import { placesOfSession, rowsOfSession } from '../../platform/clickhouse/meter-cost-reads.ts'
import type { MeterCostRow } from '../../platform/clickhouse/meter-cost-row.ts'
import { mint } from '../../platform/mint.ts'
import { costedLocations } from '../../platform/postgres/costed-locations.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { tenantOf } from '../change.ts'
import type { CostReads } from './cost-reads.ts'
import { costRowOf } from './cost-row.ts'
import { chooseLocations } from './interval-costs.ts'

type Asked = RequestOf<typeof operation>

/** The device of a session if it has just one, else the location. */
const objectOf = (places: readonly { readonly deviceId: string | null }[], locationId: string): string => {
  const objects = new Set(places.map(({ deviceId }) => deviceId))
  const [only] = objects
  return objects.size === 1 && only !== null && only !== undefined ? only : locationId
}

const entriesOf = (rows: readonly MeterCostRow[], request: Asked): readonly EnergyCostEntry[] => {
  const groups = request.query.include_records ? rows.map(row => [row]) : rows.length === 0 ? [] : [rows]
  return groups.flatMap(group => {
    const element = sessionCost(group.map(costRowOf))
    const reference = request.query.include_records ? (group[0]?.recordReferenceId ?? null) : null
    return element === undefined ? [] : [{ ...element, sessionReferenceId: request.id, recordReferenceId: reference }]
  })
}

/** Calculate what the records of a session cost together, or each. Source: contract decisions 9. */
export const calculateSessionCost = async (
  { database, clickHouse }: CostReads,
  request: Asked,
): Promise<Outcome<AnswerOf<typeof operation>>> => {
  const tenant = tenantOf(request)
  const places = await placesOfSession(clickHouse, tenant, request.id)
  if (places.length === 0) return refused('not_found', 'No record has this session_reference_id')
  const ids = [...new Set(places.map(({ locationId }) => locationId))]
  const known = await withTenant(database, tenant, transaction => costedLocations(transaction, ids))
  const chosen = chooseLocations(known, request.query)
  if (!chosen.ok) return chosen
  const [location, other] = chosen.value
  if (location === undefined) return refused('not_found', 'No record has this session_reference_id')
  if (other !== undefined) {
    return refused('location_ambiguous', 'location_id is required: the session has records at several locations', 'location_id')
  }
  const { tariff_direction: tariffDirection, energy_flow_direction: flow = defaultFlow(tariffDirection) } = request.query
  const rows: MeterCostRow[] = []
  const here = places.filter(({ locationId }) => locationId === location.id)
  for await (const block of rowsOfSession(clickHouse, tenant, request.id, here)) {
    for (const row of block) if (row.tariffDirection === tariffDirection && row.energyFlowDirection === flow) rows.push(row)
  }
  const { accountId, liveMode } = tenant
  // Thousands of rows were read in one turn; what is made of them takes another.
  await nextTurn()
  const entries = entriesOf(rows, request)
  await nextTurn()
  return accepted(
    energyCostToWire({
      id: mint('energyCost', request.at),
      accountId,
      liveMode,
      objectId: objectOf(rows.length > 0 ? rows : here, location.id),
      energyFlowDirection: flow,
      tariffDirection,
      timezone: location.timezone,
      currencyCode: location.currencyCode,
      entries,
      includeTariff: request.query.include_tariff,
      createdAt: request.at,
    }),
  )
}
