import { generateSubmission } from '../../support/ledger/generate-submission.ts'
import type { LedgerLocation, LedgerRecord } from '../../support/ledger/journal.ts'
import type { Random } from '../../support/ledger/random.ts'
import { refusedNumbers } from '../../support/ledger/summarize-journal.ts'

/** One body, sent so many times at once. `refused`: numbers of the records in it that must be refused. */
export type BulkSubmission = {
  readonly records: readonly LedgerRecord[]
  readonly refused: readonly number[]
  readonly copies: number
}

/** The records of a submission that must be taken. */
export const acceptedRecords = ({ records, refused }: BulkSubmission): readonly LedgerRecord[] => {
  const left = new Set(refused)
  return records.filter((_, index) => !left.has(index + 1))
}

/**
 * Plan large submissions of so many good records, no two of one identity; the fewer records, the smaller the submissions. Half of them hold
 * good records alone, which are taken in another way than those beside bad ones.
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
    const mixed = { records: generated, refused: refusedNumbers(generated), copies: 1 + random.whole(5) }
    const good = acceptedRecords(mixed)
    submissions.push(random.chance(0.5) ? mixed : { ...mixed, records: good, refused: [] })
    left -= good.length
  }
  return submissions
}
