import { beforeAll, describe, expect, it } from 'vitest'
import {
  type BillCase,
  billCases,
  billRecords,
  type ExpectedLine,
  type WireObject,
} from '../../support/acceptance/bill-cases.ts'
import { jsonOf, postCase } from '../../support/acceptance/post-case.ts'
import { parseExactly } from '../../support/ledger/exact-decimal.ts'
import type { Client } from '../../support/system/client.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

type Members = Readonly<Record<string, never>>

/** Return an instant in UTC, as the cases write it. */
const utc = (text: string): string => new Date(text).toISOString().replace('.000Z', 'Z')

/** Return the members of a line that a case expects, in its form. */
const shownLine = (line: Members, expected: ExpectedLine | undefined, nameOf: ReadonlyMap<string, string>) => {
  const { kind, component, amount, amount_rounded, quantity, reason } = line as Readonly<Record<string, unknown>>
  const name = kind === 'ENERGY' ? (expected?.name ?? line['name']) : line['name']
  const { bound_by, measured_kw, peaks } = (reason ?? {}) as Readonly<Record<string, unknown>>
  const peakList = peaks as readonly Readonly<Record<string, unknown>>[] | undefined
  const measured = {
    bound_by,
    measured_kw,
    quantity,
    peaks: peakList?.map(({ start_time, kw }) => ({ start_time: utc(String(start_time)), kw })),
    shares: (peakList?.[0]?.['users'] as readonly WireObject[] | undefined)?.map(user => ({
      device_id: nameOf.get(String(user['device_id'])) ?? user['device_id'],
      session_reference_id: user['session_reference_id'],
      share: Number(user['share']).toFixed(6),
    })),
  }
  const wanted = Object.entries(measured).filter(([member]) => expected !== undefined && member in expected)
  return { kind, component, name, amount, amount_rounded, ...Object.fromEntries(wanted) }
}

type Answer = Readonly<Record<'periods' | 'gaps', readonly Members[]>> & {
  readonly complete: boolean
  readonly totals: Readonly<Record<string, string>>
}

/** Return the amounts of totals: cases do not state estimated and provisional energy. */
const amountsOf = (totals: Members | undefined): Members => {
  const { estimated_energy: _estimated, provisional_energy: _provisional, ...amounts } = totals ?? {}
  return amounts
}

/** Return an answer in the form of the expected statement. */
const shownStatement = (answer: Answer, { expected }: BillCase, nameOf: ReadonlyMap<string, string>) => ({
  complete: answer.complete,
  gaps: answer.gaps.map(gap => ({
    ...gap,
    start_time: utc(gap['start_time'] ?? ''),
    end_time: utc(gap['end_time'] ?? ''),
  })),
  periods: answer.periods.map((period, index) => ({
    ...period,
    totals: amountsOf(period['totals'] as Members | undefined),
    lines: (period['lines'] as readonly Members[] | undefined)?.map((line, number) =>
      shownLine(line, expected.periods[index]?.lines[number], nameOf),
    ),
  })),
  gross: answer.totals['gross'],
  gross_rounded: answer.totals['gross_rounded'],
})

/** Records are accepted up to 7 days ahead. A statement that has not ended is not complete. */
const isFuture = (one: BillCase): boolean =>
  Date.parse(String(one.statement['end_date'])) > Date.now() - 86_400_000 ||
  billRecords(one).some(({ end_time }) => Date.parse(end_time) > Date.now())

const cases = billCases() ?? []
const future = cases.filter(isFuture)
if (billCases() === null) console.warn('Skipped: the file of whole-bill cases is not present.')
else if (future.length > 0)
  console.warn(`Skipped, because their records are in the future: ${future.map(({ id }) => id)}`)

describe.skipIf(cases.length === 0)('a statement over HTTP agrees in every member with the case', () => {
  it.concurrent.each(cases.filter(one => !isFuture(one)).map(one => [one.id, one] as const))(
    '%s',
    { timeout: 180_000 },
    async (_, one) => {
      const { location, nameOf } = await postCase(client, one)
      const { status, text } = await client.send('POST', `/statements/${location}`, jsonOf(one.statement))
      expect(status, text).toBe(200)
      expect(shownStatement(parseExactly(text) as Answer, one, nameOf)).toEqual(one.expected)
    },
  )
})
