import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exactNumber } from '../../../services/contract/json/exact-number.ts'
import { runToEnd } from '../../../services/domain/run-to-end.ts'
import { integersAsTexts, writeJson } from '../../../services/platform/write-json.ts'

describe('JSON that is written in steps', () => {
  it('is the text that JSON.stringify gives', () => {
    const leaf = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.constant(undefined),
      fc.constant(exactNumber('0.10')),
      fc.date({ noInvalidDate: true }),
    )
    const long = fc.array(leaf, { minLength: 0, maxLength: 400, size: 'max' })
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.oneof(leaf, long, fc.dictionary(fc.string(), long))), value => {
        expect(runToEnd(writeJson(value))).toBe(JSON.stringify(value))
      }),
      { numRuns: 60 },
    )
  })

  it('writes integers as texts', () => {
    expect(runToEnd(writeJson({ a: [1n, { b: -2n }] }, integersAsTexts))).toBe('{"a":["1",{"b":"-2"}]}')
  })

  it('can be interrupted within one long list, at most some hundred values apart', () => {
    const value = { list: Array.from({ length: 10_000 }, (_, at) => ({ at, of: [at] })) }
    let steps = 0
    for (const _ of writeJson(value)) steps += 1
    expect(steps).toBeGreaterThan(100)
  })
})
