import { storedIdentity } from '../../support/ledger/audit.ts'
import { units } from '../../support/ledger/exact-decimal.ts'
import { energyOf } from '../../support/ledger/expected-cost.ts'
import type { LedgerRecord } from '../../support/ledger/journal.ts'
import type { StoredRecord } from '../../support/ledger/read-back.ts'
import type { Expectation } from '../../support/ledger/summarize-journal.ts'
import type { Client } from '../../support/system/client.ts'
import { type CreatedLocation, pricingInputOf } from '../history/create-fixture.ts'
import type { Difference, Verdict } from './difference.ts'
import { locationCosts } from './location-costs.ts'
import { readLocation } from './read-location.ts'
import { oracleRecordOf, withCoveredIntervals } from './stored-records.ts'
import { deviationOf } from './verify-record.ts'
import { verifySums } from './verify-sums.ts'

/** Verdict of one location. */
export type LocationVerdict = Omit<Verdict, 'receipts'>

type ExpectedRecord = {
  readonly identity: string
  readonly record: LedgerRecord
  readonly row: StoredRecord | undefined
}

const energyDecimals = 6

/**
 * Return the allowed record that is stored. If none is stored, return the last accepted record, or null if none is
 * needed.
 */
const expectedRecordOf = ({ allowed }: Expectation, stored: StoredRecord | undefined): LedgerRecord | null => {
  const records = allowed.filter(record => record !== null)
  if (stored === undefined) return allowed.includes(null) ? null : (records.at(-1) ?? null)
  const isSame = (record: LedgerRecord): boolean =>
    energyOf(record) === units(stored.energy_submitted, energyDecimals) &&
    units(record.confidence ?? '1', energyDecimals) === units(stored.confidence, energyDecimals)
  return records.findLast(isSame) ?? records.at(-1) ?? null
}

const describe = ({ value, units, confidence = '1' }: LedgerRecord): string =>
  `${value} ${units}, confidence ${confidence}`

/** Compare all records of a location, and each month of each flow, with the journal and an exact calculation. */
export const verifyLocation = async (
  client: Client,
  location: CreatedLocation,
  expectations: ReadonlyMap<string, Expectation>,
): Promise<LocationVerdict> => {
  const stored = Map.groupBy(await readLocation(client, location.locationId, expectations.size), storedIdentity)
  const differences: Difference[] = []
  const expectedRecords: ExpectedRecord[] = []
  for (const [identity, expectation] of expectations) {
    const rows = stored.get(identity) ?? []
    const [row] = rows
    const record = expectedRecordOf(expectation, row)
    if (record === null) continue
    expectedRecords.push({ identity, record, row })
    const subject = `${row?.id ?? 'record'} ${identity}`
    if (row === undefined) differences.push({ kind: 'missing', subject, expected: describe(record), found: 'nothing' })
    if (rows.length > 1)
      differences.push({
        kind: 'duplicate',
        subject,
        expected: 'once',
        found: `${rows.length}: ${rows.map(({ id }) => id).join()}`,
      })
  }
  let unexpected = 0
  for (const [identity, rows] of stored) {
    if (expectations.has(identity)) continue
    unexpected += rows.length
    const found = rows.map(row => `${row.id} with ${row.energy_submitted} Wh`).join()
    differences.push({ kind: 'unexpected', subject: `${rows[0]?.id} ${identity}`, expected: 'nothing', found })
  }
  const records = withCoveredIntervals(
    expectedRecords.map(({ record, row }) => oracleRecordOf(record, row?.id ?? 'missing')),
  )
  const costs = locationCosts(pricingInputOf(location), records)
  for (const [index, { identity, row }] of expectedRecords.entries()) {
    const cost = costs[index]
    const deviation = row === undefined || cost === undefined ? null : deviationOf(cost, row)
    if (deviation === null) continue
    const { kind, expected, found } = deviation
    differences.push({
      kind,
      subject: `${row?.id} ${identity} of "${location.planned.kind}" in ${location.planned.zone}`,
      expected,
      found,
    })
  }
  const sums = await verifySums(client, { locationId: location.locationId, zone: location.planned.zone }, costs)
  for (const { month, expected, found } of sums.deviations)
    differences.push({ kind: 'sum', subject: `${location.locationId} ${month}`, expected, found })
  const rows = expectedRecords.filter(({ row }) => row !== undefined).length
  return {
    expected: expectedRecords.length,
    found: rows + unexpected,
    months: sums.months,
    differences,
    unpriced: costs.filter(({ priced }) => priced === null).length,
    pieces: costs.reduce((sum, { priced }) => sum + (priced?.pieces.length ?? 0), 0),
  }
}
