import type { RegisterIdentity } from '../../../domain/identifier.ts'
import type { Energy } from '../../../domain/quantity.ts'
import type { ClickHouse } from '../clickhouse.ts'
import {
  type BlockColumn,
  type BlockReader,
  column,
  decodeBlocks,
  type NativeType,
  readColumns,
  valueAt,
} from '../encoding/fast-path/native-block.ts'
import {
  bool,
  choice,
  decimal128,
  id,
  instant,
  optionalId,
  optionalText,
  uint32,
  uint64,
} from '../encoding/fast-path/native-types.ts'
import { instantLiteral, isAmong, textLiteral, wholeDigits } from '../encoding/literals.ts'
import { type Tenant, tenantIs } from '../meter-cost/meter-cost-reads.ts'

/** A register: counter of the energy of an object in one energy flow direction and one tariff direction. */
export type Register = Omit<RegisterIdentity, 'openedAt'>

/**
 * A row of `meter_readings`; `value` is null if the reading is withdrawn. `recordId`: digits of the record id of the
 * interval that starts with this reading.
 */
export type MeterReadingRow = Register & {
  readonly time: number
  readonly isRestart: boolean
  readonly value: Energy | null
  readonly isDoubtful: boolean
  readonly recordId: string
  readonly sessionReferenceId: string | null
  readonly recordReferenceId: string | null
  readonly batchId: string | null
  readonly recordNumber: number
  readonly version: bigint
  readonly sourceVersion: bigint
  readonly receivedAt: number
}

const columnTypes = {
  account_id: id('acc_'),
  live_mode: bool,
  location_id: id('loc_'),
  device_id: optionalId('dev_'),
  energy_flow_direction: choice(['INBOUND', 'OUTBOUND']),
  tariff_direction: choice(['IMPORT', 'EXPORT', 'LOCAL']),
  time: instant,
  is_restart: bool,
  value: decimal128('Decimal(19, 6)'),
  is_withdrawn: bool,
  is_doubtful: bool,
  record_id: id(''),
  session_reference_id: optionalText,
  record_reference_id: optionalText,
  batch_id: optionalId('bat_'),
  record_number: uint32,
  version: uint64,
  source_version: uint64,
  received_at: instant,
}

const readingColumn = <Name extends keyof typeof columnTypes>(
  name: Name,
  get: (row: MeterReadingRow) => ReturnType<(typeof columnTypes)[Name]['read']>[number],
): BlockColumn<MeterReadingRow> => column(name, columnTypes[name] as NativeType<unknown>, get)

export const meterReadingColumns: readonly BlockColumn<MeterReadingRow>[] = [
  readingColumn('account_id', row => row.accountId),
  readingColumn('live_mode', row => row.liveMode),
  readingColumn('location_id', row => row.locationId),
  readingColumn('device_id', row => row.deviceId),
  readingColumn('energy_flow_direction', row => row.energyFlowDirection),
  readingColumn('tariff_direction', row => row.tariffDirection),
  readingColumn('time', row => row.time),
  readingColumn('is_restart', row => row.isRestart),
  readingColumn('value', row => row.value ?? 0n),
  readingColumn('is_withdrawn', row => row.value === null),
  readingColumn('is_doubtful', row => row.isDoubtful),
  readingColumn('record_id', row => row.recordId),
  readingColumn('session_reference_id', row => row.sessionReferenceId),
  readingColumn('record_reference_id', row => row.recordReferenceId),
  readingColumn('batch_id', row => row.batchId),
  readingColumn('record_number', row => row.recordNumber),
  readingColumn('version', row => row.version),
  readingColumn('source_version', row => row.sourceVersion),
  readingColumn('received_at', row => row.receivedAt),
]

/** Reading that was found. `isBeforeGap`: the table can have more readings between this one and the next found one. */
type FoundReading = { readonly row: MeterReadingRow; readonly isBeforeGap: boolean }

const foundTypes = { ...columnTypes, is_before_gap: bool }

