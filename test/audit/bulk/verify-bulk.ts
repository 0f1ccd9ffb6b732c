import type { ClickHouse } from '../../../services/platform/clickhouse/clickhouse.ts'
import { rowsInInterval, type Tenant } from '../../../services/platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { MeterCostRow } from '../../../services/platform/clickhouse/meter-cost/meter-cost-row.ts'
import { auditDays, auditReceipt, forEachConcurrently } from '../../support/ledger/audit.ts'
import { expectedOf } from '../../support/ledger/expected-cost.ts'
import { dayCount, firstDay, maxLengthMs } from '../../support/ledger/generate-submission.ts'
import type { LedgerLocation, LedgerRecord } from '../../support/ledger/journal.ts'
import { identityOf } from '../../support/ledger/summarize-journal.ts'
import type { Client } from '../../support/system/client.ts'
import type { Difference } from '../verify/difference.ts'
import { acceptedRecords, type BulkSubmission } from './plan-bulk.ts'
import type { BulkProgress } from './send-bulk.ts'

/** Result of the comparison. `days` counts the compared sums of days over HTTP. */
export type BulkVerdict = {
  readonly expected: number
  readonly found: number
  readonly days: number
  readonly receipts: number
  readonly differences: readonly Difference[]
}

export type BulkVerificationInput = {
  readonly client: Client
  readonly db: ClickHouse
  readonly tenant: Tenant
  readonly locations: readonly LedgerLocation[]
  readonly submissions: readonly BulkSubmission[]
  readonly sent: BulkProgress
  readonly observe: (phase: 'receipts' | 'records', done: number, total: number) => void
}

const dayMs = 86_400_000
const wholeInterval = { from: firstDay - 2 * dayMs, to: firstDay + dayCount * dayMs + maxLengthMs + 2 * dayMs }

const rowsOf = async ({ db, tenant }: BulkVerificationInput, locationId: string): Promise<readonly MeterCostRow[]> =>
  (await Array.fromAsync(rowsInInterval(db, tenant, { locationIds: [locationId] }, wholeInterval))).flat()

const storedIdentity = (row: MeterCostRow): string =>
  identityOf({ ...row, recordReferenceId: row.recordReferenceId ?? '' })

/** Compare the rows of a location, and its days over HTTP, with an exact calculation. */
const verifyLocation = async (
  input: BulkVerificationInput,
  location: LedgerLocation,
  records: readonly LedgerRecord[],
) => {
  const stored = Map.groupBy(await rowsOf(input, location.locationId), storedIdentity)
  const differences: Difference[] = []
  const reportDifference = (kind: Difference['kind'], subject: string, expected: unknown, found: unknown): void =>
    void differences.push({ kind, subject, expected: String(expected), found: String(found) })
  const expectedCosts = records.map(record => {
    const expected = expectedOf(record, location)
    const identity = identityOf(record)
    const rows = stored.get(identity) ?? []
    stored.delete(identity)
    const [row] = rows
    if (row === undefined) reportDifference('missing', identity, `${record.value} ${record.units}`, 'nothing')
    else if (row.energy !== expected.energy) reportDifference('energy', identity, expected.energy, row.energy)
    else if (row.cost !== expected.cost) reportDifference('cost', identity, expected.cost, row.cost)
    if (rows.length > 1) reportDifference('duplicate', identity, 'once', rows.map(({ recordId }) => recordId).join())
    return expected
  })
  for (const [identity, rows] of stored) reportDifference('unexpected', identity, 'nothing', `${rows.length} rows`)
  const faults = { totals: [] as string[] }
  const days = await auditDays(input.client, location, expectedCosts, faults)
  for (const fault of faults.totals) reportDifference('sum', fault, 'equal', 'different')
  return { days, differences }
}

const verifyReceipts = async ({ client, sent, observe }: BulkVerificationInput): Promise<readonly Difference[]> => {
  const faults = { receipts: [] as string[] }
  // The workers may have a backlog of a part of the load.
  const timeoutMs = 60_000 + (sent.records + sent.repeated) / 10
  let done = 0
  await forEachConcurrently(sent.receipts, async ({ given, submission: { records } }) => {
    await auditReceipt(client, { given, records }, faults, timeoutMs)
    observe('receipts', ++done, sent.receipts.length)
  })
  const wrongReceipts = sent.receipts.filter(({ given, submission: { records, refused } }) => {
    const hasExpectedCounts =
      given.recordsSubmitted === records.length && given.recordsAccepted === records.length - refused.length
    return !hasExpectedCounts || given.failedNumbers.join() !== refused.join()
  })
  return [
    ...faults.receipts.map(
      subject =>
        ({ kind: 'receipt', subject, expected: 'all accepted records processed', found: 'different' }) as const,
    ),
    ...wrongReceipts.map(({ given, submission: { refused } }) => {
      const found = `${given.recordsAccepted} of ${given.recordsSubmitted} accepted, not ${given.failedNumbers.join()}`
      return { kind: 'answer', subject: given.batchId, expected: `all accepted but ${refused.join()}`, found } as const
    }),
    ...sent.refused.map(found => ({ kind: 'answer', subject: 'a request', expected: 'accepted', found }) as const),
  ]
}

/** Verify the receipts, each record and the number of rows in the table. */
export const verifyBulk = async (input: BulkVerificationInput): Promise<BulkVerdict> => {
  const { db, locations, submissions, sent, observe } = input
  const byLocation = Map.groupBy(submissions.flatMap(acceptedRecords), ({ locationId }) => locationId)
  const expected = submissions.reduce((sum, { records, refused }) => sum + records.length - refused.length, 0)
  const differences: Difference[] = [...(await verifyReceipts(input))]
  let [days, verified] = [0, 0]
  await forEachConcurrently(locations, async location => {
    const records = byLocation.get(location.locationId) ?? []
    const one = await verifyLocation(input, location, records)
    for (const difference of one.differences) differences.push(difference)
    days += one.days
    verified += records.length
    observe('records', verified, expected)
  })
  const found = Number((await db.rows('SELECT count() FROM meter_cost FINAL'))[0]?.[0])
  if (found !== expected)
    differences.push({ kind: 'unexpected', subject: 'the table', expected: String(expected), found: String(found) })
  return { expected, found, days, receipts: sent.receipts.length, differences }
}
