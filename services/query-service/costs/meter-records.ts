import { pageRequest } from '../../contract/list.ts'
import {
  type meterRecordList,
  type meterRecordRetrieve,
  type StoredRecordView,
  storedRecordToWire,
} from '../../contract/meter-record-read.ts'
import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import { isId } from '../../domain/identifier.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { pageOfRows, placesOfSession, type RowSelection, rowOfRecord } from '../../platform/clickhouse/meter-cost-reads.ts'
import type { MeterCostRow } from '../../platform/clickhouse/meter-cost-row.ts'
import { placesOfDevices } from '../../platform/clickhouse/meter-object-reads.ts'
import { costTarget } from '../../platform/postgres/costed-locations.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { tenantOf } from '../change.ts'
import type { CostReads } from './cost-reads.ts'
import { piecesOf } from './cost-row.ts'

const prefix = 'mre_'

const viewOf = (row: MeterCostRow): StoredRecordView => ({
  id: prefix + row.recordId,
  accountId: row.accountId,
  liveMode: row.liveMode,
  currencyCode: row.currency,
  record: { ...row, energy: row.energySubmitted ?? row.energy, confidence: row.recordConfidence },
  price: { energy: row.energy, cost: row.cost, confidence: Math.round((row.recordConfidence * row.confidence) / 100_000_000) },
  batchId: row.batchId,
  tariffIds: row.tariffIds,
  pricingRevision: row.pricingRevision,
  priceRevision: row.marketSourceIds.length === 0 ? null : Number(row.priceRevision),
  // The parts of an unpriced estimate have no price to explain.
  pieces: row.cost === null ? [] : piecesOf(row),
  receivedAt: row.receivedAt,
})

const noRecord = refused('not_found', 'No record has this id')

/** Give a stored record and why it cost what it cost. Source: contract decisions 8. */
export const retrieveRecord = async (
  { clickHouse }: CostReads,
  request: RequestOf<typeof meterRecordRetrieve>,
): Promise<Outcome<AnswerOf<typeof meterRecordRetrieve>>> => {
  if (!isId('meterRecord', request.id)) return noRecord
  const row = await rowOfRecord(clickHouse, tenantOf(request), request.id.slice(prefix.length))
  return row === null ? noRecord : accepted(storedRecordToWire(viewOf(row)))
}

type Asked = RequestOf<typeof meterRecordList>

/** Where the records are that the query names; `null`: there can be none. */
const selectionOf = async ({ database, clickHouse, batchIds }: CostReads, request: Asked): Promise<Result<RowSelection | null>> => {
  const tenant = tenantOf(request)
  const { location_id, device_id, session_reference_id, record_reference_id, batch_id, start_time, end_time } = request.query
  for (const [id, kind, name] of [
    [location_id, 'loc_', 'location'],
    [device_id, 'dev_', 'device'],
  ] as const) {
    const isKnown = id === undefined || (id.startsWith(kind) && (await withTenant(database, tenant, one => costTarget(one, id))) !== null)
    if (!isKnown) return refused(`${name}_not_found`, `${name}_id must be the id of one of your ${name}s`, `${name}_id`)
  }
  if (batch_id !== undefined && batchIds.mintedAt(tenant, batch_id) === null) {
    return refused('batch_not_found', 'batch_id must be the id of one of your batches', 'batch_id')
  }
  const span = { from: start_time?.at ?? null, to: end_time?.at ?? null }
  const references = {
    sessionReferenceId: session_reference_id ?? null,
    recordReferenceId: record_reference_id ?? null,
    batchId: batch_id ?? null,
  }
  const deviceIds = device_id === undefined ? null : [device_id]
  if (location_id !== undefined) return accepted({ locationIds: [location_id], deviceIds, ...references, ...span })
  const places =
    device_id !== undefined
      ? await placesOfDevices(clickHouse, tenant, [device_id])
      : session_reference_id !== undefined
        ? await placesOfSession(clickHouse, tenant, session_reference_id)
        : null
  if (places === null) return accepted({ locationIds: null, deviceIds, ...references, ...span })
  const locationIds = [...new Set(places.map(({ locationId }) => locationId))]
  return accepted(locationIds.length === 0 ? null : { locationIds, deviceIds, ...references, ...span })
}

/** Find the record that a cursor names. */
const cursorOf = async ({ clickHouse }: CostReads, request: Asked): Promise<Result<MeterCostRow | null>> => {
  const { starting_after, ending_before } = request.query
  const id = starting_after ?? ending_before
  if (id === undefined) return accepted(null)
  const row = isId('meterRecord', id) ? await rowOfRecord(clickHouse, tenantOf(request), id.slice(prefix.length)) : null
  const field = starting_after === undefined ? 'ending_before' : 'starting_after'
  return row === null ? refused('cursor_not_found', `${field} must be the id of a record`, field) : accepted(row)
}

/** List records, newest start first. Source: contract decisions 7 and 8. */
export const listRecords = async (reads: CostReads, request: Asked): Promise<Outcome<AnswerOf<typeof meterRecordList>>> => {
  const selection = await selectionOf(reads, request)
  if (!selection.ok) return selection
  const cursor = await cursorOf(reads, request)
  if (!cursor.ok) return cursor
  const { limit, endingBefore } = pageRequest(request.query)
  const isBack = endingBefore !== null
  const rows =
    selection.value === null
      ? []
      : await pageOfRows(reads.clickHouse, tenantOf(request), selection.value, { after: cursor.value, isBack, limit: limit + 1 })
  const page = rows.slice(0, limit)
  if (isBack) page.reverse()
  const data = page.map(row => storedRecordToWire(viewOf(row)))
  return accepted({ object: 'list', url: '/meters/records', has_more: rows.length > limit, data })
}