const readRows = (from: BlockReader, count: number): readonly FoundReading[] => {
  const columns = readColumns(from, foundTypes, count)
  return columns.account_id.map((accountId, i) => ({
    row: rowAt(columns, accountId, i),
    isBeforeGap: valueAt(columns.is_before_gap, i),
  }))
}

const rowAt = (
  columns: ReturnType<typeof readColumns<typeof foundTypes>>,
  accountId: string,
  i: number,
): MeterReadingRow => ({
  accountId,
  liveMode: valueAt(columns.live_mode, i),
  locationId: valueAt(columns.location_id, i),
  deviceId: valueAt(columns.device_id, i),
  energyFlowDirection: valueAt(columns.energy_flow_direction, i),
  tariffDirection: valueAt(columns.tariff_direction, i),
  time: valueAt(columns.time, i),
  isRestart: valueAt(columns.is_restart, i),
  value: valueAt(columns.is_withdrawn, i) ? null : valueAt(columns.value, i),
  isDoubtful: valueAt(columns.is_doubtful, i),
  recordId: valueAt(columns.record_id, i),
  sessionReferenceId: valueAt(columns.session_reference_id, i),
  recordReferenceId: valueAt(columns.record_reference_id, i),
  batchId: valueAt(columns.batch_id, i),
  recordNumber: valueAt(columns.record_number, i),
  version: valueAt(columns.version, i),
  sourceVersion: valueAt(columns.source_version, i),
  receivedAt: valueAt(columns.received_at, i),
})

/**
 * Readings to find: those of a register at `times` (ms, ascending, at least one) and up to `nearMs` before and after
 * them, and the neighbours of these.
 */
export type ReadingQuery = {
  readonly register: Register
  readonly times: readonly number[]
  readonly nearMs: number
}

const noDevice = '0'.repeat(24)
/** Settings of reads of `meter_readings`. */
export const readSettings =
  'SETTINGS max_execution_time=25, max_threads=2, do_not_merge_across_partitions_select_final=1, optimize_move_to_prewhere_if_final=1'
const names = meterReadingColumns.map(({ name }) => name)
const key = ['location_id', 'device_id', 'energy_flow_direction', 'tariff_direction'].join(', ')

/** The FROM clause of all reads: deduplicated by FINAL, limited to a tenant. */
export const meterReadings = (tenant: Tenant, condition: string): string =>
  `FROM meter_readings FINAL WHERE ${tenantIs(tenant)} AND ${condition}`

const queryLiteral = ({ register, times, nearMs }: ReadingQuery): string => {
  const { locationId, deviceId, energyFlowDirection, tariffDirection } = register
  const ids = [locationId, deviceId ?? noDevice].map(one => textLiteral(one.slice(-24)))
  const directions = [energyFlowDirection, tariffDirection].map(textLiteral)
  return `(${[...ids, ...directions, `[${times.map(wholeDigits).join(',')}]`, wholeDigits(nearMs)].join(',')})`
}

/** The first readings of a gap, its last base, and its last readings, each by place. One reading needs no sorting. */
const edgesOf = (edge: number): string => {
  const base = 'if(countIf(is_base) = 0, [], [argMaxIf(reading, place, is_base)]) AS base_edge'
  if (edge === 1) return `[argMin(reading, place)] AS first_edge, ${base}, [argMax(reading, place)] AS last_edge`
  const sorted = (order: string): string => `groupArraySorted(${edge})((${order}, reading)).2`
  return `${sorted('place')} AS first_edge, ${base}, arrayReverse(${sorted('place_from_end')}) AS last_edge`
}

/**
 * Read the readings near the queried times among those that match `condition`. The queried times divide the time of a
 * register into gaps. Returns the readings near the queried times, and of each gap the first `edge` ones, the last one
 * that is a base, and the last `edge` ones. Leaves out withdrawn readings at other times.
 */
