import { units } from '../../support/ledger/exact-decimal.ts'
import { energyOf } from '../../support/ledger/expected-cost.ts'
import type { LedgerRecord } from '../../support/ledger/journal.ts'
import type { IdentifiedRecord } from '../../support/oracle/cost.ts'
import type { Interval } from '../../support/oracle/segments.ts'

const confidenceDecimals = 6
const certain = 1_000_000

/** Convert a record for the oracle: energy in 1e-6 Wh, confidence in 1e-6, with its directions. */
export const oracleRecordOf = (record: LedgerRecord, id: string): IdentifiedRecord => ({
  id,
  record: {
    locationId: record.locationId,
    deviceId: record.deviceId,
    start: record.start,
    end: record.end,
    energy: energyOf(record),
    energyFlowDirection: record.energyFlowDirection ?? 'INBOUND',
    tariffDirection: record.tariffDirection ?? 'IMPORT',
    confidence: Number(units(record.confidence ?? '1', confidenceDecimals)),
    sessionReferenceId: record.sessionReferenceId,
    recordReferenceId: record.recordReferenceId,
  },
})

const objectOf = ({ record }: IdentifiedRecord): string =>
  JSON.stringify([record.deviceId, record.energyFlowDirection, record.tariffDirection, record.sessionReferenceId])

/**
 * Add to each estimate the intervals that actuals of the same object, directions and session cover.
 * Source: docs/rules/metering.md #estimates.
 */
export const withCoveredIntervals = (records: readonly IdentifiedRecord[]): readonly IdentifiedRecord[] => {
  const isEstimate = ({ record }: IdentifiedRecord): boolean => record.confidence < certain
  if (!records.some(isEstimate)) return records
  const actuals = Map.groupBy(
    records.filter(one => !isEstimate(one) && one.record.start < one.record.end),
    objectOf,
  )
  return records.map(one => {
    if (!isEstimate(one)) return one
    const { start, end } = one.record
    const covered: Interval[] = (actuals.get(objectOf(one)) ?? []).flatMap(({ record }) =>
      record.start < end && record.end > start
        ? [{ start: Math.max(start, record.start), end: Math.min(end, record.end) }]
        : [],
    )
    return { ...one, covered }
  })
}
