import { numberFields, numberOf, recordFields, recordTexts } from '../../../../contract/metering/record-fields.ts'
import type { CostPiece } from '../../../../domain/cost/cost-piece.ts'
import { noOptions } from '../../../../domain/record/record.ts'
import { putDigits } from '../../../../record-bytes/digits.ts'
import type { NativeRows } from '../../clickhouse.ts'
import type { MeterCostRow } from '../../meter-cost/meter-cost-row.ts'
import { noBatch, noDevice, numberType, onlyPiece, rowTypes } from '../../meter-cost/meter-cost-rows.ts'
import { type PieceColumn, pieceColumns } from '../packed-pieces.ts'
import {
  type BlockColumn,
  column,
  encodeBlockInSteps,
  type FixedColumn,
  type NativeType,
  type Run,
  runToEnd,
  writeBytes,
} from './native-block.ts'
import { writeEnds } from './native-types.ts'
import { type PlainRows, plainWriters } from './plain-rows.ts'

/**
 * Encode rows for an insert, in steps: plain rows in a block before the block of the others. Columns whose value is the
 * table's default in every row are left out; these are most columns of plain rows. Each column has its own loop: one loop for all types takes five times as long. Throws a
 * RangeError for ids and currencies of another form.
 */
export function* meterCostBlockInSteps(
  rows: readonly MeterCostRow[],
  plain: PlainRows | null = null,
): Generator<void, NativeRows> {
  const needed = neededColumns(rows)
  if (plain !== null) {
    const pricings = plain.rows.map(row => plain.pricings[plain.records.location[row] as number])
    needed.sources ||= plain.rows.some(row => (plain.sourceIds[row] as readonly string[]).length > 0)
    needed.priceRevision ||= pricings.some(pricing => pricing?.priceRevision !== 0n)
  }
  yield
  const columns = [
    ...requiredColumns,
    ...optionColumns.filter(({ isNeeded }) => isNeeded(rows)).map(one => one.column),
    ...optionalColumns.filter(({ need }) => needed[need]).map(one => one.column),
  ]
  const blocks: Buffer[] = []
  if (plain !== null) blocks.push(yield* encodeBlockInSteps(columnsOfPlain(columns, plain), plain.rows))
  if (plain === null || rows.length > 0) blocks.push(yield* encodeBlockInSteps(columns, rows))
  return { table: 'meter_cost', columns, bytes: blocks.length === 1 ? (blocks[0] as Buffer) : Buffer.concat(blocks) }
}

type RowColumns = readonly (FixedColumn<MeterCostRow> | BlockColumn<MeterCostRow>)[]

/** Return the same columns for plain rows. */
const columnsOfPlain = (
  columns: RowColumns,
  plain: PlainRows,
): readonly (FixedColumn<number> | BlockColumn<number>)[] => {
  const writers = plainWriters(plain)
  return columns.map(one => {
    const writer = writers.get(one.name)
    if (writer !== undefined) return { ...writer, name: one.name, type: one.type }
    if ('runs' in one) throw new RangeError(`The column ${one.name} needs a writer of plain rows.`)
    return {
      ...one,
      write: (to, indexes) =>
        one.write(
          to,
          indexes.map(() => defaultRow),
        ),
    }
  })
}

/** Row with the defaults of the optional columns. */
const defaultRow = {
  ...noOptions,
  energySubmitted: null,
  pieces: [],
  version: 0n,
  sourceVersion: 0n,
  isDeleted: false,
} as Partial<MeterCostRow> as MeterCostRow

/** Encode rows for an insert without a pause. */
export const meterCostBlock = (rows: readonly MeterCostRow[]): NativeRows => runToEnd(meterCostBlockInSteps(rows))

type WriteLoop = Run<MeterCostRow>['write']

/** Create a column whose values have `size` bytes. */
const fixedColumn = (
  name: string,
  { type }: Pick<NativeType<unknown>, 'type'>,
  size: number,
  write: WriteLoop,
): FixedColumn<MeterCostRow> => ({
  name,
  type,
  runs: [{ size, write }],
})

const twoTo32 = 4_294_967_296

/** Copy the previous id: neighbouring rows often share an id. */
const copyPreviousId = (view: DataView, at: number): void => {
  view.setUint32(at, view.getUint32(at - 12))
  view.setUint32(at + 4, view.getUint32(at - 8))
  view.setUint32(at + 8, view.getUint32(at - 4))
}