const readNearest = async (
  db: ClickHouse,
  tenant: Tenant,
  queries: readonly ReadingQuery[],
  edge: number,
  condition: string,
): Promise<readonly FoundReading[]> => {
  const objectsAre = (column: string, of: (register: Register) => string | null): string =>
    isAmong(column, [...new Set(queries.map(({ register }) => of(register)))])
  const locationsAre = objectsAre('location_id', register => register.locationId)
  const devicesAre = objectsAre('device_id', register => register.deviceId)
  const statement = `WITH queries AS (
      SELECT toFixedString(unhex(query.1), 12) AS location_id, toFixedString(unhex(query.2), 12) AS device_id,
        query.3 AS energy_flow_direction, query.4 AS tariff_direction, query.5 AS times, query.6 AS near
      FROM (SELECT arrayJoin(CAST([${queries.map(queryLiteral).join(',')}],
        'Array(Tuple(String, String, Enum8(\\'INBOUND\\' = 0, \\'OUTBOUND\\' = 1), Enum8(\\'IMPORT\\' = 0, \\'EXPORT\\' = 1, \\'LOCAL\\' = 2), Array(Int64), Int64))')) AS query))
    SELECT ${names.map((name, index) => `found.1.${index + 1} AS ${name}`).join(', ')}, found.2 AS is_before_gap
    FROM (
      SELECT arrayDistinct(arrayConcat(first_edge, base_edge, last_edge)) AS edges,
        arrayJoin(arrayMap((edge, number) -> (edge, CAST(number >= ${edge} AND number + ${edge} <= length(edges)
          AND total > length(edges), 'Bool')), edges, arrayEnumerate(edges))) AS found
      FROM (SELECT ${edgesOf(edge)}, count() AS total
      FROM (
        SELECT tuple(${names.join(', ')}) AS reading, toUnixTimestamp64Milli(time) AS at, ${key},
          (at, is_restart) AS place, (-at, NOT is_restart) AS place_from_end, NOT is_withdrawn AND NOT is_doubtful AS is_base,
          arrayExists(requested -> abs(requested - at) <= near, times) AS is_near,
          if(is_near, (at, is_restart), (0, false)) AS near_place,
          arrayCount(requested -> requested <= at, times) AS gap
        FROM (SELECT ${names.join(', ')} ${meterReadings(tenant, `${locationsAre} AND ${devicesAre} AND ${condition}`)}) AS readings
        INNER JOIN queries USING (${key})
        WHERE NOT is_withdrawn OR has(times, at)
      )
      GROUP BY ${key}, gap, is_near, near_place)
    ) ${readSettings}`
  const rows: FoundReading[] = []
  for await (const block of db.stream(statement, tenant))
    for (const row of decodeBlocks(block, readRows)) rows.push(row)
  return rows
}

/** Limits of one statement. The spread of first times is limited because the registers share one look-back. */
const maxRegisters = 400
const maxTimes = 5_000
const day = 86_400_000
const maxSpreadMs = 30 * day
/** Look-backs for the previous reading, tried in this order: the reading is recent for most registers. */
const lookBacksMs = [day, 60 * day, null]

const firstTimeOf = ({ times }: ReadingQuery): number => times[0] ?? 0

/** Divide queries into statements, ordered by first time. A register with many times is queried in parts. */
const statementsOf = (queries: readonly ReadingQuery[]): readonly (readonly ReadingQuery[])[] => {
  const parts = queries.flatMap(query =>
    Array.from({ length: Math.ceil(query.times.length / maxTimes) }, (_, i) => ({
      ...query,
      times: query.times.slice(i * maxTimes, (i + 1) * maxTimes),
    })),
  )
  const statements: ReadingQuery[][] = []
  let times = 0
  for (const query of parts.sort((a, b) => firstTimeOf(a) - firstTimeOf(b))) {
    const current = statements.at(-1)
    const first = current?.[0]
    times += query.times.length
    if (current === undefined || first === undefined || current.length === maxRegisters || times > maxTimes) {
      statements.push([query])
      times = query.times.length
    } else if (firstTimeOf(query) - firstTimeOf(first) > maxSpreadMs) {
      statements.push([query])
      times = query.times.length
    } else current.push(query)
  }
  return statements
}

