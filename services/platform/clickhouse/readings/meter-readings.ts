import type { RegisterIdentity } from '../../../domain/identifier.ts'
import type { Energy } from '../../../domain/quantity.ts'
import type { ClickHouse } from '../clickhouse.ts'
import {
  type BlockColumn,
  type BlockReader,
  column,
  decodeBlocks,
  encodeBlock,
  type NativeType,
  readColumn,
} from '../encoding/fast-path/native-block.ts'
import { bool, choice, decimal128, id, instant, text, uint32, uint64 } from '../encoding/fast-path/native-types.ts'
import { idLiteral, instantLiteral, listLiteral, textLiteral, wholeLiteral } from '../encoding/literals.ts'
import { type Tenant, tenantIs } from '../meter-cost/meter-cost-reads.ts'

/** A register: what shows the energy of an object in two directions. */
export type Register = Omit<RegisterIdentity, 'openedAt'>

/** A row of `meter_readings`. `recordId`: digits of the id of the interval that it opens. An empty reference reads back as null. */
export type MeterReadingRow = Register & {
  readonly time: number
  readonly value: Energy
  readonly recordId: string
  readonly sessionReferenceId: string | null
  readonly recordReferenceId: string | null
  readonly batchId: string | null
  readonly recordNumber: number
  readonly version: bigint
  readonly sourceVersion: bigint
  readonly receivedAt: number
}

const account = id('acc_')
const location = id('loc_')
const device = id('dev_')
const batch = id('bat_')
const digits = id('')
const flow = choice(['INBOUND', 'OUTBOUND'])
const direction = choice(['IMPORT', 'EXPORT', 'LOCAL'])
const energy = decimal128('Decimal(19, 6)')

const noDevice = `dev_${'0'.repeat(24)}`
const noBatch = `bat_${'0'.repeat(24)}`
const ofRow = <T>(
  name: string,
  nativeType: NativeType<T>,
  of: (row: MeterReadingRow) => T,
): BlockColumn<MeterReadingRow> => column(name, nativeType, of)

export const meterReadingColumns: readonly BlockColumn<MeterReadingRow>[] = [
  ofRow('account_id', account, row => row.accountId),
  ofRow('live_mode', bool, row => row.liveMode),
  ofRow('location_id', location, row => row.locationId),
  ofRow('device_id', device, row => row.deviceId ?? noDevice),
  ofRow('energy_flow_direction', flow, row => row.energyFlowDirection),
  ofRow('tariff_direction', direction, row => row.tariffDirection),
  ofRow('time', instant, row => row.time),
  ofRow('value', energy, row => row.value),
  ofRow('record_id', digits, row => row.recordId),
  ofRow('session_reference_id', text, row => row.sessionReferenceId ?? ''),
  ofRow('record_reference_id', text, row => row.recordReferenceId ?? ''),
  ofRow('batch_id', batch, row => row.batchId ?? noBatch),
  ofRow('record_number', uint32, row => row.recordNumber),
  ofRow('version', uint64, row => row.version),
  ofRow('source_version', uint64, row => row.sourceVersion),
  ofRow('received_at', instant, row => row.receivedAt),
]

/** Encode rows for an insert. Throws a RangeError for ids of another form. */
export const encodeMeterReadings = (rows: readonly MeterReadingRow[]): Buffer => encodeBlock(meterReadingColumns, rows)

