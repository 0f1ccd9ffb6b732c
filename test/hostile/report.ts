import type { Measurement } from './measure.ts'
import type { Verdict } from './verdict.ts'

/** Columns of the report: title and width; a negative width aligns to the right. */
const columns = [
  ['input', 62],
  ['size', -9],
  ['status', -9],
  ['done s', -7],
  ['CPU ms', -8],
  ['growth', -7],
  ['live ms', -8],
  ['reads ms', -9],
  ['ref ms', -7],
  ['turn ms', -8],
] as const

const row = (cells: readonly string[]): string =>
  columns
    .map(([, width], at) => (width < 0 ? (cells[at] ?? '').padStart(-width) : (cells[at] ?? '').padEnd(width)))
    .join(' ')

/** Return the first line of the report. */
export const heading = (): string => row(columns.map(([title]) => title))

const rounded = (value: number | null): string => (value === null ? '-' : value.toFixed(0))

/** Return the line of an input. A `*` marks a busy machine. */
export const line = (
  { input, statuses, endedMs, cpuMs, longestTurnMs, isOldTurn }: Measurement,
  verdict: Verdict,
): string => {
  const cells = [
    `${input.subject}: ${input.name}`,
    String(input.size),
    [...new Set(statuses)].join(',') || '-',
    endedMs === null ? 'never' : (endedMs / 1_000).toFixed(2),
    cpuMs === null ? '-' : rounded(cpuMs[1]),
    verdict.growth === null ? '-' : verdict.growth.toFixed(1),
    rounded(verdict.longestLiveMs),
    rounded(verdict.longestReadMs),
    rounded(verdict.longestReferenceMs),
    isOldTurn ? '' : rounded(longestTurnMs),
  ]
  const end = verdict.misses.length === 0 ? 'ok' : `MISS ${verdict.misses.join('; ')}`
  return `${row(cells)}  ${end}${verdict.isMachineBusy ? ' *' : ''}`
}
