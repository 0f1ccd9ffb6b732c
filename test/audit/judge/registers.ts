import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../support/client.ts'
import { each } from '../../support/ledger/audit.ts'
import { identityOf } from '../../support/ledger/book.ts'
import { decimal, parseExactly, units } from '../../support/ledger/exact-decimal.ts'
import type { LedgerReceipt, LedgerRecord } from '../../support/ledger/journal.ts'
import type { StoredReceipt } from '../../support/ledger/read-back.ts'
import type { Reading, ReadingSubmission } from '../history/plan-readings.ts'
import type { AuditEntry } from '../send/entries.ts'

/** What the journal says of registers: the intervals that must be there, and the receipts that were given. */
export type RegisterBook = {
  readonly intervals: ReadonlyMap<string, LedgerRecord>
  readonly receipts: readonly { readonly given: LedgerReceipt; readonly submission: ReadingSubmission }[]
  readonly contradictions: readonly string[]
}

type Held = Reading & Pick<ReadingSubmission, 'sessionReferenceId' | 'units'>

const longestMs = 366 * 86_400_000

/** A register's value in 1e-6 Wh. */
const shown = ({ value, units: unit }: Held): bigint => units(value, unit === 'WH' ? 6 : 9)

/**
 * Each reading but a fallen one closes an interval that the one before it in time opens.
 * Source: docs/rules/metering.md #register-readings.
 */
const intervalsOf = ({ register }: ReadingSubmission, held: ReadonlyMap<number, Held>): readonly LedgerRecord[] => {
  const readings = [...held.values()].sort((a, b) => a.time - b.time)
  return readings.flatMap((closing, index) => {
    const opening = readings[index - 1]
    if (opening === undefined || closing.time - opening.time > longestMs) return []
    const energy = shown(closing) - shown(opening)
    if (energy < 0n) return []
    const { locationId, deviceId, energyFlowDirection } = register
    return {
      ...{ locationId, deviceId, energyFlowDirection, tariffDirection: energyFlowDirection === 'INBOUND' ? 'IMPORT' : 'EXPORT' },
      ...{ start: opening.time, end: closing.time, units: 'WH', value: decimal(energy, 6), isGood: true },
      ...{ sessionReferenceId: closing.sessionReferenceId, recordReferenceId: closing.recordReferenceId },
    } as const
  })
}

/** Make up the book of registers; every submission has a known fate by the end of the sending. */
export const readRegisters = (journal: readonly AuditEntry[]): RegisterBook => {
  const submissions = new Map(journal.flatMap(entry => (entry.kind === 'readings' ? [[entry.operation, entry.submission] as const] : [])))
  const taken = new Set<number>()
  const receipts: { given: LedgerReceipt; submission: ReadingSubmission }[] = []
  const contradictions: string[] = []
  for (const entry of journal) {
    const submission = entry.kind === 'answered' ? submissions.get(entry.operation) : undefined
    if (entry.kind !== 'answered' || entry.receipt === null || submission === undefined) continue
    taken.add(entry.operation)
    receipts.push({ given: entry.receipt, submission })
    const expected = submission.readings.flatMap(({ isGood }, index) => (isGood ? [] : [index + 1])).join()
    if (entry.receipt.failedNumbers.join() !== expected)
      contradictions.push(`operation ${entry.operation} refused ${entry.receipt.failedNumbers.join()}, not ${expected}`)
  }
  const registers = new Map<string, { readonly submission: ReadingSubmission; readonly held: Map<number, Held> }>()
  for (const [operation, submission] of submissions) {
    if (!taken.has(operation)) continue
    const key = JSON.stringify(submission.register)
    const register = registers.get(key) ?? { submission, held: new Map<number, Held>() }
    registers.set(key, register)
    for (const reading of submission.readings) if (reading.isGood) register.held.set(reading.time, { ...reading, ...submission })
  }
  const intervals = [...registers.values()].flatMap(({ submission, held }) => intervalsOf(submission, held))
  return { intervals: new Map(intervals.map(record => [identityOf(record), record])), receipts, contradictions }
}

const patienceMs = 60_000

/** Whether a receipt says by now what it must: all handled, and of the readings found to have fallen none but those behind an exchange. */
const isTrue = (stored: StoredReceipt, { given, submission }: RegisterBook['receipts'][number]): boolean => {
  const failed = stored.failed_records.map(({ record_num }) => Number(record_num))
  const later = failed.filter(number => !given.failedNumbers.includes(number))
  const mayFall = later.every(number => (submission.readings[number - 1]?.time ?? 0) >= submission.register.exchangedAt)
  return (
    mayFall &&
    given.failedNumbers.every(number => failed.includes(number)) &&
    Number(stored.records_submitted) === given.recordsSubmitted &&
    Number(stored.records_accepted) === given.recordsAccepted &&
    Number(stored.records_processed) + later.length === given.recordsAccepted
  )
}

/** List the receipts of registers that do not come true within a minute. */
export const judgeRegisterReceipts = async (client: Client, { receipts }: RegisterBook): Promise<readonly string[]> => {
  const faults: string[] = []
  await each(receipts, async receipt => {
    for (const deadline = performance.now() + patienceMs; ; await sleep(50)) {
      const { status, text } = await client.send('GET', `/meters/batch?batch_id=${receipt.given.batchId}`)
      if (status === 200 && isTrue(parseExactly(text) as StoredReceipt, receipt)) return
      if (performance.now() < deadline) continue
      faults.push(`${receipt.given.batchId} said ${JSON.stringify(receipt.given)}, is ${status} ${text}`)
      return
    }
  })
  return faults
}
