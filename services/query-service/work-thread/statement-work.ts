import { createHash } from 'node:crypto'
import { canonicalJson } from '../../contract/json/canonical-json.ts'
import { parseExactJson } from '../../contract/json/exact-json.ts'
import {
  type StatementContent,
  type StatementView,
  type StatementWire,
  statementBatchCsvHeader,
  statementBatchCsvTexts,
  statementCsvTexts,
  statementSummary,
  statementToWire,
} from '../../contract/statements/statement.ts'
import { zoneOffset } from '../../domain/answer-offset.ts'
import type { Charge } from '../../domain/charge/charge.ts'
import type { DayRange } from '../../domain/charge/charge-days.ts'
import type { LocationCalendar } from '../../domain/charge/location-calendar.ts'
import type { Interval } from '../../domain/interval.ts'
import { type PricingCopy, snapshotFromCopy } from '../../domain/price/pricing-copy.ts'
import { accepted, type Refusal, type Result, refused } from '../../domain/refusal.ts'
import type { FinalStatement, LineSum } from '../../domain/statement/adjustments.ts'
import { calculateStatement, type Statement } from '../../domain/statement/calculate-statement.ts'
import type { BilledTariff } from '../../domain/statement/energy-sums.ts'
import type { ExpectedRecords } from '../../domain/statement/statement-gaps.ts'
import { createPricingPool, type PricingPool } from '../../domain/tariff/pricing-pool.ts'
import type { WorkResult } from '../../platform/work-thread/work-messages.ts'
import { encodeTexts } from './answer-bytes.ts'
import {
  billedRowsOf,
  createPageReader,
  meteredEnergyOf,
  type ReadRecords,
  readStoredRecords,
  type StoredRecords,
} from './statement-records.ts'

/** Everything that decides the amounts of a statement, as plain data. */
export type StatementSources = {
  /** `priceInterval`: interval of the prices; it contains each record of the statement completely. */
  readonly records: StoredRecords & { readonly priceInterval: Interval }
  readonly maxRecords: number
  readonly pricing: PricingCopy
  readonly tariffs: readonly BilledTariff[]
  readonly charges: readonly Charge[]
  readonly calendar: LocationCalendar | null
  readonly periods: readonly DayRange[]
  readonly expected: ExpectedRecords | null
  readonly hasDetail: boolean
  readonly finals: readonly FinalStatement[]
  readonly now: number
}

/** LINES: no bytes, the head has the lines. */
type StatementOutput = 'JSON' | 'CSV' | 'LINES'

export type StatementInput = StatementSources & { readonly view: StatementView; readonly output: StatementOutput }

/** Facts about a calculated statement that decide on its answer. */
export type StatementFacts = {
  readonly hash: string
  /** Hash of the same statement as a DRAFT. */
  readonly draftHash: string
  readonly isComplete: boolean
  readonly lines: readonly LineSum[]
  /** JSON members of a FINAL statement without its lines, for its event; empty for a DRAFT. */
  readonly summary: string
}

/** CHANGING: rows changed while they were read. */
export type StatementHead =
  | { readonly state: 'CALCULATED'; readonly facts: StatementFacts }
  | { readonly state: 'REFUSED'; readonly refusal: Refusal }
  | { readonly state: 'CHANGING' }

/** Maximum length of a statement in characters. */
const maxTextLength = 16 * 2 ** 20

const tooLong = refused(
  'too_many_lines',
  `A statement must have at most ${maxTextLength / 2 ** 20} MiB. Ask for fewer days, or without detail`,
).refusal

const hashOf = (content: StatementContent): string | null => {
  const hash = createHash('sha256')
  let length = 0
  for (const text of canonicalJson(content)) {
    length += text.length
    if (length > maxTextLength) return null
    hash.update(text)
  }
  return hash.digest('hex')
}

/** Add up the lines that adjustments compare. */
const sumLines = ({ periods }: Statement): readonly LineSum[] => {
  const sums = new Map<string, LineSum>()
  for (const { kind, component, isTax, amountRounded, reason } of periods.flatMap(({ lines }) => lines)) {
    const statementId = reason?.kind === 'ADJUSTMENT' ? reason.statementId : null
    const key = JSON.stringify([statementId, isTax, component])
    const sum = (sums.get(key)?.amountRounded ?? 0n) + amountRounded
    sums.set(key, { kind, component, isTax, statementId, amountRounded: sum })
  }
  return [...sums.values()]
}

const calculate = (
  input: PageStatement,
  read: ReadRecords,
  pool: PricingPool,
): Result<Statement & Pick<ReadRecords, 'overlap'>> | null => {
  const snapshot = snapshotFromCopy(input.pricing, pool)
  const { records, rows, priceInterval, overlap } = read
  const { maxRecords, view, records: stored } = input
  if (records.length > maxRecords) {
    const message = `The charges of the statement read more than ${maxRecords} records. Ask for fewer days, intervals of 60 minutes, or fewer months before the statement`
    return refused('too_many_records', message)
  }
  if (priceInterval.start < stored.priceInterval.start || priceInterval.end > stored.priceInterval.end) return null
  const metered = meteredEnergyOf(records, stored, snapshot)
  const calculated = calculateStatement({
    ...input,
    metered,
    locationId: stored.locationId,
    rounding: view.rounding,
    pool,
    rows: billedRowsOf(rows, snapshot),
  })
  return calculated.ok ? accepted({ ...calculated.value, overlap }) : calculated
}

