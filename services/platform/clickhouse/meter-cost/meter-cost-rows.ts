import {
  type NumberField,
  numberFields,
  optionMembers,
  recordFields,
  recordTexts,
  setNumber,
} from '../../../contract/metering/record-fields.ts'
import type { CostPiece } from '../../../domain/cost/cost-piece.ts'
import { noOptions } from '../../../domain/record/record.ts'
import {
  type BlockReader,
  type ColumnValues,
  decodeBlocks,
  readColumn,
  readColumns,
  valueAt,
} from '../encoding/fast-path/native-block.ts'
import {
  array,
  bool,
  choice,
  currency,
  decimal64,
  decimal128,
  id,
  instant,
  nullable,
  optionalId,
  optionalText,
  uint8,
  uint32,
  uint64,
} from '../encoding/fast-path/native-types.ts'
import type { MeterCostRow } from './meter-cost-row.ts'

const energy = decimal64('Decimal(18, 6)')
const price = decimal64('Decimal(18, 9)')
const money = decimal128('Decimal(38, 9)')

/** Types of the values of a row. */
export const rowTypes = {
  account: id('acc_'),
  location: id('loc_'),
  device: optionalId('dev_'),
  batch: optionalId('bat_'),
  bareId: id(''),
  flow: choice(['INBOUND', 'OUTBOUND']),
  direction: choice(['IMPORT', 'EXPORT', 'LOCAL']),
  status: choice(['PRICED', 'PROVISIONAL', 'UNPRICED']),
  energy,
  price,
  nullableEnergy: nullable(energy, 0n),
  money,
  nullableMoney: nullable(money, 0n),
  tariffs: array(id('trf_')),
  sources: array(id('mrs_')),
  starts: array(instant),
  energies: array(energy),
  prices: array(price),
  costs: array(money),
  confidences: array(uint32),
  bool,
  currency,
  instant,
  optionalText,
  uint8,
  uint32,
  uint64,
} as const

export const noDevice = `dev_${'0'.repeat(24)}`
export const noBatch = `bat_${'0'.repeat(24)}`
const noPieces: readonly never[] = []

/** Return the only piece of a row. Columns of the row store it; the lists of `pieces` store two or more pieces. */
export const onlyPiece = (row: MeterCostRow): CostPiece | undefined =>
  row.pieces.length === 1 ? row.pieces[0] : undefined

/** Return the type of the column of an optional number. */
export const numberType = ({ rule }: Pick<NumberField, 'rule'>) => nullable(decimal64(`Decimal(18, ${rule.scale})`), 0n)

/** Columns of the pieces of a row by name. */
export const pieceTypes = {
  start_time: instant,
  end_time: instant,
  energy,
  cost: rowTypes.nullableMoney,
  confidence: uint32,
  price,
  tier: energy,
  'pieces.start_time': rowTypes.starts,
  'pieces.energy': rowTypes.energies,
  'pieces.price': rowTypes.prices,
  'pieces.tier': rowTypes.energies,
  'pieces.cost': rowTypes.costs,
  'pieces.confidence': rowTypes.confidences,
}

/** Columns of a row by name, in the order in which `decodeMeterCostRows` reads them. */
const columnTypes = {
  ...pieceTypes,
  account_id: rowTypes.account,
  live_mode: bool,
  location_id: rowTypes.location,
  device_id: rowTypes.device,
  energy_flow_direction: rowTypes.flow,
  tariff_direction: rowTypes.direction,
  record_id: rowTypes.bareId,
  ...optionMembers(() => rowTypes.optionalText, numberType),
  energy_submitted: rowTypes.nullableEnergy,
  record_confidence: uint32,
  status: rowTypes.status,
  currency,
  tariff_ids: rowTypes.tariffs,
  market_source_ids: rowTypes.sources,
  pricing_revision: uint32,
  price_revision: uint64,
  batch_id: rowTypes.batch,
  version: uint64,
  version_lead: uint64,
  received_at: instant,
  is_deleted: uint8,
}

/** The columns to select, in the order of `decodeMeterCostRows`. */
export const meterCostColumns: readonly string[] = Object.keys(columnTypes)

/** Types of the columns that `costedColumns` names. */
const costedTypes = {
  ...pieceTypes,
  device_id: columnTypes.device_id,
  energy_flow_direction: columnTypes.energy_flow_direction,
  tariff_direction: columnTypes.tariff_direction,
  record_reference_id: columnTypes.record_reference_id,
  record_confidence: columnTypes.record_confidence,
  version: columnTypes.version,
}

/** The columns that costs are added up from, in the order of `decodeCostedRows`. Each column takes planning time. */
export const costedColumns: readonly string[] = Object.keys(costedTypes)

/** The members of a row that costs are added up from. */
export type CostedRow = Pick<
  MeterCostRow,
  | ('deviceId' | 'energyFlowDirection' | 'tariffDirection' | 'start' | 'end' | 'recordReferenceId')
  | ('energy' | 'recordConfidence' | 'cost' | 'confidence' | 'pieces' | 'version')
