import fc from 'fast-check'
import { expect, it } from 'vitest'
import { intervalSteps } from '../../../../../services/interchange/domain/csv/interval-steps.ts'
import { type FileReading, isRefusedRow, type ReadRow } from '../../../../../services/interchange/domain/reading.ts'

const minuteMs = 60_000
const zero = Date.UTC(2026, 0, 10)

type Label = 'start' | 'end'

/** Reading at a time in minutes, with an interval of `length` minutes. */
const reading = (label: Label, at: number, line: number, length: number, meter = 'a'): FileReading => {
  const start = zero + (label === 'start' ? at : at - length) * minuteMs
  return {
    line,
    isRegister: false,
    isRestart: false,
    location: { reference: meter },
    device: null,
    sessionReferenceId: null,
    recordReferenceId: null,
    directions: null,
    units: 'KW',
    value: '1',
    confidence: null,
    start,
    end: start + length * minuteMs,
  }
}

/** Return the lines that are refused. Rows are taken in chunks of `chunk` rows. Line 1 is the first row. */
const refusedLines = (label: Label, times: readonly number[], length: number, chunk = 1_000): readonly number[] => {
  const steps = intervalSteps(label)
  const rows: ReadRow[] = []
  for (let from = 0; from < times.length; from += chunk) {
    steps.add(times.slice(from, from + chunk).map((at, index) => reading(label, at, from + index + 1, length)))
    rows.push(...steps.take())
  }
  steps.end()
  rows.push(...steps.take())
  expect(rows.map(({ line }) => line)).toEqual(times.map((_, index) => index + 1))
  expect(rows.filter(isRefusedRow).every(({ code }) => code === 'wrong_interval')).toBe(true)
  return rows.flatMap(row => (isRefusedRow(row) ? [row.line] : []))
}

const hoursThenHalves = [0, 60, 120, 180, 210, 240, 270]

it.each([
  // The row of 180 min has half an hour, as all later ones.
  ['start', [4, 5, 6, 7]],
  // The row of 210 min is the first one of half an hour.
  ['end', [5, 6, 7]],
] as const)('refuses each row that is shorter than its interval: time is the %s', (label, lines) => {
  expect(refusedLines(label, hoursThenHalves, 60)).toEqual(lines)
  expect(refusedLines(label, hoursThenHalves, 60, 2)).toEqual(lines)
  // In a descending file the rows are the same, counted from the end: 8 - 4 = 4 and so on.
  expect(refusedLines(label, hoursThenHalves.toReversed(), 60)).toEqual(lines.map(line => 8 - line).toReversed())
})

it('refuses rows of a file with another step than its interval', () => {
  expect(refusedLines('start', [0, 30, 60, 90], 60)).toEqual([1, 2, 3, 4])
  // The first larger step can be a gap.
  expect(refusedLines('start', [0, 60, 120, 180], 30)).toEqual([2, 3])
  expect(refusedLines('end', [0, 60, 120, 180], 30)).toEqual([3, 4])
  expect(refusedLines('start', hoursThenHalves, 30)).toEqual([2, 3])
})

it.each([
  ['one skipped row', [0, 15, 45, 60]],
  ['skipped rows in a row', [0, 15, 30, 300, 315]],
  ['two equal gaps', [0, 15, 45, 75, 90]],
  ['rows of some minutes of each day', [0, 15, 1_440, 1_455, 2_880, 2_895, 4_320]],
  ['a row that comes late', [0, 30, 45, 15, 60, 75]],
  ['a repeated row', [0, 15, 15, 30]],
  ['a single row', [7]],
])('takes %s', (_, times) => {
  for (const label of ['start', 'end'] as const) {
    expect(refusedLines(label, times, 15)).toEqual([])
    expect(refusedLines(label, times.toReversed(), 15)).toEqual([])
  }
})

it('compares rows of one meter only', () => {
  const steps = intervalSteps('start')
  steps.add([0, 15, 30].flatMap(at => ['a', 'b'].map(meter => reading('start', at, at, 15, meter))))
  steps.end()
  expect(steps.take().filter(isRefusedRow)).toEqual([])
})

it('keeps at most 20,000 rows that wait for the next row of their meter', () => {
  const steps = intervalSteps('start')
  const rows = Array.from({ length: 30_000 }, (_, line) => reading('start', 0, line, 15, `meter ${line}`))
  steps.add(rows)
  expect(steps.take()).toEqual(rows.slice(0, 10_000))
  steps.end()
  expect(steps.take()).toEqual(rows.slice(10_000))
})

it('refuses no row of a file in equal steps of its interval, whatever rows are missing', () => {
  const missing = fc.uniqueArray(fc.integer({ min: 0, max: 400 }), { maxLength: 30 })
  fc.assert(
    fc.property(
      missing,
      fc.constantFrom<Label>('start', 'end'),
      fc.integer({ min: 1, max: 50 }),
      (gaps, label, chunk) => {
        const times = Array.from({ length: 400 }, (_, index) => index * 15).filter(at => !gaps.includes(at / 15))
        // The first rows are there, so that the meter has a step of its interval.
        expect(refusedLines(label, [-30, -15, ...times], 15, chunk)).toEqual([])
      },
    ),
    { numRuns: 50 },
  )
})

it('a day of 24 hours that the clock shortens is refused with the name of the local day', () => {
  const steps = intervalSteps('start')
  const dayMinutes = 1440
  steps.add([0, dayMinutes, 2 * dayMinutes - 60].map((at, row) => reading('start', at, row + 1, dayMinutes)))
  steps.end()
  const messages = steps.take().flatMap(row => (isRefusedRow(row) ? row.message : []))
  const advice = expect.stringContaining('the interval is 1440 min. Set --interval P1D')
  expect(messages).toEqual([advice, advice])
})
