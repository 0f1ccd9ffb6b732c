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
import { isAmong, isInstantAmong } from '../encoding/literals.ts'
import type { Tenant } from '../meter-cost/meter-cost-reads.ts'
import { type MeterReadingRow, meterReadings, type Register, readSettings, registerKey } from './meter-readings.ts'

/** Reading of a batch that replaced a stored reading with another value. */
export type ReplacedReadingRow = Tenant & {
  readonly batchId: string
  readonly recordNumber: number
  readonly locationId: string
  readonly deviceId: string | null
}

const replacedColumn = <T>(
  name: string,
  type: NativeType<T>,
  get: (row: ReplacedReadingRow) => T,
): BlockColumn<ReplacedReadingRow> => column(name, type, get)

export const replacedReadingColumns: readonly BlockColumn<ReplacedReadingRow>[] = [
  replacedColumn('account_id', id('acc_'), row => row.accountId),
  replacedColumn('live_mode', bool, row => row.liveMode),
  replacedColumn('batch_id', id('bat_'), row => row.batchId),
  replacedColumn('record_number', uint32, row => row.recordNumber),
  replacedColumn('location_id', id('loc_'), row => row.locationId),
  replacedColumn('device_id', optionalId('dev_'), row => row.deviceId),
]

/** Identity of a reading. */
export type ReadingPlace = Register & { readonly time: number; readonly isRestart: boolean }

/** Return a key of a reading that is unique among all accounts and modes. */
export const placeKey = (place: ReadingPlace): string => `${registerKey(place)}/${place.time}/${place.isRestart}`

/** Members of a stored reading without its identity. The value is null if the reading is withdrawn. */
export type StoredValue = Pick<
  MeterReadingRow,
  'value' | 'sourceVersion' | 'batchId' | 'sessionReferenceId' | 'recordReferenceId'
>

const storedTypes = {
  location_id: id('loc_'),
  device_id: optionalId('dev_'),
  energy_flow_direction: choice(['INBOUND', 'OUTBOUND']),
  tariff_direction: choice(['IMPORT', 'EXPORT', 'LOCAL']),
  time: instant,
  is_restart: bool,
  value: decimal128('Decimal(19, 6)'),
  is_withdrawn: bool,
  source_version: uint64,
  batch_id: optionalId('bat_'),
  session_reference_id: optionalText,
  record_reference_id: optionalText,
} as const

type StoredReading = StoredValue & { readonly place: Omit<ReadingPlace, keyof Tenant> }

const readStored = (from: BlockReader, count: number): readonly StoredReading[] => {
  const columns = readColumns(from, storedTypes, count)
  return columns.location_id.map((locationId, i) => ({
    place: {
      locationId,
      deviceId: valueAt(columns.device_id, i),
      energyFlowDirection: valueAt(columns.energy_flow_direction, i),
      tariffDirection: valueAt(columns.tariff_direction, i),
      time: valueAt(columns.time, i),
      isRestart: valueAt(columns.is_restart, i),
    },
    value: valueAt(columns.is_withdrawn, i) ? null : valueAt(columns.value, i),
    sourceVersion: valueAt(columns.source_version, i),
    batchId: valueAt(columns.batch_id, i),
    sessionReferenceId: valueAt(columns.session_reference_id, i),
    recordReferenceId: valueAt(columns.record_reference_id, i),
  }))
}

/** Limits of one statement: places, and pairs of a register and a time, each of which can have a row. */
const [maxPlaces, maxPairs] = [2_000, 250_000]

/** Divide places into statements, in the order of time. */
const statementsOf = (places: readonly ReadingPlace[]): readonly (readonly ReadingPlace[])[] => {
  const statements: ReadingPlace[][] = []
  let [registers, times] = [new Set<string>(), new Set<number>()]
  for (const place of places.toSorted((a, b) => a.time - b.time)) {
    const current = statements.at(-1)
    registers.add(registerKey(place))
    times.add(place.time)
    if (current === undefined || current.length === maxPlaces || registers.size * times.size > maxPairs) {
      statements.push([place])
      registers = new Set([registerKey(place)])
      times = new Set([place.time])
    } else current.push(place)
  }
  return statements
}

/** Read the values of the stored readings at some places, by `placeKey`. Other readings may be included. */
export const storedValues = async (
  db: ClickHouse,
  tenant: Tenant,
  places: readonly ReadingPlace[],
): Promise<ReadonlyMap<string, StoredValue>> => {
  const { accountId, liveMode } = tenant
  const found = new Map<string, StoredValue>()
  for (const some of statementsOf(places)) {
    const among = (column: string, of: (place: ReadingPlace) => string | null): string =>
      isAmong(column, [...new Set(some.map(of))])
    const times = [...new Set(some.map(({ time }) => time))]
    const statement = `SELECT ${Object.keys(storedTypes).join(', ')} ${meterReadings(
      tenant,
      `${among('location_id', place => place.locationId)} AND ${among('device_id', place => place.deviceId)} AND ${isInstantAmong('time', times)}`,
    )} ${readSettings}`
    for (const { place, ...value } of decodeBlocks(await db.blocks(statement, tenant), readStored))
      found.set(placeKey({ accountId, liveMode, ...place }), value)
  }
  return found
}
