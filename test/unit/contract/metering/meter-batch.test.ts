import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { meterBatchToWire } from '../../../../services/contract/metering/meter-batch.ts'
import { type SubmissionLimits, splitSubmission } from '../../../../services/contract/metering/read-submission.ts'
import { noPause, parseSubmission } from '../../../support/metering/parse-submission.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const surplusOf = async (bytes: Uint8Array, inLines: boolean, maxElements: SubmissionLimits) =>
  (await splitSubmission(bytes, inLines, maxElements, noPause)).excess
const any = { elements: 100, valuesPerElement: 0, excessValues: 1_000_000 }

/** Number of objects, lists and commas of a value, counted by parsing. */
const valuesOf = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0
  const members = Object.values(value)
  return 1 + Math.max(0, members.length - 1) + members.reduce((sum: number, member) => sum + valuesOf(member), 0)
}

describe('the text of a failed record', () => {
  const textOf = (error: string) => {
    const batch = {
      id: 'bat_1',
      accountId: 'acc_1',
      liveMode: false,
      recordsSubmitted: 1,
      recordsAccepted: 0,
      recordsProcessed: 0,
      recordsReplaced: 0,
      createdAt: 0,
      warnings: [],
    }
    return meterBatchToWire({ ...batch, failed: [{ recordNumber: 1, recordReferenceId: null, error }] })
      .failed_records[0]?.error
  }

  it.each([
    ['value must be a number', 'value must be a number.'],
    ['"valeu" is not known here; did you mean value?', '"valeu" is not known here; did you mean value?'],
    ['erased', 'The record was erased.'],
  ])('is a sentence: %s', (clause, text) => expect(textOf(clause)).toBe(text))

  it.each(['end_time must not be before start_time', 'duplicate of record 12'])(
    'stays equal to the published text: %s',
    text => expect(textOf(text)).toBe(text),
  )
})

describe('the size of a submission', () => {
  it('is the same without parsing as by parsing', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.jsonValue(), { maxLength: 8 }),
        fc.nat(9),
        fc.constantFrom(0, 2),
        async (elements, maxElements, indent) => {
          const list = bytesOf(JSON.stringify(elements, null, indent))
          const lines = bytesOf(elements.map(element => JSON.stringify(element)).join('\n \r\n'))
          expect(await surplusOf(list, false, { ...any, elements: maxElements })).toBe(
            elements.length > maxElements ? 'elements' : null,
          )
          expect(await surplusOf(lines, true, { ...any, elements: maxElements })).toBe(
            elements.length > maxElements ? 'elements' : null,
          )
          const values = elements.reduce((sum: number, element) => sum + valuesOf(element), 0)
          expect(await surplusOf(lines, true, { ...any, excessValues: values })).toBeNull()
          if (values > 0) expect(await surplusOf(lines, true, { ...any, excessValues: values - 1 })).toBe('values')
        },
      ),
    )
  })

  // These bodies end with invalid JSON. A parser would report this fault instead.
  it.each(['1', '{}', '""', '[[]]'])('is refused before parsing if %s occurs two million times', async element => {
    for (const [mediaType, bytes] of [
      ['application/json', bytesOf(`[${`${element},`.repeat(2_000_000)}`)],
      ['application/x-ndjson', bytesOf(`${`${element}\n`.repeat(2_000_000)}[`)],
    ] as const)
      expect(await parseSubmission({ bytes, mediaType })).toMatchObject({
        ok: false,
        refusal: { code: 'too_many_records' },
      })
  })

  it.each([
    ['members', '{"a":1', ',"b":2'],
    ['lists', '[[]', ',[]'],
    ['numbers', '[1e-7', ',1e-7'],
    ['levels', '[', '['],
  ])('is refused before parsing if one element has a million %s', async (_, first, next) => {
    for (const mediaType of ['application/json', 'application/x-ndjson']) {
      const bytes = bytesOf(`${mediaType === 'application/json' ? '[' : ''}${first}${next.repeat(1_000_000)}`)
      const refusal = { code: 'body_invalid', message: expect.stringContaining('far more members') }
      expect(await parseSubmission({ bytes, mediaType })).toMatchObject({ ok: false, refusal })
    }
  })

  it('can have 20,000 excess values, which make only their own records invalid', async () => {
    const many = (count: number) =>
      bytesOf(`[{"a":[${'1,'.repeat(count)}1]},${`{"b":"${'x'.repeat(20)}"},`.repeat(9_999).slice(0, -1)}]`)
    const taken = await parseSubmission({ bytes: many(20_013), mediaType: 'application/json' })
    expect(taken.ok && [taken.value.elements.length, [...taken.value.oversized]]).toEqual([10_000, [0]])
    expect((await parseSubmission({ bytes: many(20_014), mediaType: 'application/json' })).ok).toBe(false)
  })
})
