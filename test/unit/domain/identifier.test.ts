import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  formatId,
  formatTimeOrderedId,
  type IdKind,
  idByteCount,
  idKindOf,
  idPrefixes,
  isId,
  recordIdentityText,
  registerIdentityText,
} from '../../../services/domain/identifier.ts'

const kinds = Object.keys(idPrefixes) as IdKind[]
const bytes = (count: number) => fc.uint8Array({ minLength: count, maxLength: count })

describe('identifiers', () => {
  it('are a prefix and lower-case hex, and are recognised by both', () => {
    fc.assert(
      fc.property(fc.constantFrom(...kinds), bytes(16), (kind, random) => {
        const id = formatId(kind, random)
        expect(id).toMatch(/^[a-z]{3}_([0-9a-f]{24}|[0-9a-f]{32})$/)
        expect(isId(kind, id)).toBe(true)
        expect(idKindOf(id)).toBe(kind)
        expect([id.toUpperCase(), id.slice(0, -1), `${id}0`, ` ${id}`].map(text => isId(kind, text))).toEqual([
          false,
          false,
          false,
          false,
        ])
      }),
    )
    expect(formatId('meterRecord', new Uint8Array([0, 1, 0xab, 0xff, 4, 5, 6, 7, 8, 9, 10, 11, 99]))).toBe(
      'mre_0001abff0405060708090a0b',
    )
    expect(() => formatId('event', new Uint8Array(11))).toThrow(RangeError)
  })

  it('have prefixes that tell the kinds apart', () => {
    expect(new Set(Object.values(idPrefixes)).size).toBe(kinds.length)
    expect(kinds.filter(kind => idByteCount(kind) === 16)).toEqual(['connectSession'])
  })

  it('ascend with time where an object is stored', () => {
    const instants = fc.integer({ min: 0, max: 2 ** 47 })
    fc.assert(
      fc.property(instants, instants, bytes(6), bytes(6), (a, b, one, other) => {
        const [first, second] = [formatTimeOrderedId('tariff', a, one), formatTimeOrderedId('tariff', b, other)]
        expect(isId('tariff', first)).toBe(true)
        if (a !== b) expect(first < second).toBe(a < b)
      }),
    )
  })
})

describe('the identity of a record', () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('', '-', '1:a', '1:', 'a1:b', '0:'))
  const identities = fc.record({
    accountId: text,
    liveMode: fc.boolean(),
    locationId: text,
    deviceId: fc.option(text),
    energyFlowDirection: fc.constantFrom('INBOUND' as const, 'OUTBOUND' as const),
    tariffDirection: fc.constantFrom('IMPORT' as const, 'EXPORT' as const),
    start: fc.integer({ min: 0, max: 99 }),
    end: fc.integer({ min: 0, max: 99 }),
    sessionReferenceId: fc.option(text),
    recordReferenceId: fc.option(text),
  })

  it('is one text for one identity and another for any other', () => {
    fc.assert(
      fc.property(identities, identities, (a, b) => {
        expect(recordIdentityText(a) === recordIdentityText(b)).toBe(JSON.stringify(a) === JSON.stringify(b))
        expect(recordIdentityText({ ...a })).toBe(recordIdentityText(a))
      }),
      { numRuns: 1000 },
    )
  })

  it('changes with every one of its members', () => {
    fc.assert(
      fc.property(identities, identities, (a, b) => {
        for (const key of Object.keys(a) as (keyof typeof a)[]) {
          expect(recordIdentityText({ ...a, [key]: b[key] }) === recordIdentityText(a)).toBe(a[key] === b[key])
        }
      }),
    )
  })

  it('is never that of a register interval', () => {
    fc.assert(
      fc.property(identities, a => {
        expect(registerIdentityText({ ...a, openedAt: a.start })).not.toBe(recordIdentityText(a))
        expect(registerIdentityText({ ...a, openedAt: 1 })).not.toBe(registerIdentityText({ ...a, openedAt: 2 }))
      }),
    )
  })
})