// V8 still specialises a loop that at most four columns share.
const instantColumn = (name: string, of: (row: MeterCostRow) => number): FixedColumn<MeterCostRow> =>
  fixedColumn(name, rowTypes.instant, 8, (rows, view, from) => {
    let at = from
    for (const row of rows) {
      const value = of(row)
      const high = Math.floor(value / twoTo32)
      view.setUint32(at, value - high * twoTo32, true)
      view.setUint32(at + 4, high, true)
      at += 8
    }
  })

const numberColumn = (name: string, of: (row: MeterCostRow) => number): FixedColumn<MeterCostRow> =>
  fixedColumn(name, rowTypes.uint32, 4, (rows, view, from) => {
    let at = from
    for (const row of rows) {
      view.setUint32(at, of(row), true)
      at += 4
    }
  })

const requiredColumns: readonly (FixedColumn<MeterCostRow> | BlockColumn<MeterCostRow>)[] = [
  fixedColumn('account_id', rowTypes.account, 12, (rows, view, from, bytes) => {
    let at = from
    let last = ''
    for (const { accountId } of rows) {
      if (accountId === last) copyPreviousId(view, at)
      else putDigits(bytes, at, accountId, 4)
      last = accountId
      at += 12
    }
  }),
  fixedColumn('live_mode', rowTypes.bool, 1, (rows, view, from) => {
    let at = from
    for (const { liveMode } of rows) view.setUint8(at++, liveMode ? 1 : 0)
  }),
  fixedColumn('location_id', rowTypes.location, 12, (rows, view, from, bytes) => {
    let at = from
    let last = ''
    for (const { locationId } of rows) {
      if (locationId === last) copyPreviousId(view, at)
      else putDigits(bytes, at, locationId, 4)
      last = locationId
      at += 12
    }
  }),
  fixedColumn('device_id', rowTypes.device, 12, (rows, _, from, bytes) => {
    let at = from
    for (const { deviceId } of rows) {
      putDigits(bytes, at, deviceId ?? noDevice, 4)
      at += 12
    }
  }),
  fixedColumn('energy_flow_direction', rowTypes.flow, 1, (rows, view, from) => {
    let at = from
    for (const { energyFlowDirection } of rows) view.setInt8(at++, energyFlowDirection === 'INBOUND' ? 0 : 1)
  }),
  fixedColumn('tariff_direction', rowTypes.direction, 1, (rows, view, from) => {
    let at = from
    for (const { tariffDirection } of rows)
      view.setInt8(at++, tariffDirection === 'IMPORT' ? 0 : tariffDirection === 'EXPORT' ? 1 : 2)
  }),
  instantColumn('start_time', row => row.start),
  instantColumn('end_time', row => row.end),
  fixedColumn('record_id', rowTypes.bareId, 12, (rows, _, from, bytes) => {
    let at = from
    for (const { recordId } of rows) {
      putDigits(bytes, at, recordId, 0)
      at += 12
    }
  }),
  fixedColumn('energy', rowTypes.energy, 8, (rows, view, from) => {
    let at = from
    for (const { energy } of rows) {
      view.setBigInt64(at, energy, true)
      at += 8
    }
  }),
  numberColumn('record_confidence', row => row.recordConfidence),
  fixedColumn('status', rowTypes.status, 1, (rows, view, from) => {
    let at = from
    for (const { status } of rows) view.setInt8(at++, status === 'PRICED' ? 0 : status === 'PROVISIONAL' ? 1 : 2)
  }),
  {
    name: 'cost',
    type: rowTypes.nullableMoney.type,
    runs: [
      {
        size: 1,
        write: (rows, view, from) => {
          let at = from
          for (const { cost } of rows) view.setUint8(at++, cost === null ? 1 : 0)
        },
      },
      {
        size: 16,
        write: (rows, view, from) => {
          let at = from
          for (const { cost } of rows) {
            const value = cost ?? 0n
            const low = BigInt.asIntN(64, value)
            view.setBigInt64(at, low, true)
            view.setBigInt64(at + 8, low === value ? (low < 0n ? -1n : 0n) : value >> 64n, true)
            at += 16
          }
        },
      },
    ],
  },
  fixedColumn('currency', rowTypes.currency, 3, (rows, _, from, bytes) => {
    let at = from
    let last = ''
    for (const { currency } of rows) {
      if (currency !== last && !/^[A-Z]{3}$/.test(currency)) throw new RangeError(`Not a currency: ${currency}.`)
      last = currency
      for (let i = 0; i < 3; i += 1) bytes[at + i] = currency.charCodeAt(i)
      at += 3
    }
  }),
  numberColumn('confidence', row => row.confidence),
  fixedColumn('price', rowTypes.price, 8, (rows, view, from) => {
    let at = from
    for (const row of rows) {
      view.setBigInt64(at, onlyPiece(row)?.price ?? 0n, true)
      at += 8
    }
  }),
  numberColumn('pricing_revision', row => row.pricingRevision),
  fixedColumn('batch_id', rowTypes.batch, 12, (rows, view, from, bytes) => {
    let at = from
    let last: string | null = ''
    for (const { batchId } of rows) {
      if (batchId === last) copyPreviousId(view, at)
      else putDigits(bytes, at, batchId ?? noBatch, 4)
      last = batchId
      at += 12
    }
  }),
  fixedColumn('version', rowTypes.uint64, 8, (rows, view, from) => {
    let at = from
    for (const { version } of rows) {
      view.setBigUint64(at, version, true)
      at += 8
    }
  }),
  instantColumn('received_at', row => row.receivedAt),
  column('tariff_ids', rowTypes.tariffs, row => row.tariffIds),
]

