import { atOnce } from '../../domain/at-once.ts'
import { putDigits } from '../log/digits.ts'
import type { NativeRows } from './clickhouse.ts'
import type { CostPiece, MeterCostRow } from './meter-cost-row.ts'
import { noBatch, noDevice, onlyPiece, rowKinds } from './meter-cost-rows.ts'
import { type BlockColumn, column, encodeBlockInSteps, type FixedColumn, type Kind, type Run, writeBytes } from './native-block.ts'
import { writeEnds } from './native-kinds.ts'
import { type PieceColumn, pieceColumns } from './packed-pieces.ts'

/**
 * Encode rows for an insert, in steps. Columns that hold the table's default in every row are left out, which is most of a plain row.
 * Each column has a loop of its own: one loop for all kinds of values takes five times as long.
 * Throws a RangeError for ids and currencies of another form.
 */
export function* meterCostBlockInSteps(rows: readonly MeterCostRow[]): Generator<void, NativeRows> {
  const needs = needsOf(rows)
  yield
  const columns = [...always, ...often.filter(({ need }) => needs[need]).map(one => one.column)]
  return { table: 'meter_cost', columns, bytes: yield* encodeBlockInSteps(columns, rows) }
}

/** Encode rows for an insert at once. */
export const meterCostBlock = (rows: readonly MeterCostRow[]): NativeRows => atOnce(meterCostBlockInSteps(rows))

type Loop = Run<MeterCostRow>['write']

/** A column of values that all take `size` bytes. */
const each = (name: string, { type }: Pick<Kind<unknown>, 'type'>, size: number, write: Loop): FixedColumn<MeterCostRow> => ({
  ...{ name, type },
  runs: [{ size, write }],
})

const twoTo32 = 4_294_967_296

/** Copy the id before: neighbours often have the same. */
const again = (view: DataView, at: number): void => {
  view.setUint32(at, view.getUint32(at - 12))
  view.setUint32(at + 4, view.getUint32(at - 8))
  view.setUint32(at + 8, view.getUint32(at - 4))
}

// A loop that up to four columns share is still laid out for each of them.
const instants = (name: string, of: (row: MeterCostRow) => number): FixedColumn<MeterCostRow> =>
  each(name, rowKinds.instant, 8, (rows, view, from) => {
    let at = from
    for (const row of rows) {
      const value = of(row)
      const high = Math.floor(value / twoTo32)
      view.setUint32(at, value - high * twoTo32, true)
      view.setUint32(at + 4, high, true)
      at += 8
    }
  })

const numbers = (name: string, of: (row: MeterCostRow) => number): FixedColumn<MeterCostRow> =>
  each(name, rowKinds.uint32, 4, (rows, view, from) => {
    let at = from
    for (const row of rows) {
      view.setUint32(at, of(row), true)
      at += 4
    }
  })

