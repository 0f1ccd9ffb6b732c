import { pageRequest } from '../../contract/list.ts'
import {
  meterRecordList,
  meterRecordRetrieve,
  recordListLimits,
  recordSelectors,
  storedRecordsToCsv,
  storedRecordToWire,
} from '../../contract/metering/meter-record-read.ts'
import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import { isId } from '../../domain/identifier.ts'
import { noObject } from '../../domain/no-object.ts'
import { isImplausible } from '../../domain/record/warnings.ts'
import { accepted, type Refused, type Result, refused } from '../../domain/refusal.ts'
import {
  blocksOfRows,
  type ListedRow,
  listedRowOf,
  pageOfRows,
  type RowSelection,
} from '../../platform/clickhouse/meter-cost/meter-cost-pages.ts'
import { locationsOfSession, type Tenant } from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { MeterCostRow } from '../../platform/clickhouse/meter-cost/meter-cost-row.ts'
import { locationsOfDevices } from '../../platform/clickhouse/meter-cost/meter-object-reads.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { costTarget } from '../../platform/postgres/pricing/costed-locations.ts'
import { findActiveObjects } from '../../platform/postgres/registry/references.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { tenantOf } from '../change.ts'
import type { CostDependencies } from '../dependencies.ts'
import { streamFormat, streamRecords } from '../exports/stream-records.ts'
import { answerWork } from '../work-thread/run-work.ts'
import { totalLength } from './answer-costs.ts'
import { recordPrefix, recordViewOf } from './stored-row.ts'

const noRecord = noObject('record')

/** Maximum number of pieces that the request thread writes, which takes some ms. */
const maxInlinePieces = 1_500

/** Return the number of pieces that must be read for a row. A row with one piece needs no read. */
const answeredPieces = ({ cost, pieceCount }: ListedRow): number => (cost === null || pieceCount < 2 ? 0 : pieceCount)

/** Read the pieces of the rows that have several pieces. */
const readPieceBlocks = async (
  { clickHouse }: CostDependencies,
  tenant: Tenant,
  rows: readonly ListedRow[],
): Promise<readonly Buffer[]> => {
  const rowsWithPieces = rows.filter(row => answeredPieces(row) > 0)
  return rowsWithPieces.length === 0 ? [] : blocksOfRows(clickHouse, tenant, rowsWithPieces)
}

const submittedOf = ({ start, end, energy, energySubmitted }: ListedRow) => ({
  start,
  end,
  energy: energySubmitted ?? energy,
})

/**
 * Return the digits of the ids of the records whose mean power is not plausible. The registers of their objects are read
 * only if a record is above 10 MW.
 */
const implausibleIdsOf = async (
  { database }: CostDependencies,
  tenant: Tenant,
  rows: readonly ListedRow[],
): Promise<readonly string[]> => {
  const doubtful = rows.filter(row => isImplausible(null, submittedOf(row)))
  if (doubtful.length === 0) return []
  const locationIds = doubtful.map(({ locationId }) => locationId)
  const deviceIds = doubtful.flatMap(({ deviceId }) => deviceId ?? [])
  const rules = await withTenant(database, tenant, transaction =>
    findActiveObjects(transaction, locationIds, deviceIds),
  )
  return doubtful
    .filter(row => isImplausible(rules.get(row.deviceId ?? row.locationId) ?? null, submittedOf(row)))
    .map(({ recordId }) => recordId)
}

/** Answer a stored record with the pieces that explain its cost. Source: docs/rules/metering.md #reading-records. */
const retrieveRecord = async (
  dependencies: CostDependencies,
  request: RequestOf<typeof meterRecordRetrieve>,
): Promise<Outcome<AnswerOf<typeof meterRecordRetrieve>>> => {
  if (!isId('meterRecord', request.id)) return noRecord
  const tenant = tenantOf(request)
  const row = await listedRowOf(dependencies.clickHouse, tenant, request.id.slice(recordPrefix.length))
  if (row === null) return noRecord
  const input = {
    rows: [row],
    blocks: await readPieceBlocks(dependencies, tenant, [row]),
    implausibleIds: await implausibleIdsOf(dependencies, tenant, [row]),
    apiVersion: request.apiVersion,
  }
  const isSmall = answeredPieces(row) <= maxInlinePieces
  return answerWork(dependencies, request, { name: 'record', input, isSmall, bytes: totalLength(input.blocks) })
}

type RecordListRequest = RequestOf<typeof meterRecordList>

