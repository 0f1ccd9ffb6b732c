import { expect, it } from 'vitest'
import { canonicalJson } from '../../../../services/contract/json/canonical-json.ts'
import { exactNumber } from '../../../../services/contract/json/exact-number.ts'

const textOf = (value: unknown): string => [...canonicalJson(value)].join('')

it('sorts members by UTF-16 code units, as the example of RFC 8785, section 3.2.3', () => {
  const members = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\u{1f600}': 5, '\u0080': 6, '\u00f6': 7 }
  expect(textOf(members)).toBe('{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"\u{1f600}":5,"\ufb33":3}')
})

it('keeps the digits of exact numbers, and leaves out members without a value', () => {
  expect(textOf({ b: exactNumber('0.10'), a: [true, null, 'a "quote"\n'], c: undefined })).toBe(
    '{"a":[true,null,"a \\"quote\\"\\n"],"b":0.10}',
  )
})

it('writes long data in pieces', () => {
  const long = { list: Array.from({ length: 20_000 }, (_, index) => ({ index })) }
  expect([...canonicalJson(long)].length).toBeGreaterThan(5)
  expect(textOf(long)).toBe(JSON.stringify(long))
})
