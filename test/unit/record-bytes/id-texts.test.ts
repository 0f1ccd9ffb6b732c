import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { digitsAt } from '../../../services/record-bytes/digits.ts'
import { idTexts } from '../../../services/record-bytes/record-chunk.ts'

const bytesOf = (digits: string): Buffer => Buffer.from(digits, 'hex')

const id = fc.uint8Array({ minLength: 12, maxLength: 12 })
/** Many ids differ in their highest bytes only, which do not select the cache entry. */
const alikeId = fc.tuple(fc.nat(3), fc.nat(255), fc.nat(1)).map(([high, first, low]) => {
  const bytes = Buffer.alloc(12, low * 255)
  bytes[0] = first
  bytes[3] = high
  return new Uint8Array(bytes)
})

describe('id cache', () => {
  it('returns the prefix and the digits of the bytes, after any previous ids', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(id, alikeId), { minLength: 1 }), ids => {
        const bytes = Buffer.concat(ids)
        const from = { bytes, at: 0 }
        const read = idTexts('loc_')
        for (const one of [...ids, ...ids]) {
          if (from.at === bytes.length) from.at = 0
          expect(read(from)).toBe(`loc_${Buffer.from(one).toString('hex')}`)
        }
        expect(from.at).toBe(bytes.length)
      }),
    )
  })

  it('throws if the message ends within an id, even a cached id', () => {
    const read = idTexts('dev_')
    const digits = '0123456789abcdef01020000'
    expect(read({ bytes: bytesOf(digits), at: 0 })).toBe(`dev_${digits}`)
    const cut = { bytes: bytesOf(digits).subarray(0, 11), at: 0 }
    expect(() => read(cut)).toThrow('The message ends within an id.')
    expect(() => idTexts('dev_')({ bytes: Buffer.alloc(11), at: 0 })).toThrow('The message ends within an id.')
  })

  it('returns the same digits as toString("hex")', () => {
    fc.assert(
      fc.property(id, fc.nat(5), (bytes, before) => {
        expect(digitsAt(Buffer.concat([Buffer.alloc(before, 7), bytes]), before)).toBe(
          Buffer.from(bytes).toString('hex'),
        )
      }),
    )
  })
})
