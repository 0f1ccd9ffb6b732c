import { fullConfidence } from '../../../../domain/record/record.ts'
import { putDigits } from '../../../../record-bytes/digits.ts'
import {
  type ColumnLocation,
  type ColumnPart,
  partOf,
  type RecordColumns,
} from '../../../../record-bytes/record-columns.ts'
import type { CachedPricing } from '../../../pricing-cache/pricing-cache.ts'
import { rowTypes } from '../../meter-cost/meter-cost-rows.ts'
import { type BlockColumn, column, type FixedColumn, type Run } from './native-block.ts'

/**
 * Costed rows of plain records that are columns. `rows` are their indexes, in the order of the block. Each has one piece
 * without a tier. The arrays have a value for each of `rows`, at its index in the record columns.
 */
export type PlainRows = {
  readonly records: RecordColumns<{ readonly firstVersion: bigint }>
  readonly rows: readonly number[]
  /** Pricing by location of the record columns. */
  readonly pricings: readonly (CachedPricing | undefined)[]
  readonly price: Float64Array
  readonly cost: Float64Array
  readonly confidence: Uint32Array
  readonly tariffIds: readonly (readonly string[])[]
  readonly sourceIds: readonly (readonly string[])[]
}

const twoTo32 = 4_294_967_296

const putLong = (view: DataView, at: number, value: number): void => {
  const high = Math.floor(value / twoTo32)
  view.setUint32(at, value - high * twoTo32, true)
  view.setInt32(at + 4, high, true)
}

type PlainRun = Run<number>

const longs = (values: ArrayLike<number>): PlainRun => ({
  size: 8,
  write: (rows, view, from) => {
    for (let i = 0; i < rows.length; i += 1) putLong(view, from + 8 * i, values[rows[i] as number] as number)
  },
})

const bytes = (values: ArrayLike<number>): PlainRun => ({
  size: 1,
  write: (rows, view, from) => {
    for (let i = 0; i < rows.length; i += 1) view.setUint8(from + i, values[rows[i] as number] as number)
  },
})

const notNull: PlainRun = { size: 1, write: (rows, _, from, to) => void to.fill(0, from, from + rows.length) }

const ints = (of: (row: number) => number): PlainRun => ({
  size: 4,
  write: (rows, view, from) => {
    for (let i = 0; i < rows.length; i += 1) view.setUint32(from + 4 * i, of(rows[i] as number), true)
  },
})

/** Write the ids of locations. Neighbouring rows often share a location. */
const locationIds = ({ records: { location, locations } }: PlainRows): PlainRun => ({
  size: 12,
  write: (rows, view, from, to) => {
    let last = -1
    for (let i = 0; i < rows.length; i += 1) {
      const at = from + 12 * i
      const index = location[rows[i] as number] as number
      if (index === last) copyId(view, at, view, at - 12)
      else putDigits(to, at, (locations[index] as ColumnLocation).id, 4)
      last = index
    }
  },
})

/** Copy ids from messages. A negative index gives zeros. */
const messageIds = ({ records }: PlainRows, atOf: (part: ColumnPart<unknown>, row: number) => number): PlainRun => ({
  size: 12,
  write: (rows, view, from) => {
    for (let i = 0; i < rows.length; i += 1) {
      const row = rows[i] as number
      const part = partOf(records, row)
      const at = atOf(part, row)
      if (at >= 0) copyId(view, from + 12 * i, part.view, at)
      else for (let byte = 0; byte < 12; byte += 4) view.setUint32(from + 12 * i + byte, 0)
    }
  },
})

const copyId = (to: DataView, at: number, from: DataView, source: number): void => {
  to.setUint32(at, from.getUint32(source))
  to.setUint32(at + 4, from.getUint32(source + 4))
  to.setUint32(at + 8, from.getUint32(source + 8))
}

/** Write the cost, which can be negative. */
const costs = ({ cost }: PlainRows): PlainRun => ({
  size: 16,
  write: (rows, view, from) => {
    for (let i = 0; i < rows.length; i += 1) {
      const at = from + 16 * i
      const value = cost[rows[i] as number] as number
      const sign = value < 0 ? -1 : 0
      putLong(view, at, value)
      view.setInt32(at + 8, sign)
      view.setInt32(at + 12, sign)
    }
  },
})