>

/** Decode rows selected as `costedColumns`. */
export const decodeCostedRows = (bytes: Buffer): CostedRow[] =>
  decodeBlocks(bytes, (from, count) => {
    const columns = readColumns(from, costedTypes, count)
    return columns.device_id.map((deviceId, i) => ({
      deviceId,
      energyFlowDirection: valueAt(columns.energy_flow_direction, i),
      tariffDirection: valueAt(columns.tariff_direction, i),
      start: valueAt(columns.start_time, i),
      end: valueAt(columns.end_time, i),
      recordReferenceId: valueAt(columns.record_reference_id, i),
      energy: valueAt(columns.energy, i),
      recordConfidence: valueAt(columns.record_confidence, i),
      cost: valueAt(columns.cost, i),
      confidence: valueAt(columns.confidence, i),
      pieces: piecesOf(columns, i),
      version: valueAt(columns.version, i),
    }))
  })

/** Decode rows selected as `meterCostColumns`. */
export const decodeMeterCostRows = (bytes: Buffer): MeterCostRow[] => decodeBlocks(bytes, readRows)

/** Decode rows selected as `meterCostColumns`, followed by the number of pieces of each row. */
export const decodeListedRows = (bytes: Buffer): (MeterCostRow & { readonly pieceCount: number })[] =>
  decodeBlocks(bytes, (from, count) => {
    const rows = readRows(from, count)
    const counts = readColumn(from, uint64, count)
    return rows.map((row, index) => ({ ...row, pieceCount: Number(counts[index] ?? 0n) }))
  })

const readRows = (from: BlockReader, count: number): readonly MeterCostRow[] => {
  const columns = readColumns(from, columnTypes, count)
  const rows = columns.account_id.map((accountId, i) => ({
    ...noOptions,
    accountId,
    liveMode: valueAt(columns.live_mode, i),
    locationId: valueAt(columns.location_id, i),
    deviceId: valueAt(columns.device_id, i),
    energyFlowDirection: valueAt(columns.energy_flow_direction, i),
    tariffDirection: valueAt(columns.tariff_direction, i),
    start: valueAt(columns.start_time, i),
    end: valueAt(columns.end_time, i),
    recordId: valueAt(columns.record_id, i),
    energy: valueAt(columns.energy, i),
    energySubmitted: valueAt(columns.energy_submitted, i),
    recordConfidence: valueAt(columns.record_confidence, i),
    status: valueAt(columns.status, i),
    cost: valueAt(columns.cost, i),
    currency: valueAt(columns.currency, i),
    confidence: valueAt(columns.confidence, i),
    pieces: piecesOf(columns, i),
    tariffIds: valueAt(columns.tariff_ids, i),
    marketSourceIds: valueAt(columns.market_source_ids, i),
    pricingRevision: valueAt(columns.pricing_revision, i),
    priceRevision: valueAt(columns.price_revision, i),
    batchId: valueAt(columns.batch_id, i),
    version: valueAt(columns.version, i),
    sourceVersion: valueAt(columns.version, i) - valueAt(columns.version_lead, i),
    receivedAt: valueAt(columns.received_at, i),
    isDeleted: columns.is_deleted[i] === 1,
  }))
  for (const name of recordTexts) {
    for (const [i, text] of columns[recordFields[name].wire].entries()) if (text !== null) valueAt(rows, i)[name] = text
  }
  for (const field of numberFields) {
    const numbers = (columns as Readonly<Record<string, readonly unknown[]>>)[field.wire] as readonly (bigint | null)[]
    for (const [i, number] of numbers.entries()) setNumber(valueAt(rows, i), field, number)
  }
  return rows
}

/**
 * Return the pieces of a row. A piece ends where the next piece starts; the last piece ends with the row. Columns of the
 * row store an only piece.
 */
export const piecesOf = (columns: ColumnValues<typeof pieceTypes>, i: number): readonly CostPiece[] => {
  const starts = valueAt(columns['pieces.start_time'], i)
  const end = valueAt(columns.end_time, i)
  if (starts.length > 0) {
    return starts.map((start, piece) => ({
      start,
      end: starts[piece + 1] ?? end,
      energy: valueAt(valueAt(columns['pieces.energy'], i), piece),
      price: valueAt(valueAt(columns['pieces.price'], i), piece),
      tier: valueAt(valueAt(columns['pieces.tier'], i), piece),
      cost: valueAt(valueAt(columns['pieces.cost'], i), piece),
      confidence: valueAt(valueAt(columns['pieces.confidence'], i), piece),
    }))
  }
  const cost = valueAt(columns.cost, i)
  if (cost === null) return noPieces
  const start = valueAt(columns.start_time, i)
  const [energy, price, tier] = [valueAt(columns.energy, i), valueAt(columns.price, i), valueAt(columns.tier, i)]
  return [{ start, end, energy, price, tier, cost, confidence: valueAt(columns.confidence, i) }]
}