/** Return which optional columns the rows need. */
const neededColumns = (rows: readonly MeterCostRow[]) => {
  const needed = {
    submitted: false,
    tier: false,
    pieces: false,
    sources: false,
    priceRevision: false,
    lead: false,
    deleted: false,
  }
  for (const row of rows) {
    needed.submitted ||= row.energySubmitted !== null
    needed.tier ||= (onlyPiece(row)?.tier ?? 0n) !== 0n
    needed.pieces ||= row.pieces.length > 1 || row.packed !== undefined
    needed.sources ||= row.marketSourceIds.length > 0
    needed.priceRevision ||= row.priceRevision !== 0n
    needed.lead ||= row.version !== row.sourceVersion
    needed.deleted ||= row.isDeleted
  }
  return needed
}

type OptionalColumn = {
  readonly need: keyof ReturnType<typeof neededColumns>
  readonly column: BlockColumn<MeterCostRow>
}

const optionalColumn = <T>(
  need: OptionalColumn['need'],
  name: string,
  nativeType: NativeType<T>,
  of: (row: MeterCostRow) => T,
): OptionalColumn => ({
  need,
  column: column(name, nativeType, of),
})

const countPieces = ({ packed, pieces }: MeterCostRow): number =>
  packed?.count ?? (pieces.length > 1 ? pieces.length : 0)

/** Pieces that are written between two steps. */
const piecesPerStep = 8_192

/** Create a column of pieces, for rows with two or more pieces. Packed pieces are copied. */
const pieceListColumn = ({ name, listType: lists, write }: PieceColumn, index: number): OptionalColumn => ({
  need: 'pieces',
  column: {
    name,
    type: lists.type,
    *write(to, rows) {
      writeEnds(to, rows.map(countPieces))
      yield
      let unwritten: CostPiece[] = []
      for (const { packed, pieces } of rows) {
        if (packed === undefined && pieces.length > 1) for (const piece of pieces) unwritten.push(piece)
        if (packed === undefined && unwritten.length < piecesPerStep) continue
        write(to, unwritten)
        unwritten = []
        if (packed !== undefined) writeBytes(to, packed.columns[index] as Buffer)
        yield
      }
      write(to, unwritten)
    },
  },
})

const optionColumn = <T>(name: string, nativeType: NativeType<T | null>, of: (row: MeterCostRow) => T | null) => ({
  isNeeded: (rows: readonly MeterCostRow[]) => rows.some(row => of(row) !== null),
  column: column(name, nativeType, of),
})

/** Columns of the optional texts and numbers of a record. */
const optionColumns = [
  ...recordTexts.map(name => optionColumn(recordFields[name].wire, rowTypes.optionalText, row => row[name])),
  ...numberFields.map(field => optionColumn(field.wire, numberType(field), row => numberOf(row, field))),
]

const optionalColumns: readonly OptionalColumn[] = [
  optionalColumn('submitted', 'energy_submitted', rowTypes.nullableEnergy, row => row.energySubmitted),
  optionalColumn('tier', 'tier', rowTypes.energy, row => onlyPiece(row)?.tier ?? 0n),
  ...pieceColumns.map(pieceListColumn),
  optionalColumn('sources', 'market_source_ids', rowTypes.sources, row => row.marketSourceIds),
  optionalColumn('priceRevision', 'price_revision', rowTypes.uint64, row => row.priceRevision),
  optionalColumn('lead', 'version_lead', rowTypes.uint64, row => row.version - row.sourceVersion),
  optionalColumn('deleted', 'is_deleted', rowTypes.uint8, row => (row.isDeleted ? 1 : 0)),
]
