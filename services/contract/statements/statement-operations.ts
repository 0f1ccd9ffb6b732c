import { z } from 'zod'
import { dayNumber } from '../../domain/civil-date.ts'
import type { Statement } from '../../domain/statement/calculate-statement.ts'
import { acceptedMessage, exampleObject, idText, instantText } from '../answer-field.ts'
import { fields, objectIdentifier, optional, text } from '../field.ts'
import { listing, listParameters } from '../list.ts'
import { currentRoute, defineOperation, deletion, retrieval } from '../operation.ts'
import { locationOnly } from '../reference.ts'
import {
  type StatementWire,
  statementShape,
  statementSummary,
  statementSummaryShape,
  statementToWire,
} from './statement.ts'
import { statementInput } from './statement-request.ts'

const exampleTotals = {
  net: 5_150_000_000n,
  tax: 978_500_000n,
  gross: 6_128_500_000n,
  netRounded: 5_150_000_000n,
  taxRounded: 980_000_000n,
  grossRounded: 6_130_000_000n,
  estimatedEnergy: 0n,
  provisionalEnergy: 0n,
}

const exampleLine = {
  chargeId: null,
  tariffId: null,
  planId: null,
  reason: null,
  prices: null,
  morePrices: 0,
  direction: 'IMPORT',
} as const

const days = { startDay: dayNumber(2026, 5, 1), endDay: dayNumber(2026, 6, 1) }

const exampleStatement: Statement = {
  periods: [
    {
      ...days,
      lines: [
        {
          ...exampleLine,
          kind: 'ENERGY',
          component: 'energy',
          name: 'Energy',
          tariffId: 'trf_0198c0ffee00112233445566',
          quantity: 20_000_000_000n,
          unit: 'kWh',
          unitPrice: 257_500_000n,
          isTax: false,
          amount: 5_150_000_000n,
          amountRounded: 5_150_000_000n,
        },
        {
          ...exampleLine,
          kind: 'PERCENTAGE',
          component: 'tax',
          name: 'VAT',
          chargeId: 'chg_0198c0ffee00112233445566',
          quantity: null,
          unit: null,
          unitPrice: null,
          isTax: true,
          reason: { kind: 'PERCENTAGE', rate: 190_000_000_000_000n, base: 5_150_000_000n, leftOut: [] },
          amount: 978_500_000n,
          amountRounded: 980_000_000n,
        },
      ],
      totals: exampleTotals,
    },
  ],
  totals: exampleTotals,
  memo: [],
  gaps: [],
  moreGaps: 0,
  isComplete: true,
  confidence: 10_000,
}

const { id, createdAt: _, ...owner } = exampleObject('stm')

const example: StatementWire = {
  id,
  ...statementToWire(
    {
      ...owner,
      ...days,
      locationId: 'loc_0198c0ffee00112233445566',
      timezone: 'Europe/Berlin',
      currencyCode: 'EUR',
      rounding: { profile: 'LARGEST_REMAINDER', decimals: 2 },
      status: 'DRAFT',
    },
    { ...exampleStatement, overlap: null },
    () => 120,
  ),
  revision: 1,
  hash: '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae',
  time_created: '2026-06-01T10:00:00Z',
}

const tag = 'Statements'
const answer = { name: 'Statement', shape: statementShape }

export const statementCreate = defineOperation({
  id: 'statement_create',
  unaudited: 'Only calculates.',
  summary: 'Calculate a statement',
  description:
    'Returns the bill of a location for some local days: a line for each component of energy and for each charge, with taxes and rounded totals. Only the request is stored, for 90 days. The same request has the same id. Late and corrected records change the next answer.',
  tag,
  access: 'read',
  routes: currentRoute('POST', '/statements/{id}'),
  references: { id: locationOnly },
  body: statementInput,
  answer,
  status: 200,
  csv: true,
  refusals: [
    'location_required',
    'end_before_start',
    'interval_too_long',
    'periods_not_contiguous',
    'too_many_lines',
    'too_many_records',
  ],
  examples: {
    body: { start_date: '2026-05-01', end_date: '2026-06-01', rounding: { profile: 'LARGEST_REMAINDER' } },
    answer: example,
  },
})

export const statementRetrieve = defineOperation({
  id: 'statement_retrieve',
  summary: 'Retrieve a statement',
  description: 'Calculates the statement of a stored request again. A FINAL statement is returned as it was.',
  tag,
  ...retrieval(answer, example),
  routes: currentRoute('GET', '/statements/{id}'),
  csv: true,
  refusals: ['too_many_lines', 'too_many_records'],
})

/** `url` of the list. */
export const statementListUrl = '/statements'

const finalStatementShape = statementSummaryShape.extend({
  adjusts: z.array(idText('stm')).describe('Earlier FINAL statements that lines of this statement adjust.'),
  time_finalised: instantText,
})

export type FinalStatementWire = z.output<typeof finalStatementShape>

const listedExample: FinalStatementWire = {
  ...example,
  ...statementSummary(example),
  status: 'FINAL',
  adjusts: [],
  time_finalised: '2026-06-02T08:00:00Z',
}

export const statementList = defineOperation({
  id: 'statement_list',
  summary: 'List FINAL statements',
  description:
    'Returns FINAL statements without their lines, by falling start date, of one location or of all locations. Statements of deleted locations are included. A voided statement is left out.',
  tag,
  ...listing('FinalStatement', finalStatementShape, statementListUrl, listedExample),
  routes: currentRoute('GET', statementListUrl),
  references: { query: { location_id: locationOnly } },
  query: listParameters({
    location_id: objectIdentifier('loc').optional().describe('Only the statements of this location.'),
  }),
  refusals: ['location_not_found', 'cursor_not_found'],
})

const finaliseInput = fields({
  hash: optional(text()).describe('Hash of the statement that you have seen. A different statement is refused.'),
  allow_incomplete: optional(z.boolean()).describe('True accepts a statement with gaps. Default: false.'),
})

export const statementFinalise = defineOperation({
  id: 'statement_finalise',
  summary: 'Finalise a statement',
  description:
    'Makes a statement FINAL. The answer then does not change until the statement is voided. If late or corrected data changes it, the next statement has a line that adjusts it. Waits up to 5 s for records that were acknowledged before.',
  tag,
  access: 'all',
  routes: currentRoute('POST', '/statements/{id}/finalise'),
  body: finaliseInput,
  bodyOptional: true,
  answer,
  status: 200,
  idempotent: true,
  refusals: ['statement_changed', 'statement_overlap', 'statement_incomplete', 'too_many_lines', 'too_many_records'],
  examples: { body: { allow_incomplete: true }, answer: { ...example, status: 'FINAL', revision: 2 } },
})

export const statementVoid = defineOperation({
  id: 'statement_void',
  summary: 'Void a statement',
  description:
    'Makes a FINAL statement a DRAFT again. A statement that a later FINAL statement adjusts is refused. The request of a DRAFT is deleted.',
  tag,
  ...deletion,
  answer: { name: 'Accepted', shape: acceptedMessage },
  routes: currentRoute('DELETE', '/statements/{id}'),
  refusals: ['statement_adjusted'],
})
