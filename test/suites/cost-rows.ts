import fc from 'fast-check'
import type { CostPiece } from '../../services/domain/cost/cost-piece.ts'
import { noOptions } from '../../services/domain/record/record.ts'
import type { MeterCostRow } from '../../services/platform/clickhouse/meter-cost/meter-cost-row.ts'
import { textsOf } from './partition-messages.ts'

/** Return an id with a number as digits. */
export const hexId = (prefix: string, number: number): string => `${prefix}${number.toString(16).padStart(24, '0')}`

/** Create a row of one hour in September 2026 with one piece, with the given members. */
export const costRow = (given: Partial<MeterCostRow> = {}): MeterCostRow => {
  const start = given.start ?? 1_790_000_000_000
  const end = given.end ?? start + 3_600_000
  const energy = given.energy ?? 2_500_000_000n
  return {
    accountId: hexId('acc_', 1),
    liveMode: true,
    locationId: hexId('loc_', 1),
    deviceId: null,
    energyFlowDirection: 'INBOUND',
    tariffDirection: 'IMPORT',
    recordId: hexId('', 1),
    ...noOptions,
    energySubmitted: null,
    recordConfidence: 1_000_000,
    status: 'PRICED',
    cost: 750_000_000n,
    currency: 'EUR',
    confidence: 1_000_000,
    pieces: [{ start, end, energy, price: 300_000_000n, tier: 0n, cost: 750_000_000n, confidence: 1_000_000 }],
    tariffIds: [hexId('trf_', 1)],
    marketSourceIds: [],
    pricingRevision: 1,
    priceRevision: 0n,
    batchId: hexId('bat_', 1),
    version: 1n,
    sourceVersion: 1n,
    receivedAt: start,
    isDeleted: false,
    ...given,
    start,
    end,
    energy,
  }
}

// From 1, because twelve zero bytes mean no id.
const id = (prefix: string): fc.Arbitrary<string> =>
  fc.integer({ min: 1, max: 2 ** 48 }).map(number => hexId(prefix, number))
const reference = fc.option(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }), { nil: null })
const energy = fc.bigInt({ min: 0n, max: 10n ** 17n })
const money = fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n })
const price = fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n })
// Few months, because each month is a separate part on disk.
const someDay = fc
  .tuple(fc.constantFrom(946_684_800_000, 1_790_000_000_000, 4_102_444_800_000), fc.nat(86_400_000))
  .map(([from, ms]) => from + ms)
const millionths = fc.integer({ min: 1, max: 1_000_000 })
const version = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })

const piecesOf = (row: MeterCostRow, count: number, made: Omit<CostPiece, 'start' | 'end'>): readonly CostPiece[] =>
  Array.from({ length: count }, (_, i) => ({
    ...made,
    start: row.start + i,
    end: i === count - 1 ? row.end : row.start + i + 1,
  }))

/** Rows with any values that the table allows, of different records. */
export const anyCostRows: fc.Arbitrary<readonly MeterCostRow[]> = fc.uniqueArray(
  fc
    .record({
      row: fc.record({
        locationId: id('loc_'),
        deviceId: fc.option(id('dev_'), { nil: null }),
        energyFlowDirection: fc.constantFrom('INBOUND' as const, 'OUTBOUND' as const),
        tariffDirection: fc.constantFrom('IMPORT' as const, 'EXPORT' as const, 'LOCAL' as const),
        start: someDay,
        recordId: id(''),
        ...textsOf(reference),
        energy,
        energySubmitted: fc.option(energy, { nil: null }),
        recordConfidence: millionths,
        status: fc.constantFrom('PRICED' as const, 'PROVISIONAL' as const),
        cost: money,
        currency: fc.constantFrom('EUR', 'JPY'),
        confidence: millionths,
        tariffIds: fc.array(id('trf_'), { maxLength: 3 }),
        marketSourceIds: fc.array(id('mrs_'), { maxLength: 2 }),
        pricingRevision: fc.nat(),
        priceRevision: version,
        batchId: fc.option(
          id('bat_').filter(batch => batch !== hexId('bat_', 0)),
          { nil: null },
        ),
        receivedAt: fc.integer({ min: 946_684_800_000, max: 4_102_444_800_000 }),
      }),
      length: fc.nat(366 * 86_400_000),
      versions: fc.tuple(version, version),
      piece: fc.record({ energy, price, tier: energy, cost: money, confidence: millionths }),
      pieces: fc.nat(4),
      isUnpriced: fc.boolean(),
    })
    .map(({ row, length, versions, piece, pieces, isUnpriced }) => {
      const [sourceVersion = 0n, latest = 0n] = [...versions].sort((a, b) => (a < b ? -1 : 1))
      const made = costRow({ ...row, end: row.start + length, version: latest, sourceVersion })
      if (pieces === 0) return { ...made, status: 'UNPRICED' as const, cost: null, pieces: [] }
      const energyAlone = { energy: piece.energy, price: 0n, tier: 0n, cost: 0n, confidence: 0 }
      if (pieces > 1 && isUnpriced)
        return { ...made, status: 'UNPRICED' as const, cost: null, pieces: piecesOf(made, pieces, energyAlone) }
      if (pieces > 1) return { ...made, pieces: piecesOf(made, pieces, piece) }
      const { energy: whole, confidence } = made
      return {
        ...made,
        cost: piece.cost,
        pieces: [{ ...piece, start: made.start, end: made.end, energy: whole, confidence }],
      }
    }),
  { selector: row => row.recordId, minLength: 1, maxLength: 40 },
)
