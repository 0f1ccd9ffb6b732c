import fc from 'fast-check'
import { describe, expect, it, test as property } from 'vitest'
import { parseExactJson, parseExactJsonInTurns } from '../../../../services/contract/json/exact-json.ts'
import {
  exactNumber,
  isExactNumber,
  isJsonNumber,
  numberText,
  scaledNumber,
} from '../../../../services/contract/json/exact-number.ts'
import { parseJson, parseJsonInTurns } from '../../../../services/contract/json/strict-json.ts'
import { noPause } from '../../../support/metering/parse-submission.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const parse = (text: string) => parseJson(bytesOf(text))
/** Value of a number text as a fraction digits / 10^decimals. This oracle shares no code with the parser. */
const fraction = (text: string): readonly [bigint, number] => {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e')
  const [whole = '', behind = ''] = mantissa.split('.')
  return [BigInt(whole + behind === '-' ? '0' : `${whole}${behind}`), behind.length - Number(exponent)]
}
const sameValue = (a: string, b: string): boolean => {
  const [[m, s], [n, t]] = [fraction(a), fraction(b)]
  const scale = Math.max(s, t)
  return m * 10n ** BigInt(scale - s) === n * 10n ** BigInt(scale - t)
}

const digits = fc.stringMatching(/^[0-9]{1,25}$/)
const numberTexts = fc
  .tuple(
    fc.boolean(),
    fc.oneof(fc.constant('0'), fc.stringMatching(/^[1-9][0-9]{0,25}$/)),
    fc.option(digits),
    fc.option(fc.integer({ min: -330, max: 330 })),
  )
  .map(
    ([isNegative, whole, behind, exponent]) =>
      `${isNegative ? '-' : ''}${whole}${behind === null ? '' : `.${behind}`}${exponent === null ? '' : `e${exponent}`}`,
  )

const space = fc.constantFrom('', '', '', ' ', '\n', '\t ', '\r\n')
const strings = fc.oneof(
  fc.constantFrom(
    '"a"',
    '"b"',
    '""',
    '"a:b,{"',
    '"1e9"',
    '"é€😀"',
    '"\\u0041"',
    '"\\ud83d\\ude00"',
    '"\\\\"',
    '"\\""',
    '"\\n"',
    '"constructor"',
  ),
  fc.string().map(text => JSON.stringify(text)),
)
const names = fc.constantFrom('"a"', '"b"', '"c"', '"d e"', '"__proto__"', '"toString"', '"\\u0061"')
/** Unusual JSON texts: extra spaces, duplicate names, long numbers, invalid escapes. */
const documents = fc.letrec(tie => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom('true', 'false', 'null'),
    numberTexts,
    strings,
    tie('array'),
    tie('object'),
  ),
  array: fc
    .array(
      fc.tuple(space, tie('value'), space).map(parts => parts.join('')),
      { maxLength: 4 },
    )
    .map(parts => `[${parts.join(',')}]`),
  object: fc
    .array(
      fc
        .tuple(space, names, space, space, tie('value'), space)
        .map(([a, name, b, c, value, d]) => `${a}${name}${b}:${c}${value}${d}`),
      { maxLength: 4 },
    )
    .map(parts => `{${parts.join(',')}}`),
})).value as fc.Arbitrary<string>