const always: readonly (FixedColumn<MeterCostRow> | BlockColumn<MeterCostRow>)[] = [
  each('account_id', rowKinds.account, 12, (rows, view, from, bytes) => {
    let at = from
    let last = ''
    for (const { accountId } of rows) {
      if (accountId === last) again(view, at)
      else putDigits(bytes, at, accountId, 4)
      last = accountId
      at += 12
    }
  }),
  each('live_mode', rowKinds.bool, 1, (rows, view, from) => {
    let at = from
    for (const { liveMode } of rows) view.setUint8(at++, liveMode ? 1 : 0)
  }),
  each('location_id', rowKinds.location, 12, (rows, view, from, bytes) => {
    let at = from
    let last = ''
    for (const { locationId } of rows) {
      if (locationId === last) again(view, at)
      else putDigits(bytes, at, locationId, 4)
      last = locationId
      at += 12
    }
  }),
  each('device_id', rowKinds.device, 12, (rows, _, from, bytes) => {
    let at = from
    for (const { deviceId } of rows) {
      putDigits(bytes, at, deviceId ?? noDevice, 4)
      at += 12
    }
  }),
  each('energy_flow_direction', rowKinds.flow, 1, (rows, view, from) => {
    let at = from
    for (const { energyFlowDirection } of rows) view.setInt8(at++, energyFlowDirection === 'INBOUND' ? 0 : 1)
  }),
  each('tariff_direction', rowKinds.direction, 1, (rows, view, from) => {
    let at = from
    for (const { tariffDirection } of rows) view.setInt8(at++, tariffDirection === 'IMPORT' ? 0 : tariffDirection === 'EXPORT' ? 1 : 2)
  }),
  instants('start_time', row => row.start),
  instants('end_time', row => row.end),
  each('record_id', rowKinds.digits, 12, (rows, _, from, bytes) => {
    let at = from
    for (const { recordId } of rows) {
      putDigits(bytes, at, recordId, 0)
      at += 12
    }
  }),
  each('energy', rowKinds.energy, 8, (rows, view, from) => {
    let at = from
    for (const { energy } of rows) {
      view.setBigInt64(at, energy, true)
      at += 8
    }
  }),
  numbers('record_confidence', row => row.recordConfidence),
  each('status', rowKinds.status, 1, (rows, view, from) => {
    let at = from
    for (const { status } of rows) view.setInt8(at++, status === 'PRICED' ? 0 : status === 'PROVISIONAL' ? 1 : 2)
  }),
  {
    ...{ name: 'cost', type: rowKinds.maybeMoney.type },
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
  each('currency', rowKinds.currency, 3, (rows, _, from, bytes) => {
    let at = from
    let last = ''
    for (const { currency } of rows) {
      if (currency !== last && !/^[A-Z]{3}$/.test(currency)) throw new RangeError(`not a currency: ${currency}`)
      last = currency
      for (let i = 0; i < 3; i += 1) bytes[at + i] = currency.charCodeAt(i)
      at += 3
    }
  }),
  numbers('confidence', row => row.confidence),
  each('price', rowKinds.price, 8, (rows, view, from) => {
    let at = from
    for (const row of rows) {
      view.setBigInt64(at, onlyPiece(row)?.price ?? 0n, true)
      at += 8
    }
  }),
  numbers('pricing_revision', row => row.pricingRevision),
  each('batch_id', rowKinds.batch, 12, (rows, view, from, bytes) => {
    let at = from
    let last: string | null = ''
    for (const { batchId } of rows) {
      if (batchId === last) again(view, at)
      else putDigits(bytes, at, batchId ?? noBatch, 4)
      last = batchId
      at += 12
    }
  }),
  each('version', rowKinds.uint64, 8, (rows, view, from) => {
    let at = from
    for (const { version } of rows) {
      view.setBigUint64(at, version, true)
      at += 8
    }
  }),
  instants('received_at', row => row.receivedAt),
  column('tariff_ids', rowKinds.tariffs, row => row.tariffIds),
]

/** Which columns that many blocks do without a block needs. */
const needsOf = (rows: readonly MeterCostRow[]) => {
  const needs = {
    ...{ session: false, reference: false, submitted: false, tier: false, pieces: false },
    ...{ sources: false, priceRevision: false, lead: false, deleted: false },
  }
  for (const row of rows) {
    needs.session ||= row.sessionReferenceId !== null
    needs.reference ||= row.recordReferenceId !== null
    needs.submitted ||= row.energySubmitted !== null
    needs.tier ||= (onlyPiece(row)?.tier ?? 0n) !== 0n
    needs.pieces ||= row.pieces.length > 1 || row.packed !== undefined
    needs.sources ||= row.marketSourceIds.length > 0
    needs.priceRevision ||= row.priceRevision !== 0n
    needs.lead ||= row.version !== row.sourceVersion
    needs.deleted ||= row.isDeleted
  }
  return needs
}

type Often = { readonly need: keyof ReturnType<typeof needsOf>; readonly column: BlockColumn<MeterCostRow> }

const sometimes = <T>(need: Often['need'], name: string, kind: Kind<T>, of: (row: MeterCostRow) => T): Often => ({
  need,
  column: column(name, kind, of),
})

const countPieces = ({ packed, pieces }: MeterCostRow): number => packed?.count ?? (pieces.length > 1 ? pieces.length : 0)

/** Pieces that are written between two points where the work can be interrupted. */
const piecesAtOnce = 8_192

/** A column of pieces: of rows that have more than one. What is packed is copied. */
const ofPieces = ({ name, lists, write }: PieceColumn, index: number): Often => ({
  need: 'pieces',
  column: {
    name,
    type: lists.type,
    *write(to, rows) {
      writeEnds(to, rows.map(countPieces))
      yield
      let waiting: CostPiece[] = []
      for (const { packed, pieces } of rows) {
        if (packed === undefined && pieces.length > 1) for (const piece of pieces) waiting.push(piece)
        if (packed === undefined && waiting.length < piecesAtOnce) continue
        write(to, waiting)
        waiting = []
        if (packed !== undefined) writeBytes(to, packed.columns[index] as Buffer)
        yield
      }
      write(to, waiting)
    },
  },
})

const often: readonly Often[] = [
  sometimes('session', 'session_reference_id', rowKinds.text, row => row.sessionReferenceId ?? ''),
  sometimes('reference', 'record_reference_id', rowKinds.text, row => row.recordReferenceId ?? ''),
  sometimes('submitted', 'energy_submitted', rowKinds.maybeEnergy, row => row.energySubmitted),
  sometimes('tier', 'tier', rowKinds.energy, row => onlyPiece(row)?.tier ?? 0n),
  ...pieceColumns.map(ofPieces),
  sometimes('sources', 'market_source_ids', rowKinds.sources, row => row.marketSourceIds),
  sometimes('priceRevision', 'price_revision', rowKinds.uint64, row => row.priceRevision),
  sometimes('lead', 'version_lead', rowKinds.uint64, row => row.version - row.sourceVersion),
  sometimes('deleted', 'is_deleted', rowKinds.uint8, row => (row.isDeleted ? 1 : 0)),
]