/** Return a key of a register that is unique among all accounts and modes. */
export const registerKey = ({
  accountId,
  liveMode,
  locationId,
  deviceId,
  energyFlowDirection,
  tariffDirection,
}: Register): string => `${accountId}/${liveMode}/${locationId}/${deviceId}/${energyFlowDirection}/${tariffDirection}`

/** Return the queries without a base among `found` that is before all readings near their times. */
const withoutEarlierBase = (
  queries: readonly ReadingQuery[],
  found: readonly FoundReading[],
): readonly ReadingQuery[] => {
  const earliest = new Map<string, number>()
  for (const { row } of found) {
    if (row.value === null || row.isDoubtful) continue
    const key = registerKey(row)
    earliest.set(key, Math.min(row.time, earliest.get(key) ?? row.time))
  }
  return queries.filter(
    query =>
      (earliest.get(registerKey(query.register)) ?? Number.POSITIVE_INFINITY) >= firstTimeOf(query) - query.nearMs,
  )
}

/** Readings of a register that were found, unordered. Readings can be missing after those of `gapsAfter`. */
export type FoundReadings = {
  readonly readings: readonly MeterReadingRow[]
  readonly gapsAfter: ReadonlySet<MeterReadingRow>
}

/** Return all readings that two reads of a register found. Readings are missing where each of both misses some. */
export const joinFound = (first: FoundReadings, second: FoundReadings): FoundReadings => {
  if (first.readings.length === 0) return second
  const placeOf = ({ time, isRestart }: MeterReadingRow): number => time * 2 + Number(isRestart)
  const found = new Map([...first.readings, ...second.readings].map(row => [placeOf(row), row]))
  const complete = new Set(
    [first, second].flatMap(({ readings, gapsAfter }) => readings.filter(row => !gapsAfter.has(row)).map(placeOf)),
  )
  const readings = [...found.values()]
  return { readings, gapsAfter: new Set(readings.filter(row => !complete.has(placeOf(row)))) }
}

/**
 * Read the queried readings of each register, and their neighbours: on both sides the nearest `edge` readings, and the
 * nearest base before them. Returns them by `registerKey`, each reading once; other readings of the same registers may
 * be included. Withdrawn readings are found at the queried times only.
 */
export const readingsAround = async (
  db: ClickHouse,
  tenant: Tenant,
  queries: readonly ReadingQuery[],
  edge = 1,
): Promise<ReadonlyMap<string, FoundReadings>> => {
  const found = new Map<string, FoundReadings>()
  const addFound = (rows: readonly FoundReading[]): void => {
    for (const [key, own] of Map.groupBy(rows, ({ row }) => registerKey(row))) {
      const gapsAfter = new Set(own.flatMap(({ row, isBeforeGap }) => (isBeforeGap ? [row] : [])))
      const one = { readings: own.map(({ row }) => row), gapsAfter }
      const earlier = found.get(key)
      found.set(key, earlier === undefined ? one : joinFound(earlier, one))
    }
  }
  for (const statement of statementsOf(queries)) {
    const first = firstTimeOf(statement[0] as ReadingQuery)
    const nearMs = Math.max(...statement.map(query => query.nearMs))
    let remaining = statement
    let to: number | null = null
    for (const lookBackMs of lookBacksMs) {
      if (lookBackMs !== null && lookBackMs <= nearMs) continue
      const conditions = [
        lookBackMs === null ? 'true' : `time >= ${instantLiteral(first - lookBackMs)}`,
        to === null ? 'true' : `time < ${instantLiteral(to)}`,
      ]
      const rows = await readNearest(db, tenant, remaining, edge, conditions.join(' AND '))
      addFound(rows)
      remaining = withoutEarlierBase(remaining, rows).map(query => ({ ...query, times: query.times.slice(0, 1) }))
      if (remaining.length === 0 || lookBackMs === null) break
      to = first - lookBackMs
    }
  }
  return found
}
