import type { Client } from '../system/client.ts'
import { inParallel } from '../system/in-parallel.ts'
import { units } from './exact-decimal.ts'
import { daysOf, type ExpectedCost, expectedOf } from './expected-cost.ts'
import { type LedgerLocation, type LedgerRecord, readJournal } from './journal.ts'
import { readDays, readReceipt, readRecords, type StoredRecord } from './read-back.ts'
import { type Expectation, identityOf, type JournalSummary, summarizeJournal } from './summarize-journal.ts'

/** Result of an audit. Each fault is a sentence. Without faults, the stored data matches the ledger. */
export type Verdict = {
  readonly faults: Readonly<
    Record<'lost' | 'doubled' | 'wrong' | 'unexpected' | 'totals' | 'receipts' | 'contradictions', readonly string[]>
  >
  /** Numbers of checked items. They show that the audit checked data. */
  readonly seen: {
    readonly records: number
    readonly receipts: number
    readonly days: number
    readonly operations: JournalSummary['operations']
    readonly attempts: JournalSummary['attempts']
  }
}

type Faults = { readonly [Kind in keyof Verdict['faults']]: string[] }

const concurrency = 4
const defaultTimeoutMs = 60_000

export const storedIdentity = ({
  location_id,
  device_id,
  energy_flow_direction,
  tariff_direction,
  data,
}: StoredRecord): string =>
  identityOf({
    locationId: location_id,
    deviceId: device_id,
    start: Date.parse(data.start_time),
    end: Date.parse(data.end_time),
    sessionReferenceId: data.session_reference_id,
    recordReferenceId: data.record_reference_id ?? '',
    energyFlowDirection: energy_flow_direction,
    tariffDirection: tariff_direction,
  })

const energyDecimals = 6
const moneyDecimals = 9

const isExactly = (stored: StoredRecord, expected: ExpectedCost): boolean => {
  const { data, pieces, energy_submitted } = stored
  if (data.tariff.cost.value === null || pieces.length !== expected.pieces.length) return false
  const isSame = [data.energy.value, energy_submitted].every(
    energy => units(energy, energyDecimals) === expected.energy,
  )
  if (!isSame || units(data.tariff.cost.value, moneyDecimals) !== expected.cost) return false
  return expected.pieces.every(({ start, end, energy, price, cost }, index) => {
    const piece = pieces[index]
    return (
      piece !== undefined &&
      [Date.parse(piece.start_time), Date.parse(piece.end_time)].join() === [start, end].join() &&
      units(piece.energy, energyDecimals) === energy &&
      units(piece.price, moneyDecimals) === price &&
      units(piece.cost, moneyDecimals) === cost
    )
  })
}

/** Return the cost of the allowed record that is stored; null if none of the allowed records is stored. */
const match = (stored: StoredRecord, { allowed }: Expectation, location: LedgerLocation): ExpectedCost | null => {
  for (const record of allowed) {
    const expected = record === null ? null : expectedOf(record, location)
    if (expected !== null && isExactly(stored, expected)) return expected
  }
  return null
}

const describe = (record: LedgerRecord | null): string =>
  record === null ? 'nothing' : `${record.value} ${record.units}`

const auditLocation = async (
  client: Client,
  location: LedgerLocation,
  summary: JournalSummary,
  faults: Faults,
): Promise<{ records: number; days: number }> => {
  const stored = Map.groupBy(await readRecords(client, location.locationId), storedIdentity)
  const expectedCosts: ExpectedCost[] = []
  for (const [identity, expectation] of summary.expectations) {
    if ((expectation.allowed[0] ?? expectation.allowed[1])?.locationId !== location.locationId) continue
    const rows = stored.get(identity) ?? []
    stored.delete(identity)
    const [row] = rows
    if (row === undefined) {
      if (!expectation.allowed.includes(null))
        faults.lost.push(`${identity}: ${expectation.allowed.map(describe).join(' or ')}`)
      continue
    }
    if (rows.length > 1)
      faults.doubled.push(`${identity} is stored ${rows.length} times: ${rows.map(({ id }) => id).join()}`)
    const expected = match(row, expectation, location)
    if (expected === null)
      faults.wrong.push(`${identity}: ${JSON.stringify(row)} for ${expectation.allowed.map(describe).join(' or ')}`)
    else expectedCosts.push(expected)
  }
  for (const [identity, rows] of stored) faults.unexpected.push(`${identity}: ${rows.map(({ id }) => id).join()}`)
  const days = await auditDays(client, location, expectedCosts, faults)
  return { records: expectedCosts.length, days }
}