describe('a body', () => {
  property('of an ordinary document reads as JSON.parse reads it', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), value => {
        const text = JSON.stringify(value)
        fc.pre(
          !text.includes('__proto__') && !text.includes('\\u0000') && text.isWellFormed() && !/\\ud[89a-f]/.test(text),
        )
        expect(parse(text)).toEqual({ ok: true, value: JSON.parse(text) })
      }),
    )
  })

  property('reads alike on the quick way and member by member', () => {
    fc.assert(
      fc.property(documents, text => {
        const careful = parseExactJson(text)
        expect(parse(text)).toEqual(careful)
      }),
      { numRuns: 2_000 },
    )
  })

  property('reads alike at once and in turns', async () => {
    const broken = fc.tuple(documents, fc.nat(), fc.constantFrom('', ',', '"', '{', ']'))
    await fc.assert(
      fc.asyncProperty(broken, async ([text, index, mark]) => {
        const at = index % (text.length + 1)
        for (const one of [text, `${text.slice(0, at)}${mark}${text.slice(at + 1)}`])
          expect(await parseExactJsonInTurns(one, noPause)).toEqual(parseExactJson(one))
      }),
      { numRuns: 1_000 },
    )
  })

  it.each([
    ['a list', (element: string, count: number) => `[${Array.from({ length: count }, () => element).join(',')}]`],
    [
      'a member with a list',
      (element: string, count: number) => `{"a":1,"data":[${Array.from({ length: count }, () => element).join(',')}]}`,
    ],
  ])('of several MiB is read in turns: %s', async (_, write) => {
    const element = `{"time":12345678901234567890,"text":"${'x'.repeat(300)}"}`
    const text = write(element, 10_000)
    let turns = 0
    const parsed = await parseJsonInTurns(bytesOf(text), () => {
      turns += 1
      return Promise.resolve()
    })
    expect(parsed).toEqual(parse(text))
    expect(turns).toBeGreaterThan(text.length / 300_000)
  })

  property('that JSON.parse refuses is refused, with a damaged character at any position', () => {
    fc.assert(
      fc.property(
        documents,
        fc.nat(),
        fc.constantFrom('', ',', '"', '{', ']', '\\', '0', '-', 'e', ' ', '\u0001'),
        (text, index, mark) => {
          const at = index % (text.length + 1)
          const broken = `${text.slice(0, at)}${mark}${text.slice(at + 1)}`
          const isJson = (() => {
            try {
              JSON.parse(broken)
              return true
            } catch {
              return false
            }
          })()
          const parsed = parse(broken)
          if (!isJson) expect(parsed.ok).toBe(false)
          if (!parsed.ok) expect(parsed.refusal.code).toBe('body_invalid')
        },
      ),
      { numRuns: 2_000 },
    )
  })

  property('keeps the value of every number', () => {
    fc.assert(
      fc.property(numberTexts, written => {
        const parsed = parse(`{"value":${written}}`)
        const value = parsed.ok ? (parsed.value as { value: unknown }).value : undefined
        expect(isJsonNumber(value) && sameValue(numberText(value), written)).toBe(true)
      }),
      { numRuns: 2_000 },
    )
  })

  it.each([
    ['0.1', 0.1],
    ['123456789012345', 123456789012345],
    ['0.30000000000000004', 0.30000000000000004],
    ['1.50', 1.5],
    ['1e-5', 0.00001],
  ])('reads %s as a double', (written, value) => {
    expect(parse(`[${written}]`)).toEqual({ ok: true, value: [value] })
  })

  it.each(['0.1234567890123456789', '9007199254740993', '1e400', '-1e-400', '10000000000000000000000.5'])(
    'carries %s as its text',
    written => {
      const parsed = parse(`[${written}]`)
      const [value] = parsed.ok ? (parsed.value as unknown[]) : []
      expect(isExactNumber(value) && numberText(value)).toBe(written)
    },
  )

  it.each([
    ['{"a":1,"a":2}', 'The body has the member "a" twice in one object (line 1, column 8).'],
    ['{"a":1,\n "\\u0061":2}', 'The body has the member "a" twice in one object (line 2, column 2).'],
    ['{"a" :1, "a"\t:2}', 'The body has the member "a" twice in one object (line 1, column 10).'],
    [
      '["\\ud800"]',
      'The body contains an invalid Unicode character; send both halves of each surrogate pair (line 1, column 2).',
    ],
    [
      '["\\udc00\\ud800"]',
      'The body contains an invalid Unicode character; send both halves of each surrogate pair (line 1, column 2).',
    ],
    ['["a\\u0000"]', 'The body has the character NUL in a string; leave it out (line 1, column 2).'],
    ['["a\u0000"]', 'The body has a bare control character in a string; escape it (line 1, column 4).'],
    ['{"__proto__":1}', 'The body has a member "__proto__"; leave it out (line 1, column 2).'],
    ['[1,]', 'The body has "]" where a value should be (line 1, column 4).'],
    ['[01]', 'The body has "1" where "," or "]" should be (line 1, column 3).'],
    ['{"a":1', 'The body has the end where "," or "}" should be (line 1, column 7).'],
    ['{a:1}', 'The body has "a" where a member name in quotes should be (line 1, column 2).'],
    ['NaN', 'The body has "N" where a value should be (line 1, column 1).'],
    ['[1] x', 'The body has "x" where the end should be (line 1, column 5).'],
    ['', 'The body is empty; send a JSON value'],
  ])('%j is refused with line and column', (text, message) => {
    expect(parse(text)).toEqual({ ok: false, refusal: { code: 'body_invalid', message } })
  })

  it('can have 32 levels, and no more, with both parsers', () => {
    const nested = (levels: number, inner: string) => `${'['.repeat(levels)}${inner}${']'.repeat(levels)}`
    for (const inner of ['1', '"\\n"']) {
      expect(parse(nested(32, inner)).ok).toBe(true)
      expect(parse(nested(33, inner)).ok).toBe(false)
    }
    expect(parse('['.repeat(500_000)).ok).toBe(false)
  })

  it('can have 150,000 values; more are refused before parsing', () => {
    const lists = (count: number) =>
      bytesOf(`[${`[${'1,'.repeat(14_998)}1],`.repeat(count - 1)}[${'1,'.repeat(14_998)}1]]`)
    expect(parseJson(lists(10)).ok).toBe(true)
    expect(parseJson(bytesOf(`[${`[${'1,'.repeat(14_998)}1],`.repeat(10)}[1`))).toMatchObject({
      refusal: { code: 'body_invalid', message: 'The body has too many values; send fewer members and entries' },
    })
  })

  it.each([
    [
      '20,000 entries in a list',
      (count: number) => `[${'1,'.repeat(count - 1)}1]`,
      20_000,
      'of more than 20,000 entries',
    ],
    [
      '100 members in an object',
      (count: number) => `[{${Array.from({ length: count }, (_, at) => `"m${at}":{}`).join(',')}}]`,
      100,
      'of more than 100 members',
    ],
    ['32 levels', (count: number) => '['.repeat(count) + ']'.repeat(count), 32, 'deeper than 32 levels'],
  ] as const)('holds %s at most', (_, write, maxAccepted, message) => {
    expect(parse(write(maxAccepted)).ok).toBe(true)
    expect(parse(write(maxAccepted + 1))).toMatchObject({
      refusal: { code: 'body_invalid', message: expect.stringContaining(message) },
    })
  })

  it('must be UTF-8; a byte order mark is skipped', () => {
    expect(parseJson(Uint8Array.of(0x22, 0xc3, 0x28, 0x22)).ok).toBe(false)
    expect(parseJson(Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22)).ok).toBe(false)
    expect(parseJson(Uint8Array.of(0xef, 0xbb, 0xbf, 0x31))).toEqual({ ok: true, value: 1 })
  })
})

describe('an exact number', () => {
  it('keeps its text', () => {
    expect(
      JSON.stringify({
        a: exactNumber('9007199254740993.10'),
        b: scaledNumber(-1_500_000_001n, 9),
        c: scaledNumber(2_000_000n, 6),
      }),
    ).toBe('{"a":9007199254740993.10,"b":-1.500000001,"c":2}')
  })
})
