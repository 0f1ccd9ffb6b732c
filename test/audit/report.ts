import { heading, paint, print, printTable, showProgress, whole } from '../demo/terminal.ts'
import type { BulkCounts } from './bulk/run-bulk.ts'
import type { BulkVerdict } from './bulk/verify-bulk.ts'
import type { Audit, Observer } from './run-audit.ts'
import { type Difference, differenceKinds, type Verdict } from './verify/verdict.ts'

const titles = {
  world: ['World', 'locations'],
  load: ['Sending', 'records'],
  receipts: ['Receipts', 'receipts'],
  records: ['Judging', 'records'],
} as const

/** Show each phase as it gets on, and the kills of it. */
export const observer = (faults: () => readonly string[]): Observer => {
  let shown: { readonly phase: string; readonly progress: ReturnType<typeof showProgress>; isEnded: boolean } | null =
    null
  let reportedAt = 0
  return (phase, done, total) => {
    const [title, unit] = titles[phase]
    if (shown === null || shown.phase !== phase || (shown.isEnded && done < total)) {
      shown = { phase, progress: showProgress(title, total, unit), isEnded: false }
    }
    for (const fault of faults().slice(reportedAt))
      print(`  ${title.padEnd(12)} ${++reportedAt} ${fault}: survived at ${whole(done)} ${unit}`)
    if (shown.isEnded) return
    shown.progress.update(done)
    shown.isEnded = done >= total
    if (shown.isEnded) shown.progress.end(`${whole(done)} ${unit}`)
  }
}

const kindNames: Readonly<Record<Difference['kind'], string>> = {
  missing: 'missing',
  duplicate: 'duplicates',
  unexpected: 'unexpected',
  energy: 'wrong energy',
  cost: 'wrong cost',
  sum: 'sums off to the last digit',
  receipt: 'receipts untrue',
  answer: 'answers untrue',
  aside: 'put aside as dead letters',
  stop: 'stops that failed',
}

const maxShown = 5

/** Print the table of an audit, and of each kind of difference the first ones. */
export const reportVerdict = (
  verdict: Awaited<ReturnType<Audit['verify']>>,
  { faults, changes, leftOut }: Audit['progress'],
): void => {
  const { operations, attempts } = verdict.summaries.recordSummary
  report({
    differences: verdict.differences,
    faults,
    rows: [
      ['operations ok', whole(operations.ok)],
      ['operations failed', whole(operations.failed)],
      ['operations info', whole(operations.unknown)],
      ['requests sent', whole(attempts.sent)],
      ['requests of unknown fate', whole(attempts.unknown)],
      ['changes of tariffs and prices', whole(changes)],
      ['corrections left out in doubt', whole(leftOut)],
      null,
      ['records expected', whole(verdict.expected)],
      ['records found', whole(verdict.found)],
      ['of them without a price', whole(verdict.unpriced)],
      ['pieces compared', whole(verdict.pieces)],
      ['receipts compared', whole(verdict.receipts)],
      ['sums compared', whole(verdict.months)],
    ],
  })
}

/** Print the table of an audit in bulk. */
export const reportBulk = (
  { differences, ...verdict }: BulkVerdict,
  { faults, workerChanges: visits, ...sent }: BulkCounts,
): void =>
  report({
    differences,
    faults,
    rows: [
      ['workers that joined', whole(visits.joins)],
      ['workers that left', whole(visits.stops)],
      ['workers that were killed', whole(visits.kills)],
      ['seconds of sending', whole(sent.seconds)],
      ['requests sent', whole(sent.sent)],
      ['requests of unknown fate, sent again', whole(sent.uncertain)],
      ['records sent once', whole(sent.records)],
      ['records sent once more', whole(sent.repeated)],
      null,
      ['records expected', whole(verdict.expected)],
      ['records found', whole(verdict.found)],
      ['receipts compared', whole(verdict.receipts)],
      ['sums of days compared', whole(verdict.days)],
    ],
  })

/** What an audit comes to: the harm that was done, what was looked at, and where it differs. */
type Report = {
  readonly faults: readonly string[]
  readonly rows: readonly (readonly [string, string] | null)[]
  readonly differences: readonly Difference[]
}

/** Print a report, of each kind of difference the first ones. */
const report = ({ faults, rows, differences }: Report): void => {
  const by = Map.groupBy(differences, ({ kind }) => kind)
  const count = (kind: Difference['kind']): readonly [string, string] => [
    kindNames[kind],
    whole(by.get(kind)?.length ?? 0),
  ]
  heading(
    'Audit',
    differences.length === 0 ? 'every promise of the ledger is kept' : 'the service and the books differ',
  )
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

/** Whether a verdict keeps every promise: nothing differs, nothing is unknown, and something was there to look at. */
export const isClean = ({ differences, expected }: Pick<Verdict, 'differences' | 'expected'>): boolean =>
  differences.length === 0 && expected > 0
