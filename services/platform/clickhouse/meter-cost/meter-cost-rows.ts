import { type BlockReader, decodeBlocks, readColumn } from '../encoding/fast-path/native-block.ts'
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
  text,
  uint8,
  uint32,
  uint64,
} from '../encoding/fast-path/native-types.ts'
import type { CostPiece, MeterCostRow } from './meter-cost-row.ts'

const energy = decimal64('Decimal(18, 6)')
const price = decimal64('Decimal(18, 9)')
const money = decimal128('Decimal(38, 9)')

/** The kinds of the values of a row. */
export const rowTypes = {
  account: id('acc_'),
  location: id('loc_'),
  device: id('dev_'),
  batch: id('bat_'),
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
  text,
  uint8,
  uint32,
  uint64,
} as const

export const noDevice = `dev_${'0'.repeat(24)}`
export const noBatch = `bat_${'0'.repeat(24)}`
const noPieces: readonly never[] = []

/** A single piece is told by the row's own columns; arrays are for more. */
export const onlyPiece = (row: MeterCostRow): CostPiece | undefined =>
  row.pieces.length === 1 ? row.pieces[0] : undefined

/** The columns of a row in the order in which `decodeMeterCostRows` wants them selected. */
export const meterCostColumns: readonly string[] = [
  'account_id',
  'live_mode',
  'location_id',
  'device_id',
  'energy_flow_direction',
  'tariff_direction',
  'start_time',
  'end_time',
  'record_id',
  'session_reference_id',
  'record_reference_id',
  'energy',
  'energy_submitted',
  'record_confidence',
  'status',
  'cost',
  'currency',
  'confidence',
  'price',
  'tier',
  'pieces.start_time',
  'pieces.energy',
  'pieces.price',
  'pieces.tier',
  'pieces.cost',
  'pieces.confidence',
  'tariff_ids',
  'market_source_ids',
  'pricing_revision',
  'price_revision',
  'batch_id',
  'version',
  'version_lead',
  'received_at',
  'is_deleted',
]

/** Decode rows selected as `meterCostColumns`. */
export const decodeMeterCostRows = (bytes: Buffer): MeterCostRow[] => decodeBlocks(bytes, readRows)

/** Decode rows selected as `meterCostColumns` and, behind them, how many pieces each has. */
export const decodeListedRows = (bytes: Buffer): (MeterCostRow & { readonly pieceCount: number })[] =>
  decodeBlocks(bytes, (from, count) => {
    const rows = readRows(from, count)
    const counts = readColumn(from, rowTypes.uint64, count)
    return rows.map((row, index) => ({ ...row, pieceCount: Number(counts[index] ?? 0n) }))
  })

