import { expect, it } from 'vitest'
import { dayNumber } from '../../../../services/domain/civil-date.ts'
import { startOfDayNumber } from '../../../../services/domain/civil-time.ts'
import { copyPricing } from '../../../../services/domain/price/pricing-copy.ts'
import { createPricingPool } from '../../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../../services/domain/tariff/snapshot.ts'
import {
  type StatementHead,
  type StatementInput,
  statementTableWork,
  statementWork,
} from '../../../../services/query-service/work-thread/statement-work.ts'
import { zoneOf } from '../../../support/oracle/zone.ts'
import { coveredText, hashOfStatement } from '../../../support/statements/statement-hash.ts'

const timeZone = zoneOf('Europe/Berlin')
const days = { startDay: dayNumber(2026, 5, 1), endDay: dayNumber(2026, 5, 3) }
const span = { start: startOfDayNumber(timeZone, days.startDay), end: startOfDayNumber(timeZone, days.endDay) }
const snapshot = compileSnapshot(
  {
    locationId: 'loc_1',
    currencyCode: 'EUR',
    timeZone,
    tariffs: [],
    calendar: null,
    importMarket: null,
    exportMarket: null,
  },
  createPricingPool(),
)

/** Statement without records, with one fixed charge of 1.25 a day. */
const inputOf = (more: Partial<StatementInput> = {}): StatementInput => ({
  records: {
    locationId: 'loc_1',
    span,
    priceInterval: span,
    blocks: [],
    includesDevices: { IMPORT: true, EXPORT: true, LOCAL: true, SUPPLIED: true },
  },
  maxRecords: 0,
  tariffs: [],
  calendar: null,
  periods: [days],
  expected: null,
  hasDetail: false,
  finals: [],
  pricing: copyPricing(snapshot, ['IMPORT', 'EXPORT', 'LOCAL'], span),
  charges: [
    {
      kind: 'FIXED',
      id: 'chg_1',
      planId: null,
      name: 'Fee',
      component: 'fixed',
      startDay: null,
      endDay: null,
      sequence: 0,
      price: 1_250_000_000n,
      per: 'DAY',
      quantity: 1_000_000_000n,
      unit: null,
      prorate: 'DAYS',
    },
  ],
  now: span.end,
  view: {
    ...days,
    liveMode: false,
    accountId: 'acc_1',
    locationId: 'loc_1',
    timezone: 'Europe/Berlin',
    currencyCode: 'EUR',
    rounding: { profile: 'EXACT', decimals: 2 },
    status: 'DRAFT',
  },
  output: 'JSON',
  ...more,
})

const run = (input: StatementInput) => {
  const { head, chunks } = statementWork(input)
  return { head: head as StatementHead, text: Buffer.concat([...chunks]).toString() }
}

it('a statement is written without account, with the hash of the whole and the sums of its lines', () => {
  const { head, text } = run(inputOf())
  if (head.state !== 'CALCULATED') throw new Error(head.state)
  expect(head.facts.hash).toBe(hashOfStatement(`{${text},"account_id":"acc_1"}`))
  expect(head.facts.hash).toBe(head.facts.draftHash)
  expect(head.facts.lines).toEqual([
    { kind: 'FIXED', component: 'fixed', isTax: false, statementId: null, amountRounded: 2_500_000_000n },
  ])
  expect(head.facts.isComplete).toBe(false)
})

it('a FINAL statement has a hash of its own, and a summary without lines', () => {
  const { view } = inputOf()
  const draft = run(inputOf()).head
  const { head, text } = run(inputOf({ view: { ...view, status: 'FINAL' } }))
  if (head.state !== 'CALCULATED' || draft.state !== 'CALCULATED') throw new Error(head.state)
  expect(head.facts.draftHash).toBe(draft.facts.hash)
  expect(head.facts.hash).toBe(hashOfStatement(`{${text},"account_id":"acc_1"}`))
  const { periods } = JSON.parse(`{${head.facts.summary}}`) as { periods: readonly object[] }
  expect(periods.map(period => Object.keys(period))).toEqual([['start_date', 'end_date', 'totals']])
})

it('the lines of a FINAL statement are read without an answer, and its table from its stored answer', () => {
  expect(run(inputOf({ output: 'LINES' })).text).toBe('')
  const { text } = run(inputOf({ output: 'CSV' }))
  const { chunks } = statementTableWork({ text: `{${run(inputOf()).text}}` })
  expect(Buffer.concat([...chunks]).toString()).toBe(text)
})

it('more records than allowed are refused with advice', () => {
  const message =
    'The charges of the statement read more than -1 records. Ask for fewer days, intervals of 60 minutes, or fewer months before the statement'
  expect(run(inputOf({ maxRecords: 0 })).head.state).toBe('CALCULATED')
  expect(run(inputOf({ maxRecords: -1 }))).toEqual({
    head: { state: 'REFUSED', refusal: { code: 'too_many_records', message } },
    text: '',
  })
})

it('an answer above 16 MiB is refused with advice', () => {
  const [fee] = inputOf().charges
  if (fee === undefined) throw new Error('no charge')
  /** Length of the covered members in characters, if the name of the charge has `length` characters. */
  const named = (length: number) => run(inputOf({ charges: [{ ...fee, name: 'n'.repeat(length) }] }))
  const other = coveredText(`{${named(1).text},"account_id":"acc_1"}`).length - 1
  const fitting = named(16 * 2 ** 20 - other)
  expect(fitting.head.state).toBe('CALCULATED')
  const message = 'A statement must have at most 16 MiB. Ask for fewer days, or without detail'
  expect(named(16 * 2 ** 20 - other + 1)).toEqual({
    head: { state: 'REFUSED', refusal: { code: 'too_many_lines', message } },
    text: '',
  })
})
