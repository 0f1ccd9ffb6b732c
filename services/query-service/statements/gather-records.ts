import type { Interval } from '../../domain/interval.ts'
import { dayMs } from '../../domain/interval.ts'
import type { EnergyFlowDirection } from '../../domain/record/record.ts'
import { type Result, refused } from '../../domain/refusal.ts'
import type { EarlierRecords } from '../../domain/statement/earlier-records.ts'
import type { RowFlow } from '../../domain/statement/energy-sums.ts'
import type { TariffDirection } from '../../domain/tariff/tariff.ts'
import type { Tenant } from '../../domain/tenant.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import { kindsOfLocations } from '../../platform/clickhouse/meter-cost/location-flows.ts'
import { type FingerprintRequest, readRowFingerprints } from '../../platform/clickhouse/meter-cost/row-fingerprints.ts'
import {
  countPieces,
  type LocationFacts,
  readLocationFacts,
  readSessionBounds,
  type SeenKind,
  type StatementRows,
  smallStatementBlock,
  statementBlocks,
} from '../../platform/clickhouse/meter-cost/statement-rows.ts'
import { type FairShare, fairShare } from '../../platform/concurrency/fair-share.ts'
import { Failure } from '../../platform/failure.ts'
import type { StoredRecords } from '../work-thread/statement-records.ts'

/**
 * Records to read: those of a location in `span`, those before it from `readFrom` on, and earlier ones. `hasSessions`:
 * also all records of each session with a record in the span, or with its end at the start of the span.
 */
export type RecordsRequest = {
  readonly tenant: Tenant
  readonly locationId: string
  readonly span: Interval
  readonly readFrom: number
  readonly earlier: EarlierRecords | null
  readonly hasSessions: boolean
  readonly includeDevices: 'auto' | boolean
  readonly signal: AbortSignal
}

/** Gathered records of a location. `priceInterval` contains each record that overlaps the span completely. */
export type GatheredRecords = StoredRecords & { readonly priceInterval: Interval; readonly bytes: number }

/** Fingerprints of the rows in intervals, and the flows in which the records of devices are included by default. */
export type RecordFingerprints = {
  readonly fingerprints: readonly string[]
  readonly includesDevices: StoredRecords['includesDevices']
}

/** Reader of the records of statements. */
export type RecordReader = {
  /** Read fingerprints of the rows of a location: they are equal if the rows are. */
  readonly fingerprintsOf: (request: FingerprintRequest) => Promise<RecordFingerprints>
  /**
   * Read records and use them. They show one state of the stored rows, apart from concurrent first records of a kind.
   * The records of one large request are in memory at a time.
   * Refuses `too_many_records` if the records have more than `maxPieces` pieces.
   * Throws `clickhouse_busy` (retriable) if too many large requests of the account wait.
   */
  readonly withRecords: <T>(
    request: RecordsRequest,
    use: (records: GatheredRecords) => Promise<Result<T>>,
  ) => Promise<Result<T>>
}

/** Maximum number of records that a statement reads. */
export const maxRecords = 400_000

/** Maximum number of pieces of one price that a statement reads: about 100 MiB. */
export const maxPieces = 2_000_000

/**
 * One request for records of more than `maxSmallBytes` (about 30,000 records) at a time. A waiting request has no records
 * in memory.
 */
const largeLimits = { maxConcurrent: 1, maxConcurrentPerAccount: 1, maxWaitingPerAccount: 16 }

const directionsOf: Readonly<Record<RowFlow, readonly [EnergyFlowDirection, TariffDirection]>> = {
  IMPORT: ['INBOUND', 'IMPORT'],
  EXPORT: ['OUTBOUND', 'EXPORT'],
  LOCAL: ['INBOUND', 'LOCAL'],
  SUPPLIED: ['OUTBOUND', 'IMPORT'],
}

/**
 * Decide in which flows the records of devices are included, as `devicesAtLocation` does for costs.
 * Source: docs/rules/costs.md #records-of-devices.
 */
