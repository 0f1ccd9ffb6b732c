import { heading, paint, print, printTable, showProgress, whole } from '../demo/terminal.ts'
import type { BulkCounts } from './bulk/run-bulk.ts'
import type { BulkVerdict } from './bulk/verify-bulk.ts'
import type { Audit, Observer } from './run-audit.ts'
import { type Difference, differenceKinds, type Verdict } from './verify/difference.ts'

const titles = {
  fixture: ['Locations', 'locations'],
  load: ['Sending', 'records'],
  recosts: ['Recosts', 'messages'],
  receipts: ['Receipts', 'receipts'],
  records: ['Verifying', 'records'],
} as const

/** Return an observer that prints the progress of each phase, and the faults during the phase. */
export const observer = (faults: () => readonly string[]): Observer => {
  let current: { readonly phase: string; readonly progress: ReturnType<typeof showProgress>; isEnded: boolean } | null =
    null
  let reportedAt = 0
  return (phase, done, total) => {
    const [title, unit] = titles[phase]
    if (current === null || current.phase !== phase || (current.isEnded && done < total)) {
      current = { phase, progress: showProgress(title, total, unit), isEnded: false }
    }
    for (const fault of faults().slice(reportedAt))
      print(`  ${title.padEnd(12)} ${++reportedAt} ${fault}: survived at ${whole(done)} ${unit}`)
    if (current.isEnded) return
    current.progress.update(done)
    current.isEnded = done >= total
    if (current.isEnded) current.progress.end(`${whole(done)} ${unit}`)
  }
}

const kindNames: Readonly<Record<Difference['kind'], string>> = {
  missing: 'missing',
  duplicate: 'duplicates',
  unexpected: 'unexpected',
  energy: 'wrong energy',
  cost: 'wrong cost',
  sum: 'wrong sums',
  receipt: 'wrong receipts',
  answer: 'wrong answers',
  deadLetter: 'dead letters',
  stop: 'failed stops',
}

const maxShown = 5

/** Print the table of an audit, and the first differences of each kind. */
export const reportVerdict = (
  verdict: Awaited<ReturnType<Audit['verify']>>,
  { faults, changes, leftOut }: Audit['progress'],
): void => {
  const { operations, attempts } = verdict.summaries.recordSummary
  report({
    differences: verdict.differences,
    faults,
    rows: [
      ['operations that succeeded', whole(operations.ok)],
      ['operations that failed', whole(operations.failed)],
      ['operations with unknown result', whole(operations.unknown)],
      ['requests sent', whole(attempts.sent)],
      ['requests with unknown result', whole(attempts.unknown)],
      ['changes of tariffs and prices', whole(changes)],
      ['corrections left out', whole(leftOut)],
      ['messages unread after the load', whole(verdict.wait.messages)],
      ['seconds until they were read', whole(verdict.wait.seconds)],
      ['messages still unread then', whole(verdict.wait.left)],
      null,
      ['records expected', whole(verdict.expected)],
      ['records found', whole(verdict.found)],
      ['records without a price', whole(verdict.unpriced)],
      ['pieces compared', whole(verdict.pieces)],
      ['receipts compared', whole(verdict.receipts)],
      ['sums compared', whole(verdict.months)],
    ],
  })
}

/** Print the table of a bulk audit, and the first differences of each kind. */
export const reportBulk = (
  { differences, ...verdict }: BulkVerdict,
  { faults, workerChanges, ...sent }: BulkCounts,
): void =>
  report({
    differences,
    faults,
    rows: [
      ['workers that joined', whole(workerChanges.joins)],
      ['workers that left', whole(workerChanges.stops)],
      ['workers that were killed', whole(workerChanges.kills)],
      ['duration of the load in s', whole(sent.seconds)],
      ['requests sent', whole(sent.sent)],
      ['repeated requests with unknown result', whole(sent.uncertain)],
      ['records sent', whole(sent.records)],
      ['copies of records sent', whole(sent.repeated)],
      null,
      ['records expected', whole(verdict.expected)],
      ['records found', whole(verdict.found)],
      ['receipts compared', whole(verdict.receipts)],
      ['sums of days compared', whole(verdict.days)],
    ],
  })

/** Result of an audit: injected faults, counts for the table, differences. */
type Report = {
  readonly faults: readonly string[]
  readonly rows: readonly (readonly [string, string] | null)[]
  readonly differences: readonly Difference[]
}

const report = ({ faults, rows, differences }: Report): void => {
  const by = Map.groupBy(differences, ({ kind }) => kind)
  const count = (kind: Difference['kind']): readonly [string, string] => [
    kindNames[kind],
    whole(by.get(kind)?.length ?? 0),
  ]
  heading('Audit', differences.length === 0 ? 'all promises are kept' : 'the stored data differ from the expected data')
  const kills = [...Map.groupBy(faults, fault => fault)]
    .sort()
    .map(([fault, all]) => [`  ${fault}`, whole(all.length)] as const)
  printTable(['', 'count'], [['kills', whole(faults.length)], ...kills, ...rows, null, ...differenceKinds.map(count)])
  for (const [kind, differences] of by) {
    heading(kindNames[kind], `the first ${Math.min(maxShown, differences.length)} of ${whole(differences.length)}`)
    for (const { subject, expected, found } of differences.slice(0, maxShown)) {
      print(`  ${paint('red', '✗')} ${subject}`)
      print(`    expected  ${expected}`)
      print(`    found     ${found}`)
    }
  }
  print()
}

/** Return true if there are no differences, and at least one record was expected. */
export const isClean = ({ differences, expected }: Pick<Verdict, 'differences' | 'expected'>): boolean =>
  differences.length === 0 && expected > 0
