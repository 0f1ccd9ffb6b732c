import { setTimeout as sleep } from 'node:timers/promises'
import { registerRuleOf } from '../../../services/domain/record/reading-rules.ts'
import { forEachConcurrently } from '../../support/ledger/audit.ts'
import { decimal, parseExactly, units } from '../../support/ledger/exact-decimal.ts'
import type { LedgerReceipt, LedgerRecord } from '../../support/ledger/journal.ts'
import type { StoredReceipt } from '../../support/ledger/read-back.ts'
import { identityOf } from '../../support/ledger/summarize-journal.ts'
import { oracleIntervals } from '../../support/registers/register-oracle.ts'
import type { Client } from '../../support/system/client.ts'
import type { Reading, ReadingSubmission } from '../history/plan-readings.ts'
import type { AuditEntry } from '../send/entries.ts'

/** Expected intervals of registers and the received receipts, from the journal. */
export type RegisterSummary = {
  readonly intervals: ReadonlyMap<string, LedgerRecord>
  readonly receipts: readonly { readonly given: LedgerReceipt; readonly submission: ReadingSubmission }[]
  readonly contradictions: readonly string[]
}

type AcceptedReading = Reading & Pick<ReadingSubmission, 'sessionReferenceId' | 'units'>

/** Return the value of a reading in 1e-6 Wh; null if it is withdrawn. */
const energyOf = ({ value, units: unit }: AcceptedReading): bigint | null =>
  value === null ? null : units(value, unit === 'WH' ? 6 : 9)

const placeOf = ({ time, isRestart }: Pick<Reading, 'time' | 'isRestart'>): string =>
  `${time}${isRestart ? ' restart' : ''}`

/** Return the intervals of the readings of a register. */
const intervalsOf = (
  { register }: ReadingSubmission,
  acceptedReadings: ReadonlyMap<string, AcceptedReading>,
): readonly LedgerRecord[] => {
  const readings = [...acceptedReadings.values()].map(reading => ({ ...reading, value: energyOf(reading) }))
  return oracleIntervals(register.rule === null ? null : registerRuleOf(register.rule), readings).map(
    ([start, end, energy]) => {
      const closing = acceptedReadings.get(placeOf({ time: end, isRestart: false })) as AcceptedReading
      const { locationId, deviceId, energyFlowDirection } = register
      return {
        locationId,
        deviceId,
        energyFlowDirection,
        tariffDirection: energyFlowDirection === 'INBOUND' ? 'IMPORT' : 'EXPORT',
        start,
        end,
        units: 'WH',
        value: decimal(energy, 6),
        isValid: true,
        sessionReferenceId: closing.sessionReferenceId,
        recordReferenceId: closing.recordReferenceId,
      } as const
    },
  )
}

/** Summarize the journal's entries of readings. The results of all submissions are known after the load. */
export const summarizeRegisters = (journal: readonly AuditEntry[]): RegisterSummary => {
  const submissions = new Map(
    journal.flatMap(entry => (entry.kind === 'readings' ? [[entry.operation, entry.submission] as const] : [])),
  )
  const acceptedOperations = new Set<number>()
  const receipts: { given: LedgerReceipt; submission: ReadingSubmission }[] = []
  const contradictions: string[] = []
  for (const entry of journal) {
    const submission = entry.kind === 'answered' ? submissions.get(entry.operation) : undefined
    if (entry.kind !== 'answered' || entry.receipt === null || submission === undefined) continue
    acceptedOperations.add(entry.operation)
    receipts.push({ given: entry.receipt, submission })
    const expected = submission.readings.flatMap(({ isValid }, index) => (isValid ? [] : [index + 1])).join()
    if (entry.receipt.failedNumbers.join() !== expected)
      contradictions.push(`operation ${entry.operation} refused ${entry.receipt.failedNumbers.join()}, not ${expected}`)
  }
  const registers = new Map<
    string,
    { readonly submission: ReadingSubmission; readonly acceptedReadings: Map<string, AcceptedReading> }
  >()
  for (const [operation, submission] of submissions) {
    if (!acceptedOperations.has(operation)) continue
    const { locationId, deviceId, energyFlowDirection } = submission.register
    const key = JSON.stringify([locationId, deviceId, energyFlowDirection])
    const register = registers.get(key) ?? { submission, acceptedReadings: new Map<string, AcceptedReading>() }
    registers.set(key, register)
    for (const reading of submission.readings)
      if (reading.isValid) register.acceptedReadings.set(placeOf(reading), { ...reading, ...submission })
  }
  const intervals = [...registers.values()].flatMap(({ submission, acceptedReadings }) =>
    intervalsOf(submission, acceptedReadings),
  )
  return { intervals: new Map(intervals.map(record => [identityOf(record), record])), receipts, contradictions }
}

const timeoutMs = 60_000

/**
 * Return true if a later failure of a reading is expected: the reading is a dip, or comes after the exchange.
 * A reading of a register that rolls over is implausible until the reading before it arrives, if that one follows a dip.
 */
const isExpectedFailure = (
  { register, readings }: ReadingSubmission,
  { record_num: number, error }: StoredReceipt['failed_records'][number],
): boolean => {
  const reading = readings[Number(number) - 1]
  if (reading === undefined) return false
  if (reading.isDip || reading.time >= register.exchangedAt) return true
  return register.rule?.digits != null && error.startsWith('implausible_energy: ')
}

/** Return true if a receipt has its final state: all readings are processed, and only expected failures occurred. */
const isExpectedReceipt = (
  stored: StoredReceipt,
  { given, submission }: RegisterSummary['receipts'][number],
): boolean => {
  const failed = stored.failed_records.map(({ record_num }) => Number(record_num))
  const later = stored.failed_records.filter(({ record_num }) => !given.failedNumbers.includes(Number(record_num)))
  return (
    later.every(failure => isExpectedFailure(submission, failure)) &&
    given.failedNumbers.every(number => failed.includes(number)) &&
    Number(stored.records_submitted) === given.recordsSubmitted &&
    Number(stored.records_accepted) === given.recordsAccepted &&
    Number(stored.records_processed) + later.length === given.recordsAccepted
  )
}

/** List the receipts of registers that do not reach their expected state within 60 s. */
export const verifyRegisterReceipts = async (
  client: Client,
  { receipts }: RegisterSummary,
): Promise<readonly string[]> => {
  const faults: string[] = []
  await forEachConcurrently(receipts, async receipt => {
    for (const deadline = performance.now() + timeoutMs; ; await sleep(50)) {
      const { status, text } = await client.send('GET', `/meters/batch?batch_id=${receipt.given.batchId}`)
      if (status === 200 && isExpectedReceipt(parseExactly(text) as StoredReceipt, receipt)) return
      if (performance.now() < deadline) continue
      faults.push(`${receipt.given.batchId}: expected ${JSON.stringify(receipt.given)}, found ${status} ${text}`)
      return
    }
  })
  return faults
}