const currencies = ({ records, pricings }: PlainRows): PlainRun => ({
  size: 3,
  write: (rows, _, from, to) => {
    let last = ''
    for (let i = 0; i < rows.length; i += 1) {
      const currency = pricings[records.location[rows[i] as number] as number]?.snapshot.currencyCode ?? ''
      if (currency !== last && !/^[A-Z]{3}$/.test(currency)) throw new RangeError(`Not a currency: ${currency}.`)
      last = currency
      for (let letter = 0; letter < 3; letter += 1) to[from + 3 * i + letter] = currency.charCodeAt(letter)
    }
  },
})

/** The version of a message's first record ends with 16 zero bits, so that a position never carries. */
const versions = ({ records }: PlainRows): PlainRun => ({
  size: 8,
  write: (rows, view, from) => {
    let lastPart: ColumnPart<{ readonly firstVersion: bigint }> | null = null
    let [high, low] = [0, 0]
    for (let i = 0; i < rows.length; i += 1) {
      const row = rows[i] as number
      const part = partOf(records, row)
      if (part !== lastPart) {
        high = Number(part.source.firstVersion >> 32n)
        low = Number(part.source.firstVersion & 0xffff_ffffn)
      }
      lastPart = part
      view.setUint32(from + 8 * i, low + (records.position[row] as number), true)
      view.setUint32(from + 8 * i + 4, high, true)
    }
  },
})

const status = ({ confidence }: PlainRows): PlainRun => ({
  size: 1,
  write: (rows, view, from) => {
    for (let i = 0; i < rows.length; i += 1)
      view.setUint8(from + i, (confidence[rows[i] as number] as number) < fullConfidence ? 1 : 0)
  },
})

/** Writer of a column: runs of values with a fixed size, or all values at once. */
type PlainWriter = Pick<FixedColumn<number>, 'runs'> | Pick<BlockColumn<number>, 'write'>

/** Return the writers of columns by name. All other columns have their default in each row. */
export const plainWriters = (plain: PlainRows): ReadonlyMap<string, PlainWriter> => {
  const { records, pricings, price, confidence, tariffIds, sourceIds } = plain
  const pricingOf = (row: number): CachedPricing | undefined => pricings[records.location[row] as number]
  const runs: Readonly<Record<string, readonly PlainRun[]>> = {
    account_id: [messageIds(plain, ({ accountAt }) => accountAt)],
    live_mode: [bytes(records.liveMode)],
    location_id: [locationIds(plain)],
    device_id: [messageIds(plain, ({ deviceAts }, row) => deviceAts[records.device[row] as number] ?? -1)],
    energy_flow_direction: [bytes(records.flow)],
    tariff_direction: [bytes(records.direction)],
    start_time: [longs(records.start)],
    end_time: [longs(records.end)],
    record_id: [messageIds(plain, (_, row) => records.idAt[row] as number)],
    energy: [longs(records.energy)],
    record_confidence: [ints(() => fullConfidence)],
    status: [status(plain)],
    cost: [notNull, costs(plain)],
    currency: [currencies(plain)],
    confidence: [ints(row => confidence[row] as number)],
    price: [longs(price)],
    pricing_revision: [ints(row => pricingOf(row)?.revision ?? 0)],
    batch_id: [messageIds(plain, ({ batchAt }) => batchAt)],
    version: [versions(plain)],
    received_at: [longs(records.receivedAt)],
  }
  return new Map<string, PlainWriter>([
    ...Object.entries(runs).map(([name, own]) => [name, { runs: own }] as const),
    ['tariff_ids', column('', rowTypes.tariffs, row => tariffIds[row] ?? [])],
    ['market_source_ids', column('', rowTypes.sources, row => sourceIds[row] ?? [])],
    ['price_revision', column('', rowTypes.uint64, row => pricingOf(row)?.priceRevision ?? 0n)],
  ])
}
