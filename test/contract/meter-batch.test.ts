import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseSubmission } from '../../services/contract/meter-batch.ts'
import { hasMoreElements } from '../../services/contract/scan-json.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

describe('the elements of a submission', () => {
  it('are counted without parsing as they are by parsing', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { maxLength: 8 }), fc.nat(9), fc.constantFrom(0, 2), (elements, most, indent) => {
        expect(hasMoreElements(bytesOf(JSON.stringify(elements, null, indent)), false, Math.max(most, 1))).toBe(
          elements.length > Math.max(most, 1),
        )
        const lines = elements.map(element => JSON.stringify(element)).join('\n \r\n')
        expect(hasMoreElements(bytesOf(lines), true, most)).toBe(elements.length > most)
      }),
    )
  })

  it('are refused soon where they are millions', () => {
    const small = ['1', '{}', '""', '[[]]']
    for (const mediaType of ['application/json', 'application/x-ndjson'])
      for (const element of small) {
        const isList = mediaType === 'application/json'
        const many = `${element}${isList ? ',' : '\n'}`.repeat(2_000_000)
        const bytes = bytesOf(isList ? `[${many}1]` : many)
        const started = performance.now()
        expect(parseSubmission({ bytes, mediaType })).toMatchObject({ ok: false, refusal: { code: 'too_many_records' } })
        expect(performance.now() - started).toBeLessThan(100)
      }
  })
})