/** Convert a query to the selection of its rows; null if no row can match. */
const selectionOf = async (
  { database, clickHouse, batchIds }: CostDependencies,
  request: RecordListRequest,
): Promise<Result<RowSelection | null>> => {
  const tenant = tenantOf(request)
  const { location_id, device_id, session_reference_id, record_reference_id, batch_id, start_time, end_time } =
    request.query
  for (const [id, kind, name] of [
    [location_id, 'loc_', 'location'],
    [device_id, 'dev_', 'device'],
  ] as const) {
    const isKnown =
      id === undefined ||
      (id.startsWith(kind) && (await withTenant(database, tenant, transaction => costTarget(transaction, id))) !== null)
    if (!isKnown)
      return refused(`${name}_not_found`, `${name}_id must be the id of a ${name} of the account`, `${name}_id`)
  }
  if (batch_id !== undefined && batchIds.createdAt(tenant, batch_id) === null) {
    return refused('batch_not_found', 'batch_id must be the id of a batch of the account', 'batch_id')
  }
  const interval = { from: start_time?.at ?? null, to: end_time?.at ?? null }
  const references = {
    sessionReferenceId: session_reference_id ?? null,
    recordReferenceId: record_reference_id ?? null,
    batchId: batch_id ?? null,
  }
  const deviceIds = device_id === undefined ? null : [device_id]
  if (location_id !== undefined) return accepted({ locationIds: [location_id], deviceIds, ...references, ...interval })
  const meteredObjects =
    device_id !== undefined
      ? await locationsOfDevices(clickHouse, tenant, [device_id])
      : session_reference_id !== undefined
        ? await locationsOfSession(clickHouse, tenant, session_reference_id)
        : null
  if (meteredObjects === null) return accepted({ locationIds: null, deviceIds, ...references, ...interval })
  const locationIds = [...new Set(meteredObjects.map(({ locationId }) => locationId))]
  return accepted(locationIds.length === 0 ? null : { locationIds, deviceIds, ...references, ...interval })
}

/** Find the record of the cursor; null if there is no cursor. */
const cursorOf = async (
  { clickHouse }: CostDependencies,
  request: RecordListRequest,
): Promise<Result<MeterCostRow | null>> => {
  const { starting_after, ending_before } = request.query
  const id = starting_after ?? ending_before
  if (id === undefined) return accepted(null)
  const row = isId('meterRecord', id)
    ? await listedRowOf(clickHouse, tenantOf(request), id.slice(recordPrefix.length))
    : null
  const field = starting_after === undefined ? 'ending_before' : 'starting_after'
  return row === null ? refused('cursor_not_found', `${field} must be the id of a record`, field) : accepted(row)
}

/** Shorten a page to the maximum number of pieces per page. The first row always remains. */
const limitPieces = (rows: readonly ListedRow[]): readonly ListedRow[] => {
  let pieces = 0
  const firstBeyond = rows.findIndex((row, index) => {
    pieces += answeredPieces(row)
    return index > 0 && pieces > recordListLimits.pieces
  })
  return firstBeyond === -1 ? rows : rows.slice(0, firstBeyond)
}

/** Refuse a page without a selection, and a table without its period. */
const refusePage = ({ query, tableFormat }: RecordListRequest): Refused | null => {
  const isTableOnly = tableFormat !== undefined && tableFormat !== 'csv'
  if (isTableOnly && query.limit === undefined && (query.start_time === undefined || query.end_time === undefined)) {
    const field = query.start_time === undefined ? 'start_time' : 'end_time'
    return refused('field_required', `${field} is required for a table in this format`, field)
  }
  if (recordSelectors.some(name => query[name] !== undefined)) return null
  return refused(
    'field_required',
    `location_id is required, or one of ${recordSelectors.slice(1).join(', ')}`,
    'location_id',
  )
}

/**
 * List records, newest start first.
 * Source: docs/rules/metering.md #reading-records; docs/rules/identifiers-and-lists.md #lists.
 */
const listRecords = async (
  dependencies: CostDependencies,
  request: RecordListRequest,
): Promise<Outcome<AnswerOf<typeof meterRecordList>>> => {
  const format = streamFormat(request)
  const refusal = format === null ? refusePage(request) : null
  if (refusal !== null) return refusal
  const selection = await selectionOf(dependencies, request)
  if (!selection.ok) return selection
  if (format !== null) return streamRecords(dependencies, request, selection.value, format)
  const cursor = await cursorOf(dependencies, request)
  if (!cursor.ok) return cursor
  const tenant = tenantOf(request)
  const { limit, endingBefore } = pageRequest(request.query)
  const isBackwards = endingBefore !== null
  const listed =
    selection.value === null
      ? []
      : await pageOfRows(dependencies.clickHouse, tenant, selection.value, {
          after: cursor.value,
          isBack: isBackwards,
          limit: limit + 1,
        })
  const page = [...limitPieces(listed.slice(0, limit))]
  const hasMore = listed.length > page.length
  if (isBackwards) page.reverse()
  const implausibleIds = await implausibleIdsOf(dependencies, tenant, page)
  if (request.wantsCsv === true) {
    // A CSV table has no pieces.
    const data = page.map(row => storedRecordToWire(recordViewOf(row, implausibleIds.includes(row.recordId))))
    return accepted({ object: 'list', url: '/meters/records', has_more: hasMore, data })
  }
  const input = {
    rows: page,
    blocks: await readPieceBlocks(dependencies, tenant, page),
    implausibleIds,
    apiVersion: request.apiVersion,
    hasMore,
  }
  const isSmall = page.reduce((sum, row) => sum + answeredPieces(row), 0) <= maxInlinePieces
  return answerWork(dependencies, request, { name: 'recordList', input, isSmall, bytes: totalLength(input.blocks) })
}

/** Bind the operations on records. */
export const meterRecordOperations = (dependencies: CostDependencies): readonly Binding[] => [
  bind(meterRecordRetrieve, request => retrieveRecord(dependencies, request)),
  bind(meterRecordList, request => listRecords(dependencies, request), storedRecordsToCsv),
]