const readRows = (from: BlockReader, count: number): readonly MeterCostRow[] => {
  const accountIds = readColumn(from, rowTypes.account, count)
  const liveModes = readColumn(from, rowTypes.bool, count)
  const locationIds = readColumn(from, rowTypes.location, count)
  const deviceIds = readColumn(from, rowTypes.device, count)
  const flows = readColumn(from, rowTypes.flow, count)
  const directions = readColumn(from, rowTypes.direction, count)
  const startTimes = readColumn(from, rowTypes.instant, count)
  const endTimes = readColumn(from, rowTypes.instant, count)
  const recordIds = readColumn(from, rowTypes.bareId, count)
  const sessions = readColumn(from, rowTypes.text, count)
  const references = readColumn(from, rowTypes.text, count)
  const rowEnergies = readColumn(from, rowTypes.energy, count)
  const submitted = readColumn(from, rowTypes.nullableEnergy, count)
  const recordConfidences = readColumn(from, rowTypes.uint32, count)
  const statuses = readColumn(from, rowTypes.status, count)
  const rowCosts = readColumn(from, rowTypes.nullableMoney, count)
  const currencies = readColumn(from, rowTypes.currency, count)
  const rowConfidences = readColumn(from, rowTypes.uint32, count)
  const pieces = readPieces(from, count, { startTimes, rowEnergies, rowCosts, rowConfidences })
  const tariffIds = readColumn(from, rowTypes.tariffs, count)
  const sourceIds = readColumn(from, rowTypes.sources, count)
  const pricingRevisions = readColumn(from, rowTypes.uint32, count)
  const priceRevisions = readColumn(from, rowTypes.uint64, count)
  const batchIds = readColumn(from, rowTypes.batch, count)
  const versions = readColumn(from, rowTypes.uint64, count)
  const leads = readColumn(from, rowTypes.uint64, count)
  const received = readColumn(from, rowTypes.instant, count)
  const deleted = readColumn(from, rowTypes.uint8, count)
  const at = <T>(values: readonly T[], i: number): T => values[i] as T
  return accountIds.map((accountId, i) => ({
    accountId,
    liveMode: at(liveModes, i),
    locationId: at(locationIds, i),
    deviceId: deviceIds[i] === noDevice ? null : at(deviceIds, i),
    energyFlowDirection: at(flows, i),
    tariffDirection: at(directions, i),
    start: at(startTimes, i),
    end: at(endTimes, i),
    recordId: at(recordIds, i),
    sessionReferenceId: at(sessions, i) || null,
    recordReferenceId: at(references, i) || null,
    energy: at(rowEnergies, i),
    energySubmitted: at(submitted, i),
    recordConfidence: at(recordConfidences, i),
    status: at(statuses, i),
    cost: at(rowCosts, i),
    currency: at(currencies, i),
    confidence: at(rowConfidences, i),
    pieces: at(pieces, i),
    tariffIds: at(tariffIds, i),
    marketSourceIds: at(sourceIds, i),
    pricingRevision: at(pricingRevisions, i),
    priceRevision: at(priceRevisions, i),
    batchId: batchIds[i] === noBatch ? null : at(batchIds, i),
    version: at(versions, i),
    sourceVersion: at(versions, i) - at(leads, i),
    receivedAt: at(received, i),
    isDeleted: deleted[i] === 1,
  }))
}

type RowColumns = {
  readonly startTimes: readonly number[]
  readonly rowEnergies: readonly bigint[]
  readonly rowCosts: readonly (bigint | null)[]
  readonly rowConfidences: readonly number[]
}

const readPieces = (from: BlockReader, count: number, rowColumns: RowColumns): readonly (readonly CostPiece[])[] => {
  const rowPrices = readColumn(from, rowTypes.price, count)
  const rowTiers = readColumn(from, rowTypes.energy, count)
  const pieceStarts = readColumn(from, rowTypes.starts, count)
  const pieceEnergies = readColumn(from, rowTypes.energies, count)
  const piecePrices = readColumn(from, rowTypes.prices, count)
  const pieceTiers = readColumn(from, rowTypes.energies, count)
  const pieceCosts = readColumn(from, rowTypes.costs, count)
  const pieceConfidences = readColumn(from, rowTypes.confidences, count)
  return pieceStarts.map((starts, i): readonly CostPiece[] => {
    const cost = rowColumns.rowCosts[i] ?? null
    const piece = (j: number): CostPiece => ({
      start: starts[j] ?? 0,
      energy: pieceEnergies[i]?.[j] ?? 0n,
      price: piecePrices[i]?.[j] ?? 0n,
      tier: pieceTiers[i]?.[j] ?? 0n,
      cost: pieceCosts[i]?.[j] ?? 0n,
      confidence: pieceConfidences[i]?.[j] ?? 0,
    })
    if (starts.length > 0) return starts.map((_, j) => piece(j))
    if (cost === null) return noPieces
    const start = rowColumns.startTimes[i] ?? 0
    const one = { start, energy: rowColumns.rowEnergies[i] ?? 0n, price: rowPrices[i] ?? 0n, tier: rowTiers[i] ?? 0n }
    return [{ ...one, cost, confidence: rowColumns.rowConfidences[i] ?? 0 }]
  })
}