/** Write the members of a content as JSON without its braces and without `account_id`. */
function* contentTexts({ account_id: _, ...content }: Pick<StatementContent, 'account_id'>): Generator<string> {
  let separator = ''
  for (const [name, member] of Object.entries(content)) {
    yield `${separator}${JSON.stringify(name)}:${JSON.stringify(member)}`
    separator = ','
  }
}

const factsOf = (statement: Statement, content: StatementContent): StatementFacts | null => {
  const isFinal = content.status === 'FINAL'
  const hash = hashOf(content)
  const draftHash = isFinal ? hashOf({ ...content, status: 'DRAFT' }) : hash
  if (hash === null || draftHash === null) return null
  const summary = isFinal ? [...contentTexts(statementSummary(content))].join('') : ''
  return { hash, draftHash, isComplete: statement.isComplete, lines: sumLines(statement), summary }
}

/** Calculate the content of a statement; null if there is none. */
const writeContent = (
  input: PageStatement,
  read: ReadRecords,
  pool: PricingPool,
): { readonly head: StatementHead; readonly content: StatementContent | null } => {
  const calculated = calculate(input, read, pool)
  if (calculated === null) return { head: { state: 'CHANGING' }, content: null }
  if (!calculated.ok) return { head: { state: 'REFUSED', refusal: calculated.refusal }, content: null }
  const content = statementToWire(input.view, calculated.value, zoneOffset(input.pricing.timeZone))
  const facts = factsOf(calculated.value, content)
  return facts === null
    ? { head: { state: 'REFUSED', refusal: tooLong }, content: null }
    : { head: { state: 'CALCULATED', facts }, content }
}

/** Calculate a statement; the head decides whether its bytes are read. */
export const statementWork = (input: StatementInput): WorkResult => {
  const { head, content } = writeContent(input, readStoredRecords(input.records), createPricingPool())
  const { output } = input
  if (content === null || output === 'LINES') return { head, chunks: [] }
  return { head, chunks: encodeTexts(output === 'CSV' ? statementCsvTexts(content) : contentTexts(content)) }
}

const storedStatement = (text: string): unknown => {
  const read = parseExactJson(text)
  if (!read.ok) throw new TypeError('A stored statement is not JSON.')
  return read.value
}

/** Statement of a page, without its records. */
export type PageStatement = Omit<StatementInput, 'records' | 'output'> & {
  readonly records: Omit<StatementInput['records'], 'blocks'>
}

/** Statements of several locations, in the order of their ids, and their records as blocks of `pageBlocks`. */
export type StatementPageInput = {
  readonly blocks: readonly Uint8Array[]
  readonly statements: readonly (PageStatement & { readonly readFrom: number })[]
}

/** Maximum length of the statements of a page in characters. The statement that exceeds it is the last one. */
const maxPageLength = 8 * 2 ** 20

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/**
 * Calculate the statements of a page, one location at a time. The head has the heads of the first statements, up to
 * `maxPageLength`. One chunk follows for each calculated statement.
 */
export const statementPageWork = ({ blocks, statements }: StatementPageInput): WorkResult => {
  const reader = createPageReader(blocks)
  const pool = createPricingPool()
  const head: StatementHead[] = []
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let length = 0
  for (const { readFrom, ...statement } of statements) {
    if (length > maxPageLength) break
    const read = reader.read({ readFrom, ...statement.records })
    const calculated = writeContent(statement, read, pool)
    head.push(calculated.head)
    if (calculated.content === null) continue
    const bytes = encoder.encode([...contentTexts(calculated.content)].join(''))
    length += bytes.length
    chunks.push(bytes)
  }
  return { head, chunks }
}

/** Write the lines of a stored statement as CSV. `text` is its JSON. */
export const statementTableWork = ({ text }: { readonly text: string }): WorkResult => ({
  head: null,
  chunks: encodeTexts(statementCsvTexts(storedStatement(text) as StatementContent)),
})

function* linesTableTexts(text: string, hasHeader: boolean): Generator<string> {
  if (hasHeader) yield statementBatchCsvHeader
  for (const line of text.split('\n'))
    if (line !== '') yield* statementBatchCsvTexts(storedStatement(line) as StatementWire)
}

/** Write statements, one JSON text in a line, as one table. */
export const statementLinesTableWork = ({
  bytes,
  hasHeader,
}: {
  readonly bytes: Uint8Array
  readonly hasHeader: boolean
}): WorkResult => ({ head: null, chunks: encodeTexts(linesTableTexts(decoder.decode(bytes), hasHeader)) })
