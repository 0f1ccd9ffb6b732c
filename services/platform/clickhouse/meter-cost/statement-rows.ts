import type { CostPiece } from '../../../domain/cost/cost-piece.ts'
import type { Interval } from '../../../domain/interval.ts'
import type { Energy, Money } from '../../../domain/quantity.ts'
import { noOptions } from '../../../domain/record/record.ts'
import type { RecordToPrice } from '../../../domain/statement/counts-at-starts.ts'
import type { EarlierRecords } from '../../../domain/statement/earlier-records.ts'
import { coveredParts } from '../../../domain/statement/metered-energy.ts'
import { type ClickHouse, readSmall } from '../clickhouse.ts'
import {
  type BlockReader,
  decodeBlocks,
  decodeEachBlock,
  readColumn,
  readColumns,
  valueAt,
} from '../encoding/fast-path/native-block.ts'
import { optionalText, uint32 } from '../encoding/fast-path/native-types.ts'
import { idLiteral, instantLiteral, isAmong } from '../encoding/literals.ts'
import { addingSettings, isCounted, selectAddedUp } from './earlier-rows.ts'
import type { FlowDirections } from './location-flows.ts'
import {
  backgroundRowSettings,
  filterIs,
  lookUpSettings,
  meterCost,
  meterCostVersions,
  type QueryInterval,
  readSettings,
  rowSettings,
  sharesTime,
  type Tenant,
  tenantIs,
} from './meter-cost-reads.ts'
import { piecesOf, pieceTypes, rowTypes } from './meter-cost-rows.ts'

/**
 * Stored row as statements read it. `record` has the energy as submitted. `energy` is the energy that counts. UNPRICED
 * if `cost` is null; its pieces then have energy only.
 */
export type StatementRow = {
  readonly record: RecordToPrice
  readonly energy: Energy
  readonly cost: Money | null
  readonly pieces: readonly CostPiece[]
}

/** Columns of a row by name, in the order in which `decodeStatementRows` reads them. */
const columnTypes = {
  ...pieceTypes,
  device_id: rowTypes.device,
  energy_flow_direction: rowTypes.flow,
  tariff_direction: rowTypes.direction,
  record_id: rowTypes.bareId,
  session_reference_id: optionalText,
  energy_submitted: rowTypes.nullableEnergy,
  record_confidence: uint32,
} as const

const columnNames = Object.keys(columnTypes)
  .map(name => `\`${name}\``)
  .join(', ')

/** Return the parts of an estimate that actuals cover. A covered UNPRICED estimate without energy has no pieces. */
const coveredOf = (row: Interval & { readonly energy: Energy }, pieces: readonly CostPiece[]) =>
  coveredParts(pieces.length === 0 ? [row] : pieces, true)

const noIntervals: readonly Interval[] = []

const readRows = (locationOf: (index: number) => string, from: BlockReader, count: number): readonly StatementRow[] => {
  const columns = readColumns(from, columnTypes, count)
  return columns.device_id.map((deviceId, i): StatementRow => {
    const [start, end, energy] = [
      valueAt(columns.start_time, i),
      valueAt(columns.end_time, i),
      valueAt(columns.energy, i),
    ]
    const submitted = valueAt(columns.energy_submitted, i)
    const pieces = piecesOf(columns, i)
    return {
      record: {
        ...noOptions,
        recordId: valueAt(columns.record_id, i),
        locationId: locationOf(i),
        deviceId,
        energyFlowDirection: valueAt(columns.energy_flow_direction, i),
        tariffDirection: valueAt(columns.tariff_direction, i),
        start,
        end,
        energy: submitted ?? energy,
        confidence: valueAt(columns.record_confidence, i),
        sessionReferenceId: valueAt(columns.session_reference_id, i),
        covered: submitted === null ? noIntervals : coveredOf({ start, end, energy }, pieces),
      },
      energy,
      cost: valueAt(columns.cost, i),
      pieces,
    }
  })
}

/** Decode blocks of `statementBlocks`. The rows have no reference of their record. */
export const decodeStatementRows = (bytes: Buffer, locationId: string): readonly StatementRow[] =>
  decodeBlocks(bytes, (from, count) => readRows(() => locationId, from, count))

/** Decode blocks of `pageBlocks` one by one. */
export const decodePageRows = (bytes: Buffer): Generator<readonly StatementRow[]> =>
  decodeEachBlock(bytes, (from, count) => {
    const ids = readColumn(from, rowTypes.location, count)
    return readRows(i => valueAt(ids, i), from, count)
  })

/** Location of a tenant, and the interval whose rows are read. */
export type LocationInterval = QueryInterval & { readonly tenant: Tenant; readonly locationId: string }

/** Return the condition of the rows of a location that overlap an interval, impulses included. */
const isWithin = ({ tenant, locationId, ...interval }: LocationInterval): string => {
  const filter = { locationIds: [locationId] }
  return `${filterIs(filter)} AND ${sharesTime(tenant, filter, interval)}`
}