/** Compare the cost of each day of a location with the sum of its records. Return the number of days. */
export const auditDays = async (
  client: Client,
  location: LedgerLocation,
  expectedCosts: readonly ExpectedCost[],
  faults: Pick<Faults, 'totals'>,
): Promise<number> => {
  const sums = new Map<number, { energy: bigint; cost: bigint }>()
  for (const share of expectedCosts.flatMap(expected => daysOf(expected, location))) {
    const sum = sums.get(share.day) ?? { energy: 0n, cost: 0n }
    sums.set(share.day, { energy: sum.energy + share.energy, cost: sum.cost + share.cost })
  }
  const days = await readDays(client, location)
  for (const { day, energy, cost, unpriced } of days) {
    const sum = sums.get(day) ?? { energy: 0n, cost: 0n }
    sums.delete(day)
    const isEqual =
      units(energy, energyDecimals) === sum.energy && units(cost, moneyDecimals) === sum.cost && unpriced === '0'
    if (isEqual) continue
    const said = `${energy} Wh, ${cost}, ${unpriced} unpriced`
    faults.totals.push(
      `${location.locationId} ${new Date(day).toISOString()}: ${said}; calculated are ${sum.energy} and ${sum.cost}`,
    )
  }
  for (const day of sums.keys()) faults.totals.push(`${location.locationId} ${new Date(day).toISOString()} is missing`)
  return days.length
}

export const auditReceipt = async (
  client: Client,
  { given }: JournalSummary['receipts'][number],
  faults: { readonly receipts: string[] },
  timeoutMs = defaultTimeoutMs,
): Promise<void> => {
  const stored = await readReceipt(client, given.batchId, timeoutMs).catch(String)
  const failed = typeof stored === 'string' ? '' : stored.failed_records.map(({ record_num }) => record_num).join()
  const isComplete =
    typeof stored !== 'string' &&
    Number(stored.records_submitted) === given.recordsSubmitted &&
    Number(stored.records_accepted) === given.recordsAccepted &&
    Number(stored.records_processed) === given.recordsAccepted &&
    failed === given.failedNumbers.join()
  if (!isComplete) faults.receipts.push(`${given.batchId} was ${JSON.stringify(given)}, is ${JSON.stringify(stored)}`)
}

/** Run some work for each item, with limited concurrency. */
export const forEachConcurrently = async <T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> =>
  void (await inParallel(items, concurrency, work))

/**
 * Read all stored data and compare it with a journal.
 * Each accepted record is stored once, with the energy and cost that the ledger calculates. No other record is stored.
 * In each receipt, all accepted records are processed. The cost of each day is the sum of its records.
 */
export const audit = async (journalFile: string, client: Client): Promise<Verdict> => {
  const summary = summarizeJournal(readJournal(journalFile))
  const faults: Faults = {
    lost: [],
    doubled: [],
    wrong: [],
    unexpected: [],
    totals: [],
    receipts: [],
    contradictions: [...summary.contradictions],
  }
  await forEachConcurrently(summary.receipts, receipt => auditReceipt(client, receipt, faults))
  const seen = { records: 0, days: 0 }
  await forEachConcurrently([...summary.locations.values()], async location => {
    const { records, days } = await auditLocation(client, location, summary, faults)
    seen.records += records
    seen.days += days
  })
  return {
    faults,
    seen: { ...seen, receipts: summary.receipts.length, operations: summary.operations, attempts: summary.attempts },
  }
}

/** Return at most five faults of each kind. */
export const faultsOf = ({ faults }: Verdict): readonly string[] =>
  Object.entries(faults).flatMap(([kind, found]) =>
    found.length === 0 ? [] : [`${found.length} ${kind}`, ...found.slice(0, 5).map(fault => `  ${fault}`)],
  )
