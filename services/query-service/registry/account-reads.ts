import type { RequestOf } from '../../contract/operation.ts'
import {
  type AccountOverviewWire,
  accountOverviewRetrieve,
  accountOverviewToWire,
  overviewLimits,
} from '../../contract/registry/account-overview.ts'
import { auditEntriesToWire, auditEntryFor, auditEntryList } from '../../contract/registry/audit-entry.ts'
import {
  objectSearch,
  type SearchHit,
  type SearchKind,
  searchKinds,
  searchLimits,
} from '../../contract/registry/search.ts'
import { isId } from '../../domain/identifier.ts'
import { dayMs, hourMs } from '../../domain/interval.ts'
import { accepted } from '../../domain/refusal.ts'
import {
  acceptedRecordsSince,
  failedRecordsSince,
  lastReceived,
  searchSessions,
  unpricedLocations,
  warnedRecordsSince,
} from '../../platform/clickhouse/meter-cost/account-facts.ts'
import { listedRowOf, pageOfRows } from '../../platform/clickhouse/meter-cost/meter-cost-pages.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import {
  type LocationTexts,
  readAccountFacts,
  readLocationTexts,
} from '../../platform/postgres/registry/account-overview.ts'
import { listAudit } from '../../platform/postgres/registry/audit-log.ts'
import { hasEvent, searchObjects } from '../../platform/postgres/registry/search-objects.ts'
import { type Tenant, withTenant } from '../../platform/postgres/transaction.ts'
import { tenantOf } from '../change.ts'
import { recordPrefix } from '../costs/stored-row.ts'
import type { CostDependencies } from '../dependencies.ts'

const hit = (kind: SearchKind, id: string, name: string, locationId: string | null): SearchHit => ({
  kind,
  id,
  name,
  location_id: locationId,
})

/** Find a record by its complete id, or records by their complete reference. */
const findRecords = async ({ clickHouse }: CostDependencies, tenant: Tenant, text: string): Promise<SearchHit[]> => {
  if (isId('meterRecord', text)) {
    const row = await listedRowOf(clickHouse, tenant, text.slice(recordPrefix.length))
    return row === null ? [] : [hit('meter_record', text, text, row.locationId)]
  }
  const selection = {
    locationIds: null,
    deviceIds: null,
    sessionReferenceId: null,
    batchId: null,
    from: null,
    to: null,
  }
  const page = { after: null, isBack: false, limit: searchLimits.hitsPerKind }
  const rows = await pageOfRows(clickHouse, tenant, { ...selection, recordReferenceId: text }, page)
  return rows.map(row => hit('meter_record', `${recordPrefix}${row.recordId}`, text, row.locationId))
}

const findBatch = ({ batchIds }: CostDependencies, tenant: Tenant, text: string): SearchHit[] =>
  batchIds.createdAt(tenant, text) === null ? [] : [hit('meter_batch', text, text, null)]

const answerSearch = async (dependencies: CostDependencies, request: RequestOf<typeof objectSearch>) => {
  const tenant = tenantOf(request)
  const { query: text } = request.query
  const bounds = { limit: searchLimits.hitsPerKind, scanned: searchLimits.scanned }
  const [objects, sessions, records] = await Promise.all([
    withTenant(dependencies.database, tenant, async transaction => {
      const found = await searchObjects(transaction, text, bounds)
      const isEvent = isId('event', text) && (await hasEvent(transaction, text))
      return [
        ...found.map(({ kind, id, name, locationId }) => hit(kind as SearchKind, id, name, locationId)),
        ...(isEvent ? [hit('event', text, text, null)] : []),
      ]
    }),
    searchSessions(dependencies.clickHouse, tenant, text, bounds),
    findRecords(dependencies, tenant, text),
  ])
  const found = [
    ...objects,
    ...sessions.map(({ reference, locationId }) => hit('session', reference, reference, locationId)),
    ...records,
    ...findBatch(dependencies, tenant, text),
  ]
  const data = searchKinds.flatMap(kind => found.filter(one => one.kind === kind))
  return accepted({ object: 'search' as const, query: text, data })
}

/** Return the smallest batch id of an instant: ids begin with the time in ms, in 44 bits. */
const firstBatchId = (at: number): string => `bat_${(BigInt(at) << 4n).toString(16).padStart(12, '0')}`.padEnd(28, '0')

const noTexts: LocationTexts = { locationReference: null, locationName: null }

const answerOverview = async (
  { database, clickHouse }: CostDependencies,
  request: RequestOf<typeof accountOverviewRetrieve>,
): Promise<AccountOverviewWire> => {
  const { at } = request
  const tenant = tenantOf(request)
  const { listed, endingDays, unpricedDays, failedDays, acceptedHours, locations } = overviewLimits
  const firstListedId = firstBatchId(at - failedDays * dayMs)
  const [facts, newest, unpriced, failed, warned, received] = await Promise.all([
    withTenant(database, tenant, transaction =>
      readAccountFacts(transaction, { at, endsBefore: at + endingDays * dayMs, locations, listed }),
    ),
    lastReceived(clickHouse, tenant),
    unpricedLocations(clickHouse, tenant, at - unpricedDays * dayMs, listed),
    failedRecordsSince(clickHouse, tenant, firstListedId, listed),
    warnedRecordsSince(clickHouse, tenant, firstListedId, listed),
    acceptedRecordsSince(clickHouse, tenant, firstBatchId(at - acceptedHours * hourMs)),
  ])
  const unpricedIds = unpriced.map(({ locationId }) => locationId)
  const texts =
    unpricedIds.length === 0
      ? new Map<string, LocationTexts>()
      : await withTenant(database, tenant, transaction => readLocationTexts(transaction, unpricedIds))
  return accountOverviewToWire({
    ...tenant,
    ...facts,
    lastReceived: newest,
    unpriced: unpriced.map(one => ({ ...one, ...(texts.get(one.locationId) ?? noTexts) })),
    acceptedRecords: received.accepted,
    processedRecords: received.processed,
    failedRecords: failed.records,
    deadLetteredRecords: failed.later,
    failedBatches: failed.batches,
    warnedRecords: warned.records,
    warnedBatches: warned.batches,
  })
}

const anyEntry = { actor: null, action: null, from: null, to: null }

/** Bind the search, the overview and the list of changes of an account. */
export const accountReadOperations = (dependencies: CostDependencies): readonly Binding[] => [
  bind(objectSearch, request => answerSearch(dependencies, request)),
  bind(accountOverviewRetrieve, async request => accepted(await answerOverview(dependencies, request))),
  bind(auditEntryList, async request => {
    const { limit, object_id: objectId = null } = request.query
    const entries = await withTenant(dependencies.database, tenantOf(request), transaction =>
      listAudit(transaction, { ...anyEntry, objectId }, null, limit + 1),
    )
    return accepted(
      auditEntriesToWire(entries.slice(0, limit).map(auditEntryFor(request.caller.scope)), entries.length > limit),
    )
  }),
]