const readRows = (from: BlockReader, count: number): readonly MeterReadingRow[] => {
  const accountIds = readColumn(from, account, count)
  const liveModes = readColumn(from, bool, count)
  const locationIds = readColumn(from, location, count)
  const deviceIds = readColumn(from, device, count)
  const flows = readColumn(from, flow, count)
  const directions = readColumn(from, direction, count)
  const times = readColumn(from, instant, count)
  const values = readColumn(from, energy, count)
  const recordIds = readColumn(from, digits, count)
  const sessions = readColumn(from, text, count)
  const references = readColumn(from, text, count)
  const batchIds = readColumn(from, batch, count)
  const numbers = readColumn(from, uint32, count)
  const versions = readColumn(from, uint64, count)
  const sourceVersions = readColumn(from, uint64, count)
  const received = readColumn(from, instant, count)
  const at = <T>(all: readonly T[], i: number): T => all[i] as T
  return accountIds.map((accountId, i) => ({
    accountId,
    liveMode: at(liveModes, i),
    locationId: at(locationIds, i),
    deviceId: deviceIds[i] === noDevice ? null : at(deviceIds, i),
    energyFlowDirection: at(flows, i),
    tariffDirection: at(directions, i),
    time: at(times, i),
    value: at(values, i),
    recordId: at(recordIds, i),
    sessionReferenceId: at(sessions, i) || null,
    recordReferenceId: at(references, i) || null,
    batchId: batchIds[i] === noBatch ? null : at(batchIds, i),
    recordNumber: at(numbers, i),
    version: at(versions, i),
    sourceVersion: at(sourceVersions, i),
    receivedAt: at(received, i),
  }))
}

/** Which readings are looked for: those at some times of a register (ms, ascending, at least one), and their neighbours. */
export type ReadingQuery = { readonly register: Register; readonly times: readonly number[] }

const readSettings =
  'SETTINGS max_execution_time=25, max_threads=2, do_not_merge_across_partitions_select_final=1, optimize_move_to_prewhere_if_final=1'
const names = meterReadingColumns.map(({ name }) => name)
const key = ['location_id', 'device_id', 'energy_flow_direction', 'tariff_direction'].join(', ')

/** The one way to a reading: settled by FINAL, bound to a tenant. */
const meterReadings = (tenant: Tenant, condition: string): string =>
  `FROM meter_readings FINAL WHERE ${tenantIs(tenant)} AND ${condition}`

const queryLiteral = ({ register, times }: ReadingQuery): string => {
  const { locationId, deviceId, energyFlowDirection, tariffDirection } = register
  const ids = [locationId, deviceId ?? noDevice].map(one => textLiteral(one.slice(-24)))
  const directions = [energyFlowDirection, tariffDirection].map(textLiteral)
  return `(${[...ids, ...directions, `[${times.map(wholeDigits).join(',')}]`].join(',')})`
}

const wholeDigits = (value: number): string => wholeLiteral(value).slice('toInt64('.length, -1)

/**
 * Read what lies nearest to asked times within a span. Asked times cut a register's time into gaps; of each gap come the first and the
 * last reading, and of each asked time the reading itself.
 */
const readNearest = async (
  db: ClickHouse,
  tenant: Tenant,
  queries: readonly ReadingQuery[],
  condition: string,
): Promise<MeterReadingRow[]> => {
  const objects = (of: (register: Register) => string): string =>
    listLiteral([...new Set(queries.map(({ register }) => of(register)))].map(idLiteral))
  const locations = objects(register => register.locationId)
  const devices = objects(register => register.deviceId ?? noDevice)
  const statement = `WITH asks AS (
      SELECT toFixedString(unhex(ask.1), 12) AS location_id, toFixedString(unhex(ask.2), 12) AS device_id,
        ask.3 AS energy_flow_direction, ask.4 AS tariff_direction, ask.5 AS times
      FROM (SELECT arrayJoin(CAST([${queries.map(queryLiteral).join(',')}],
        'Array(Tuple(String, String, Enum8(\\'INBOUND\\' = 0, \\'OUTBOUND\\' = 1), Enum8(\\'IMPORT\\' = 0, \\'EXPORT\\' = 1, \\'LOCAL\\' = 2), Array(Int64)))')) AS ask))
    SELECT ${names.map((name, index) => `row.${index + 1} AS ${name}`).join(', ')}
    FROM (
      SELECT arrayJoin(arrayDistinct([argMin(reading, at), argMax(reading, at)])) AS row
      FROM (
        SELECT tuple(${names.join(', ')}) AS reading, toUnixTimestamp64Milli(time) AS at, ${key},
          has(times, at) AS is_asked, arrayCount(asked -> asked <= at, times) AS gap
        FROM (SELECT ${names.join(', ')} ${meterReadings(tenant, `location_id IN ${locations} AND device_id IN ${devices} AND ${condition}`)}) AS readings
        INNER JOIN asks USING (${key})
      )
      GROUP BY ${key}, gap, is_asked
    ) ${readSettings}`
  const rows: MeterReadingRow[] = []
  for await (const block of db.stream(statement, tenant))
    for (const row of decodeBlocks(block, readRows)) rows.push(row)
  return rows
}

