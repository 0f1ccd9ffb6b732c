import type { CostPiece, MeterCostRow } from './meter-cost-row.ts'
import { type BlockColumn, type BlockReader, column, decodeBlocks, encodeBlock, type Kind, readColumn } from './native-block.ts'
import { array, bool, choice, currency, decimal64, decimal128, id, instant, nullable, text, uint8, uint32, uint64 } from './native-kinds.ts'

const energy = decimal64('Decimal(18, 6)')
const price = decimal64('Decimal(18, 9)')
const money = decimal128('Decimal(38, 9)')
const account = id('acc_')
const location = id('loc_')
const device = id('dev_')
const batch = id('bat_')
const digits = id('')
const flow = choice(['INBOUND', 'OUTBOUND'])
const direction = choice(['IMPORT', 'EXPORT', 'LOCAL'])
const status = choice(['PRICED', 'PROVISIONAL', 'UNPRICED'])
const tariffs = array(id('trf_'))
const sources = array(id('mrs_'))
const starts = array(instant)
const energies = array(energy)
const prices = array(price)
const costs = array(money)
const confidences = array(uint32)
const maybeEnergy = nullable(energy, 0n)
const maybeMoney = nullable(money, 0n)

const noDevice = `dev_${'0'.repeat(24)}`
const noBatch = `bat_${'0'.repeat(24)}`
const nothing: readonly never[] = []
/** A single piece is told by the row's own columns; arrays are for more. */
const only = (row: MeterCostRow): CostPiece | undefined => (row.pieces.length === 1 ? row.pieces[0] : undefined)
const ofPieces =
  <T>(of: (piece: CostPiece) => T) =>
  (row: MeterCostRow): readonly T[] =>
    row.pieces.length > 1 ? row.pieces.map(of) : nothing
const ofRow = <T>(name: string, kind: Kind<T>, of: (row: MeterCostRow) => T): BlockColumn<MeterCostRow> => column(name, kind, of)

/** The columns of an encoded row, in the order in which `decodeMeterCostRows` wants them selected. */
export const meterCostColumns: readonly BlockColumn<MeterCostRow>[] = [
  ofRow('account_id', account, row => row.accountId),
  ofRow('live_mode', bool, row => row.liveMode),
  ofRow('location_id', location, row => row.locationId),
  ofRow('device_id', device, row => row.deviceId ?? noDevice),
  ofRow('energy_flow_direction', flow, row => row.energyFlowDirection),
  ofRow('tariff_direction', direction, row => row.tariffDirection),
  ofRow('start_time', instant, row => row.start),
  ofRow('end_time', instant, row => row.end),
  ofRow('record_id', digits, row => row.recordId),
  ofRow('session_reference_id', text, row => row.sessionReferenceId ?? ''),
  ofRow('record_reference_id', text, row => row.recordReferenceId ?? ''),
  ofRow('energy', energy, row => row.energy),
  ofRow('energy_submitted', maybeEnergy, row => row.energySubmitted),
  ofRow('record_confidence', uint32, row => row.recordConfidence),
  ofRow('status', status, row => row.status),
  ofRow('cost', maybeMoney, row => row.cost),
  ofRow('currency', currency, row => row.currency),
  ofRow('confidence', uint32, row => row.confidence),
  ofRow('price', price, row => only(row)?.price ?? 0n),
  ofRow('tier', energy, row => only(row)?.tier ?? 0n),
  ofRow(
    'pieces.start_time',
    starts,
    ofPieces(piece => piece.start),
  ),
  ofRow(
    'pieces.energy',
    energies,
    ofPieces(piece => piece.energy),
  ),
  ofRow(
    'pieces.price',
    prices,
    ofPieces(piece => piece.price),
  ),
  ofRow(
    'pieces.tier',
    energies,
    ofPieces(piece => piece.tier),
  ),
  ofRow(
    'pieces.cost',
    costs,
    ofPieces(piece => piece.cost),
  ),
  ofRow(
    'pieces.confidence',
    confidences,
    ofPieces(piece => piece.confidence),
  ),
  ofRow('tariff_ids', tariffs, row => row.tariffIds),
  ofRow('market_source_ids', sources, row => row.marketSourceIds),
  ofRow('pricing_revision', uint32, row => row.pricingRevision),
  ofRow('price_revision', uint64, row => row.priceRevision),
  ofRow('batch_id', batch, row => row.batchId ?? noBatch),
  ofRow('version', uint64, row => row.version),
  ofRow('version_lead', uint64, row => row.version - row.sourceVersion),
  ofRow('received_at', instant, row => row.receivedAt),
  ofRow('is_deleted', uint8, row => (row.isDeleted ? 1 : 0)),
]