/** Return a subquery of the sessions with inbound records that overlap an interval or end at its start. */
const sessionsWithin = ({ from, ...interval }: LocationInterval): string =>
  `SELECT session_reference_id ${meterCost(
    interval.tenant,
    `${isWithin({ ...interval, from: from - 1 })} AND energy_flow_direction = 'INBOUND' AND session_reference_id != ''`,
  )}`

/**
 * Return an interval that contains all records of the sessions with records in an interval, and may be wider; null if
 * there are none.
 */
export const readSessionBounds = async (db: ClickHouse, interval: LocationInterval): Promise<QueryInterval | null> => {
  const { tenant, locationId } = interval
  const [row] = await db.rows(
    `SELECT toUnixTimestamp64Milli(min(first_start)), toUnixTimestamp64Milli(max(last_end)), toUInt32(count())
    FROM meter_sessions WHERE ${tenantIs(tenant)} AND ${filterIs({ locationIds: [locationId] })}
      AND session_reference_id IN (${sessionsWithin(interval)}) ${rowSettings}`,
    tenant,
  )
  return Number(row?.[2] ?? 0) === 0 ? null : { from: Number(row?.[0]), to: Number(row?.[1]) + 1 }
}

/** Kind of records of a location in a flow: of its own, or of its devices. Their last records may be cancelled. */
export type SeenKind = FlowDirections & { readonly isDevice: boolean }

/**
 * Kinds of records that a location has or had. `longRows`: interval that contains its records longer than a day that
 * overlap the requested interval; null if there are none.
 */
export type LocationFacts = { readonly kinds: readonly SeenKind[]; readonly longRows: Interval | null }

/** Read the facts of a location in one statement. */
export const readLocationFacts = async (
  db: ClickHouse,
  { tenant, locationId, from, to }: LocationInterval,
): Promise<LocationFacts> => {
  const isLocation = `${tenantIs(tenant)} AND location_id = ${idLiteral(locationId)}`
  const answer = await db.rows(
    `SELECT toString(energy_flow_direction) AS flow, toString(tariff_direction) AS direction, toUInt8(is_device) AS is_of_device,
      toInt64(0) AS first, toInt64(0) AS last
    FROM meter_location_flows WHERE ${isLocation} GROUP BY energy_flow_direction, tariff_direction, is_device
    UNION ALL
    SELECT '', '', toUInt8(0), toInt64(min(toUInt32(toDateTime(start_date, 'UTC')))) * 1000, max(toUnixTimestamp64Milli(last_end))
    FROM meter_long_rows WHERE ${isLocation} AND last_end > ${instantLiteral(from)}
      AND toDateTime64(start_date, 3, 'UTC') < ${instantLiteral(to)} HAVING count() > 0
    ${lookUpSettings}`,
    tenant,
  )
  const kinds: SeenKind[] = []
  let longRows: Interval | null = null
  for (const [energyFlowDirection, tariffDirection, isDevice, first, last] of answer) {
    if (energyFlowDirection === '') longRows = { start: Number(first), end: Number(last) }
    else kinds.push({ energyFlowDirection, tariffDirection, isDevice: Number(isDevice) === 1 } as SeenKind)
  }
  return { kinds, longRows }
}

const piecesOfRow = 'greatest(1, length(`pieces.start_time`))'

/** Return the number of pieces of the rows of a location that overlap an interval. Reads the lengths of lists only. */
export const countPieces = async (db: ClickHouse, interval: LocationInterval): Promise<number> => {
  const [row] = await db.rows(
    `SELECT toUInt64(sum(${piecesOfRow})) ${meterCost(interval.tenant, isWithin(interval))} ${readSettings}`,
    interval.tenant,
  )
  return Number(row?.[0] ?? 0)
}

/** Rows of sessions to read: those of the sessions of `within` that start in `bounds`. */
export type SessionRows = { readonly within: QueryInterval; readonly bounds: QueryInterval }

/** Rows of a statement: those that overlap the interval, of sessions, and earlier ones that charges count. */
export type StatementRows = {
  readonly interval: LocationInterval
  readonly sessions: SessionRows | null
  readonly earlier: EarlierRecords | null
}

const sessionRowsAre = (interval: LocationInterval, { within, bounds }: SessionRows): string =>
  `(${filterIs({ locationIds: [interval.locationId] })} AND start_time >= ${instantLiteral(bounds.from)}
    AND start_time < ${instantLiteral(bounds.to)} AND energy_flow_direction = 'INBOUND'
    AND session_reference_id IN (${sessionsWithin({ ...interval, ...within })}))`

