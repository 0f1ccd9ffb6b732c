import { generateSubmission } from '../../support/ledger/generate-submission.ts'
import type { LedgerLocation, LedgerRecord } from '../../support/ledger/journal.ts'
import { refusedNumbers } from '../../support/ledger/summarize-journal.ts'
import type { Random } from '../../support/random.ts'

/** Body that is sent `copies` times concurrently. `refused` lists the numbers of the records that must be refused. */
export type BulkSubmission = {
  readonly records: readonly LedgerRecord[]
  readonly refused: readonly number[]
  readonly copies: number
}

/** Return the records of a submission that must be accepted. */
export const acceptedRecords = ({ records, refused }: BulkSubmission): readonly LedgerRecord[] => {
  const left = new Set(refused)
  return records.filter((_, index) => !left.has(index + 1))
}

/**
 * Plan large submissions with at least `records` valid records in total, each with its own identity. With few records
 * the submissions are smaller. Half of the submissions contain only valid records, because the gateway has a fast path
 * for them.
 */
export const planBulk = (
  random: Random,
  locations: readonly LedgerLocation[],
  records: number,
): readonly BulkSubmission[] => {
  const maxRecords = Math.max(50, Math.floor(records / 40))
  const submissions: BulkSubmission[] = []
  for (let left = records; left > 0; ) {
    const size = Math.min(maxRecords, random.pick([200, 500, 1_000, 3_000]))
    const generated = generateSubmission(random, locations, size, submissions.length)
    const mixed = { records: generated, refused: refusedNumbers(generated), copies: 1 + random.below(5) }
    const good = acceptedRecords(mixed)
    submissions.push(random.chance(0.5) ? mixed : { ...mixed, records: good, refused: [] })
    left -= good.length
  }
  return submissions
}
