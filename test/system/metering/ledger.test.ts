import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { audit, faultsOf, type Verdict } from '../../support/ledger/audit.ts'
import { decimal, units } from '../../support/ledger/exact-decimal.ts'
import { type JournalEntry, readJournal } from '../../support/ledger/journal.ts'
import { openLedger } from '../../support/ledger/ledger.ts'
import { seededRandom } from '../../support/random.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import type { Client } from '../../support/system/client.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
const file = join(makeTestFolder(), 'ledger.ndjson')
let client: Client
let journal: readonly JournalEntry[] = []

beforeAll(async () => {
  client = await system.login()
  await using ledger = await openLedger({
    file,
    random: seededRandom(5),
    target: () => client,
    locations: 2,
    maxRecords: 20,
    maxTotalRecords: 150,
  })
  const enough = new AbortController()
  const load = ledger.run(2, enough.signal)
  while (readJournal(file).filter(({ kind }) => kind === 'answered').length < 25)
    await new Promise(resolve => setTimeout(resolve, 50))
  enough.abort()
  await load
  journal = readJournal(file)
})

/** Audit the same service against a journal with other contents. */
const auditOf = async (changed: readonly JournalEntry[]): Promise<Verdict['faults']> => {
  const other = `${file}.changed`
  writeFileSync(other, changed.map(entry => `${JSON.stringify(entry)}\n`).join(''))
  return (await audit(other, client)).faults
}

type Submission = Extract<JournalEntry, { kind: 'submission' }>

/** Return the first submission with records of which none was sent again or corrected later. */
const firstSubmission = (): Submission => {
  const submissions = journal.filter(entry => entry.kind === 'submission')
  const references = (one: Submission) =>
    one.records.filter(({ isValid }) => isValid).map(({ recordReferenceId }) => recordReferenceId)
  const found = submissions.find(one => {
    const own = references(one)
    return (
      own.length > 1 &&
      !submissions.some(other => other !== one && references(other).some(reference => own.includes(reference)))
    )
  })
  if (found === undefined) throw new Error('every submission was sent again')
  return found
}

const replaced = (from: JournalEntry, to: readonly JournalEntry[]): readonly JournalEntry[] =>
  journal.flatMap(entry => (entry === from ? to : [entry]))

describe('the ledger', () => {
  it('finds no fault with a correct service', async () => {
    const verdict = await audit(file, client)
    expect(faultsOf(verdict)).toEqual([])
    expect(verdict.seen.records).toBeGreaterThan(20)
    expect(verdict.seen.receipts).toBeGreaterThan(20)
  })

  it('finds an accepted record that is not stored, and its expected cost', async () => {
    const submission = firstSubmission()
    const [record] = submission.records
    const extra = {
      ...submission,
      operation: 1_000_000,
      records: [{ ...record, recordReferenceId: 'never sent', isValid: true }],
    }
    const answer = {
      kind: 'answered',
      operation: 1_000_000,
      attempt: 0,
      outcome: 'ok',
      status: 200,
      receipt: null,
    } as const
    const faults = await auditOf([
      ...journal,
      extra as Submission,
      { kind: 'sent', operation: 1_000_000, attempt: 0 },
      answer,
    ])
    expect(faults).toMatchObject({ lost: [expect.stringContaining('never sent')], wrong: [], unexpected: [] })
  })

  it('finds stored records that were not sent', async () => {
    const submission = firstSubmission()
    const faults = await auditOf(replaced(submission, []))
    expect(faults.unexpected.length).toBeGreaterThan(0)
    expect(faults.totals.length).toBeGreaterThan(0)
  })

  it('finds an energy with a wrong last digit', async () => {
    const submission = firstSubmission()
    const records = submission.records.map(record => ({ ...record, value: decimal(units(record.value, 6) + 1n, 6) }))
    const faults = await auditOf(replaced(submission, [{ ...submission, records }]))
    expect(faults.wrong.length).toBeGreaterThan(0)
  })

  it('finds a price with a wrong last digit', async () => {
    const location = journal.find(entry => entry.kind === 'location')
    if (location === undefined) throw new Error('the journal has no location')
    const bands = location.bands.map(band => ({ ...band, price: decimal(units(band.price, 9) + 1n, 9) }))
    const faults = await auditOf(replaced(location, [{ ...location, bands }]))
    expect(faults.wrong.length).toBeGreaterThan(0)
  })

  it('finds a receipt with other contents, and an unknown receipt', async () => {
    const answer = journal.find(entry => entry.kind === 'answered' && entry.receipt !== null)
    if (answer?.kind !== 'answered' || answer.receipt === null) throw new Error('the journal has no receipt')
    const unknown = { ...answer, receipt: { ...answer.receipt, batchId: `bat_${'0'.repeat(24)}` } }
    expect((await auditOf(replaced(answer, [unknown]))).receipts).toHaveLength(1)
    const more = { ...answer, receipt: { ...answer.receipt, recordsSubmitted: answer.receipt.recordsSubmitted + 1 } }
    const faults = await auditOf(replaced(answer, [more]))
    expect(faults).toMatchObject({ receipts: [expect.any(String)], contradictions: [expect.any(String)] })
  })
})