/** Bounds of one statement: its text, and how far apart the times of its registers may lie, for they share one look back. */
const maxRegisters = 400
const maxTimes = 5_000
const day = 86_400_000
const maxSpreadMs = 30 * day
/** How far the reading before is looked for, one after the other: it is near for most registers. */
const lookBacksMs = [day, 60 * day, null]

const firstTimeOf = ({ times }: ReadingQuery): number => times[0] ?? 0

/** Cut asks into statements: by their first time, as many as fit; a register with many times is asked in parts. */
const statementsOf = (queries: readonly ReadingQuery[]): readonly (readonly ReadingQuery[])[] => {
  const parts = queries.flatMap(({ register, times }) =>
    Array.from({ length: Math.ceil(times.length / maxTimes) }, (_, i) => ({
      register,
      times: times.slice(i * maxTimes, (i + 1) * maxTimes),
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

/** Name a register, among all accounts and modes. */
export const registerKey = ({
  accountId,
  liveMode,
  locationId,
  deviceId,
  energyFlowDirection,
  tariffDirection,
}: Register): string => `${accountId}/${liveMode}/${locationId}/${deviceId}/${energyFlowDirection}/${tariffDirection}`

/** Tell which asks have no reading before their first time among those that were found. */
const withoutEarlierReading = (
  queries: readonly ReadingQuery[],
  found: readonly MeterReadingRow[],
): readonly ReadingQuery[] => {
  const earliest = new Map<string, number>()
  for (const row of found) {
    const key = registerKey(row)
    earliest.set(key, Math.min(row.time, earliest.get(key) ?? row.time))
  }
  return queries.filter(
    query => (earliest.get(registerKey(query.register)) ?? Number.POSITIVE_INFINITY) >= firstTimeOf(query),
  )
}

/**
 * Read, for each asked time of each register of a tenant, the reading stored at that time and the nearest ones before and after it.
 * In no order, each reading once; others of the same registers may come with them.
 */
export const readingsAround = async (
  db: ClickHouse,
  tenant: Tenant,
  queries: readonly ReadingQuery[],
): Promise<readonly MeterReadingRow[]> => {
  const found = new Map<string, MeterReadingRow>()
  const addFound = (rows: readonly MeterReadingRow[]): void => {
    for (const row of rows) found.set(`${registerKey(row)}/${row.time}`, row)
  }
  for (const statement of statementsOf(queries)) {
    const first = firstTimeOf(statement[0] as ReadingQuery)
    let rows: readonly MeterReadingRow[] = []
    let remaining = statement
    let to: number | null = null
    for (const lookBackMs of lookBacksMs) {
      const conditions = [
        lookBackMs === null ? 'true' : `time >= ${instantLiteral(first - lookBackMs)}`,
        to === null ? 'true' : `time < ${instantLiteral(to)}`,
      ]
      rows = await readNearest(db, tenant, remaining, conditions.join(' AND '))
      addFound(rows)
      remaining = withoutEarlierReading(remaining, rows).map(({ register, times }) => ({
        register,
        times: times.slice(0, 1),
      }))
      if (remaining.length === 0 || lookBackMs === null) break
      to = first - lookBackMs
    }
  }
  return [...found.values()]
}