/** Encode rows for an insert. Throws a RangeError for ids and currencies of another form. */
export const encodeMeterCostRows = (rows: readonly MeterCostRow[]): Buffer => encodeBlock(meterCostColumns, rows)

/** Decode rows selected as `meterCostColumns`. */
export const decodeMeterCostRows = (bytes: Buffer): MeterCostRow[] => decodeBlocks(bytes, readRows)

const readRows = (from: BlockReader, count: number): readonly MeterCostRow[] => {
  const accountIds = readColumn(from, account, count)
  const liveModes = readColumn(from, bool, count)
  const locationIds = readColumn(from, location, count)
  const deviceIds = readColumn(from, device, count)
  const flows = readColumn(from, flow, count)
  const directions = readColumn(from, direction, count)
  const startTimes = readColumn(from, instant, count)
  const endTimes = readColumn(from, instant, count)
  const recordIds = readColumn(from, digits, count)
  const sessions = readColumn(from, text, count)
  const references = readColumn(from, text, count)
  const rowEnergies = readColumn(from, energy, count)
  const submitted = readColumn(from, maybeEnergy, count)
  const recordConfidences = readColumn(from, uint32, count)
  const statuses = readColumn(from, status, count)
  const rowCosts = readColumn(from, maybeMoney, count)
  const currencies = readColumn(from, currency, count)
  const rowConfidences = readColumn(from, uint32, count)
  const pieces = readPieces(from, count, { startTimes, rowEnergies, rowCosts, rowConfidences })
  const tariffIds = readColumn(from, tariffs, count)
  const sourceIds = readColumn(from, sources, count)
  const pricingRevisions = readColumn(from, uint32, count)
  const priceRevisions = readColumn(from, uint64, count)
  const batchIds = readColumn(from, batch, count)
  const versions = readColumn(from, uint64, count)
  const leads = readColumn(from, uint64, count)
  const received = readColumn(from, instant, count)
  const deleted = readColumn(from, uint8, count)
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

type Wholes = {
  readonly startTimes: readonly number[]
  readonly rowEnergies: readonly bigint[]
  readonly rowCosts: readonly (bigint | null)[]
  readonly rowConfidences: readonly number[]
}

const readPieces = (from: BlockReader, count: number, wholes: Wholes): readonly (readonly CostPiece[])[] => {
  const rowPrices = readColumn(from, price, count)
  const rowTiers = readColumn(from, energy, count)
  const pieceStarts = readColumn(from, starts, count)
  const pieceEnergies = readColumn(from, energies, count)
  const piecePrices = readColumn(from, prices, count)
  const pieceTiers = readColumn(from, energies, count)
  const pieceCosts = readColumn(from, costs, count)
  const pieceConfidences = readColumn(from, confidences, count)
  return pieceStarts.map((many, i): readonly CostPiece[] => {
    const cost = wholes.rowCosts[i] ?? null
    const piece = (j: number): CostPiece => ({
      start: many[j] ?? 0,
      energy: pieceEnergies[i]?.[j] ?? 0n,
      price: piecePrices[i]?.[j] ?? 0n,
      tier: pieceTiers[i]?.[j] ?? 0n,
      cost: pieceCosts[i]?.[j] ?? 0n,
      confidence: pieceConfidences[i]?.[j] ?? 0,
    })
    if (many.length > 0) return many.map((_, j) => piece(j))
    if (cost === null) return nothing
    const start = wholes.startTimes[i] ?? 0
    const one = { start, energy: wholes.rowEnergies[i] ?? 0n, price: rowPrices[i] ?? 0n, tier: rowTiers[i] ?? 0n }
    return [{ ...one, cost, confidence: wholes.rowConfidences[i] ?? 0 }]
  })
}