export const readInclusion = async (
  db: ClickHouse,
  { tenant, locationId, includeDevices }: Pick<RecordsRequest, 'tenant' | 'locationId' | 'includeDevices'>,
  kinds: readonly SeenKind[],
): Promise<StoredRecords['includesDevices']> => {
  const includesDevices = { IMPORT: true, EXPORT: true, LOCAL: true, SUPPLIED: true }
  for (const flow of Object.keys(directionsOf) as RowFlow[]) {
    const [energyFlowDirection, tariffDirection] = directionsOf[flow]
    const seen = kinds.filter(
      kind => kind.energyFlowDirection === energyFlowDirection && kind.tariffDirection === tariffDirection,
    )
    if (includeDevices !== 'auto') includesDevices[flow] = includeDevices
    else if (seen.length < 2) includesDevices[flow] = seen.every(({ isDevice }) => isDevice)
    else {
      // Both kinds were seen. The own records may all be cancelled now.
      const found = await kindsOfLocations(db, tenant, { energyFlowDirection, tariffDirection }, [locationId])
      includesDevices[flow] = found.get(locationId)?.hasOwnRecords !== true
    }
  }
  return includesDevices
}

export const priceIntervalOf = (span: Interval, longRows: LocationFacts['longRows']): Interval => ({
  start: Math.min(span.start - dayMs, longRows?.start ?? span.start),
  end: Math.max(span.end + dayMs, longRows?.end ?? span.end),
})

/** Read the blocks of rows; null if the rows are not small. */
type ReadRows = (db: ClickHouse, rows: StatementRows, maxRows: number) => Promise<readonly Buffer[] | null>

const readSmallRows: ReadRows = async (db, rows, maxRows) => {
  const block = await smallStatementBlock(db, rows, maxRows)
  return block === null ? null : [block]
}

const readAllRows: ReadRows = (db, rows, maxRows) => Array.fromAsync(statementBlocks(db, rows, maxRows))

const readRecords = async (
  db: ClickHouse,
  request: RecordsRequest,
  readRowsOf: ReadRows,
): Promise<GatheredRecords | null> => {
  const { tenant, locationId, span, readFrom, hasSessions, earlier } = request
  const within = { from: span.start, to: span.end }
  const interval = { tenant, locationId, from: readFrom, to: span.end }
  const readFacts = async () => {
    const { kinds, longRows } = await readLocationFacts(db, { ...interval, ...within })
    return { longRows, includesDevices: await readInclusion(db, request, kinds) }
  }
  const readRows = async () => {
    const bounds = hasSessions ? await readSessionBounds(db, { ...interval, ...within }) : null
    const sessions = bounds === null ? null : { within, bounds }
    return readRowsOf(db, { interval, sessions, earlier }, maxRecords + 1)
  }
  const [{ longRows, includesDevices }, blocks] = await Promise.all([readFacts(), readRows()])
  if (blocks === null) return null
  const bytes = blocks.reduce((sum, { length }) => sum + length, 0)
  return { locationId, span, blocks, includesDevices, bytes, priceInterval: priceIntervalOf(span, longRows) }
}

const readFingerprints = async (db: ClickHouse, request: FingerprintRequest): Promise<RecordFingerprints> => {
  const { tenant, locationId } = request
  const { kinds } = await readLocationFacts(db, { tenant, locationId, from: 0, to: 0 })
  const includesDevices = await readInclusion(db, { tenant, locationId, includeDevices: 'auto' }, kinds)
  return { includesDevices, fingerprints: await readRowFingerprints(db, request) }
}

const tooManyPieces = refused(
  'too_many_records',
  `The records of these days have more than ${maxPieces} parts of one price. Ask for fewer days, or send records that are shorter`,
)

const tooManyReads = (): Failure =>
  new Failure('clickhouse_busy', 'Too many large statements of the account wait.', { retriable: true })

/** Create a reader of the records of statements. */
export const createRecordReader = (db: ClickHouse): RecordReader => {
  const largeReads: FairShare = fairShare(largeLimits)
  return {
    fingerprintsOf: request => readFingerprints(db, request),
    withRecords: async (request, use) => {
      const small = await readRecords(db, request, readSmallRows)
      if (small !== null) return use(small)
      const release = await largeReads.acquire(request.tenant.accountId, request.signal)
      if (release === null) throw tooManyReads()
      try {
        const { tenant, locationId, readFrom, span, earlier } = request
        const from = Math.min(readFrom, earlier?.from ?? readFrom)
        if ((await countPieces(db, { tenant, locationId, from, to: span.end })) > maxPieces) return tooManyPieces
        const records = await readRecords(db, request, readAllRows)
        if (records === null) throw new Error('A read without a limit exceeded its limit.')
        return await use(records)
      } finally {
        release()
      }
    },
  }
}