/** Return the statement that reads the rows of a statement. */
const selectRows = ({ interval, sessions, earlier }: StatementRows, maxRows: number): string => {
  const { tenant } = interval
  const isOfSession = sessions === null ? '' : sessionRowsAre(interval, sessions)
  const conditions = [`(${isWithin(interval)})`]
  if (isOfSession !== '') conditions.push(isOfSession)
  if (earlier !== null)
    conditions.push(`(${isWithin({ ...interval, from: earlier.from, to: earlier.to })} AND ${isCounted(earlier)})`)
  const rows = meterCost(tenant, `(${conditions.join(' OR ')})`)
  const cellMs = earlier?.cellMs ?? null
  if (earlier === null || cellMs === null) {
    const order = `ORDER BY start_time, end_time, record_id LIMIT ${maxRows}`
    return `SELECT ${columnNames} ${rows} ${order} ${rowSettings}`
  }
  const select = selectAddedUp(Object.keys(columnTypes), rows, { ...earlier, cellMs }, isOfSession, maxRows)
  return `${select} ${rowSettings}, ${addingSettings(maxRows)}`
}

/**
 * Read rows of a location as blocks for `decodeStatementRows`. One statement reads them, so they show one state. Ordered
 * by start, end and record id. Earlier records that lie within one cell are added up, as one row without a price. At
 * most `maxRows` rows.
 */
export const statementBlocks = (db: ClickHouse, rows: StatementRows, maxRows: number): AsyncIterable<Buffer> =>
  db.stream(selectRows(rows, maxRows), rows.interval.tenant)

/** Read rows as `statementBlocks` does, but in one piece; null if they have more than `maxSmallBytes`. */
export const smallStatementBlock = (db: ClickHouse, rows: StatementRows, maxRows: number): Promise<Buffer | null> =>
  readSmall(db, selectRows(rows, maxRows), rows.interval.tenant)

/** Locations of a tenant that are read together, and the interval of their rows. */
export type PageInterval = QueryInterval & { readonly tenant: Tenant; readonly locationIds: readonly string[] }

/**
 * Read the rows of locations that overlap an interval, as blocks for `decodePageRows`. One statement reads them, so they
 * show one state. Ordered by location, start, end and record id. They should have some MB at most.
 */
export const pageBlocks = (db: ClickHouse, { tenant, locationIds, ...interval }: PageInterval): Promise<Buffer> => {
  const filter = { locationIds }
  return db.blocks(
    `SELECT location_id, ${columnNames} ${meterCost(tenant, `${filterIs(filter)} AND ${sharesTime(tenant, filter, interval)}`)}
    ORDER BY location_id, start_time, end_time, record_id ${backgroundRowSettings}`,
    tenant,
  )
}

/** Facts of a location, and an upper estimate of the pieces of its rows that start in the interval or a day before. */
export type CountedFacts = LocationFacts & { readonly pieces: number }

/** Read the facts of locations in one statement. A location without records has no kinds. */
export const readPageFacts = async (
  db: ClickHouse,
  { tenant, locationIds, from, to }: PageInterval,
): Promise<ReadonlyMap<string, CountedFacts>> => {
  const isListed = isAmong('location_id', locationIds)
  const isOfPage = `${tenantIs(tenant)} AND ${isListed}`
  const startsIn = `start_time >= ${instantLiteral(from - 86_400_000)} AND start_time < ${instantLiteral(to)}`
  const location = 'lower(hex(location_id)) AS location'
  const answer = await db.rows(
    `SELECT ${location}, toString(energy_flow_direction) AS flow, toString(tariff_direction) AS direction,
      toUInt8(is_device) AS is_of_device, toInt64(0) AS first, toInt64(0) AS last
    FROM meter_location_flows WHERE ${isOfPage}
    GROUP BY location_id, energy_flow_direction, tariff_direction, is_device
    UNION ALL
    SELECT ${location}, 'LONG', '', toUInt8(0), toInt64(min(toUInt32(toDateTime(start_date, 'UTC')))) * 1000,
      max(toUnixTimestamp64Milli(last_end))
    FROM meter_long_rows WHERE ${isOfPage} AND last_end > ${instantLiteral(from)}
      AND toDateTime64(start_date, 3, 'UTC') < ${instantLiteral(to)} GROUP BY location_id
    UNION ALL
    SELECT ${location}, 'ROWS', '', toUInt8(0), toInt64(sum(${piecesOfRow})), toInt64(0)
    ${meterCostVersions(tenant, `${isListed} AND ${startsIn}`)} GROUP BY location_id
    SETTINGS max_execution_time=25, max_threads=1`,
    tenant,
  )
  const facts = new Map(
    locationIds.map(id => [id, { kinds: [] as SeenKind[], longRows: null as Interval | null, pieces: 0 }]),
  )
  for (const [id, flow, tariffDirection, isDevice, first, last] of answer) {
    const found = facts.get(`loc_${id}`)
    if (found === undefined) continue
    if (flow === 'LONG') found.longRows = { start: Number(first), end: Number(last) }
    else if (flow === 'ROWS') found.pieces = Number(first)
    else found.kinds.push({ energyFlowDirection: flow, tariffDirection, isDevice: Number(isDevice) === 1 } as SeenKind)
  }
  return facts
}
