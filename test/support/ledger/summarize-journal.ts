import type { JournalEntry, LedgerLocation, LedgerReceipt, LedgerRecord, Outcome } from './journal.ts'

/**
 * The records that are allowed for one identity. Null: no record may be stored.
 * Several records are allowed only if the result of an operation is unknown.
 */
export type Expectation = { readonly allowed: readonly (LedgerRecord | null)[] }

/** Data that a service must store according to the journal. */
export type JournalSummary = {
  readonly locations: ReadonlyMap<string, LedgerLocation>
  readonly expectations: ReadonlyMap<string, Expectation>
  /** Receipts of the answers, with the submitted records. */
  readonly receipts: readonly { readonly given: LedgerReceipt; readonly records: readonly LedgerRecord[] }[]
  readonly operations: Readonly<Record<Outcome, number>>
  /** Number of sent requests, and number of them with an unknown result. */
  readonly attempts: { readonly sent: number; readonly unknown: number }
  /**
   * Contradictory answers: a valid record refused, an invalid record accepted, or one attempt accepted and its
   * duplicate refused.
   */
  readonly contradictions: readonly string[]
}

/** Return the identity of a record. Two records with one identity are the same record. */
export const identityOf = (
  record: Pick<
    LedgerRecord,
    | 'locationId'
    | 'deviceId'
    | 'start'
    | 'end'
    | 'sessionReferenceId'
    | 'recordReferenceId'
    | 'energyFlowDirection'
    | 'tariffDirection'
  >,
): string =>
  JSON.stringify([
    record.locationId,
    record.deviceId,
    record.start,
    record.end,
    record.sessionReferenceId ?? null,
    record.recordReferenceId,
    record.energyFlowDirection ?? 'INBOUND',
    record.tariffDirection ?? 'IMPORT',
  ])

type Submission = Extract<JournalEntry, { kind: 'submission' }>
type AnsweredEntry = Extract<JournalEntry, { kind: 'answered' }>

/** Return the numbers of the records that must be refused: invalid records, and repeats within the submission. */
export const refusedNumbers = (records: readonly LedgerRecord[]): readonly number[] => {
  const seen = new Set<string>()
  return records.flatMap((record, index) => {
    const identity = identityOf(record)
    const isRefused = !record.isValid || seen.has(identity)
    if (record.isValid) seen.add(identity)
    return isRefused ? [index + 1] : []
  })
}

const outcomeOf = (sent: number, answers: readonly AnsweredEntry[]): Outcome => {
  if (answers.some(({ outcome }) => outcome === 'ok')) return 'ok'
  const isKnown = answers.length === sent && answers.every(({ outcome }) => outcome === 'failed')
  return isKnown ? 'failed' : 'unknown'
}

const findContradictions = (
  { operation, records }: Submission,
  answers: readonly AnsweredEntry[],
): readonly string[] => {
  const expected = refusedNumbers(records)
  const wrong = answers.flatMap(({ outcome, status, receipt }) => {
    if (outcome === 'failed') return [`operation ${operation} was refused with ${status}`]
    if (receipt === null) return []
    const { recordsSubmitted, recordsAccepted, failedNumbers } = receipt
    const isExpected = recordsSubmitted === records.length && recordsAccepted === records.length - expected.length
    const said = `submitted ${recordsSubmitted}, accepted ${recordsAccepted}, failed ${failedNumbers.join()}`
    return isExpected && failedNumbers.join() === expected.join()
      ? []
      : [`operation ${operation}: ${said}; expected to fail: ${expected.join()}`]
  })
  return [...new Set(wrong)]
}

/** Summarize a journal. Operations on one identity are in sequence in the journal. */
export const summarizeJournal = (journal: readonly JournalEntry[]): JournalSummary => {
  const locations = new Map<string, LedgerLocation>()
  const submissions: Submission[] = []
  const sent = new Map<number, number>()
  const answers = new Map<number, AnsweredEntry[]>()
  for (const entry of journal) {
    if (entry.kind === 'location') locations.set(entry.locationId, entry)
    else if (entry.kind === 'submission') submissions.push(entry)
    else if (entry.kind === 'sent') sent.set(entry.operation, (sent.get(entry.operation) ?? 0) + 1)
    else answers.set(entry.operation, [...(answers.get(entry.operation) ?? []), entry])
  }
  const expectations = new Map<string, { allowed: (LedgerRecord | null)[] }>()
  const receipts: { given: LedgerReceipt; records: readonly LedgerRecord[] }[] = []
  const operations = { ok: 0, failed: 0, unknown: 0 }
  const attempts = { sent: 0, unknown: 0 }
  const contradictions: string[] = []
  for (const submission of submissions) {
    const { operation, records } = submission
    const given = answers.get(operation) ?? []
    const times = sent.get(operation) ?? 0
    const outcome = outcomeOf(times, given)
    operations[outcome] += 1
    attempts.sent += times
    attempts.unknown += times - given.filter(answer => answer.outcome !== 'unknown').length
    contradictions.push(...findContradictions(submission, given))
    for (const { receipt } of given) if (receipt !== null) receipts.push({ given: receipt, records })
    const refused = new Set(refusedNumbers(records))
    records.forEach((record, index) => {
      if (refused.has(index + 1) || outcome === 'failed') return
      const identity = identityOf(record)
      const known = expectations.get(identity)?.allowed ?? [null]
      expectations.set(identity, { allowed: outcome === 'ok' ? [record] : [...known, record] })
    })
  }
  return { locations, expectations, receipts, operations, attempts, contradictions }
}
