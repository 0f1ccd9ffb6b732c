import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { BillInput } from './bill-input.ts'
import { type BillStatement, billStatement, type StatementLine } from './bill-statement.ts'
import { compare, decimal, multiply, nanoOf, subtract, sum } from './fraction.ts'

type ExpectedPeak = { readonly start_time: string; readonly kw: string }
type ExpectedShare = {
  readonly device_id: string | null
  readonly session_reference_id: string | null
  readonly share: string
}
type ExpectedLine = {
  readonly kind: string
  readonly component: string
  readonly name: string
  readonly amount: string
  readonly amount_rounded: string
  readonly quantity?: string
  readonly measured_kw?: string
  readonly bound_by?: string
  readonly peaks?: readonly ExpectedPeak[]
  readonly shares?: readonly ExpectedShare[]
}
type Expected = {
  readonly complete: boolean
  readonly gaps: readonly { readonly reason: string; readonly start_time: string; readonly end_time: string }[]
  readonly periods: readonly {
    readonly start_date: string
    readonly end_date: string
    readonly lines: readonly ExpectedLine[]
    readonly totals: Readonly<Record<string, string>>
  }[]
  readonly gross: string
  readonly gross_rounded: string
}
type Published = {
  readonly value: string
  readonly tolerance: string
  readonly line?: string
  readonly of?: 'gross' | 'gross_rounded'
}
type Case = Omit<BillInput, 'now'> & {
  readonly id: string
  readonly expected: Expected
  readonly published?: Published
}

const path = new URL('../../../../shared/acceptance/bill_cases.json', import.meta.url)
const cases: readonly Case[] = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).cases : []

/** All cases end before this instant, so no statement lacks time. */
const now = '2030-01-01T00:00:00Z'

const instant = (text: string): string => new Date(text).toISOString()

/** Show the members of a line that the expected line has, in the form of the case. */
const shown = (line: StatementLine, expected: ExpectedLine): object => {
  const { kind, component, name, amount, amount_rounded, quantity } = line
  const reason = line.reason !== null && 'peaks' in line.reason ? line.reason : null
  const members: Readonly<Record<keyof ExpectedLine, unknown>> = {
    kind,
    component,
    name,
    amount,
    amount_rounded,
    quantity,
    measured_kw: reason?.measured_kw,
    bound_by: reason?.bound_by,
    peaks: reason?.peaks.map(({ start_time, kw }) => ({ start_time, kw: nanoOf(kw) })),
    shares: reason?.peaks[0]?.users.map(user => ({
      device_id: user.device_id,
      session_reference_id: user.session_reference_id,
      share: nanoOf(user.share),
    })),
  }
  return Object.fromEntries(Object.keys(expected).map(name => [name, members[name as keyof ExpectedLine]]))
}

const wanted = (line: ExpectedLine): object => ({
  ...line,
  ...(line.peaks && {
    peaks: line.peaks.map(({ start_time, kw }) => ({ start_time: instant(start_time), kw: nanoOf(kw) })),
  }),
  ...(line.shares && { shares: line.shares.map(share => ({ ...share, share: nanoOf(share.share) })) }),
})

const verifyPublished = (statement: BillStatement, { value, tolerance, line, of = 'gross' }: Published): void => {
  const lines = statement.periods.flatMap(period => period.lines).filter(({ name }) => name === line)
  const found = line === undefined ? decimal(statement.totals[of]) : sum(lines.map(({ amount }) => decimal(amount)))
  const difference = subtract(found, decimal(value))
  expect(compare(multiply(difference, difference), multiply(decimal(tolerance), decimal(tolerance)))).toBeLessThan(1)
}

if (cases.length === 0) console.info(`55 bill cases are skipped: ${path.pathname} does not exist.`)

describe('the bill oracle agrees with the bill cases', () => {
  it.skipIf(cases.length === 0)('of which there are 55', () => {
    expect(cases).toHaveLength(55)
  })

  it.each(cases)('$id', ({ expected, published, ...input }) => {
    const statement = billStatement({ ...input, now })
    expect({ complete: statement.complete, gaps: statement.gaps }).toEqual({
      complete: expected.complete,
      gaps: expected.gaps.map(gap => ({
        reason: gap.reason,
        start_time: instant(gap.start_time),
        end_time: instant(gap.end_time),
      })),
    })
    const periods = statement.periods.map((period, place) => ({
      ...period,
      lines: period.lines.map((line, index) => {
        const lineExpected = expected.periods[place]?.lines[index]
        return lineExpected === undefined ? line : shown(line, lineExpected)
      }),
    }))
    expect(periods).toMatchObject(expected.periods.map(period => ({ ...period, lines: period.lines.map(wanted) })))
    const { gross, gross_rounded } = statement.totals
    expect({ gross, gross_rounded }).toEqual({ gross: expected.gross, gross_rounded: expected.gross_rounded })
    if (published !== undefined) verifyPublished(statement, published)
  })
})
