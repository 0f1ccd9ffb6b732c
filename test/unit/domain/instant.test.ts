import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseInstant, readInstant, writeInstant } from '../../../services/domain/instant.ts'

describe('reading an instant', () => {
  it.each([
    ['2026-03-29T01:00:00Z', '2026-03-29T01:00:00.000Z'],
    ['2026-03-29t01:00:00z', '2026-03-29T01:00:00.000Z'],
    ['2026-03-29T03:00:00+02:00', '2026-03-29T01:00:00.000Z'],
    ['2026-01-01T00:00:00-03:30', '2026-01-01T03:30:00.000Z'],
    ['2024-02-29T23:59:59.9999999Z', '2024-02-29T23:59:59.999Z'],
    ['2026-01-01T00:00:00.5Z', '2026-01-01T00:00:00.500Z'],
    ['2026-01-01T00:00:00.05+00:00', '2026-01-01T00:00:00.050Z'],
    ['0000-02-29T00:00:00Z', '0000-02-29T00:00:00.000Z'],
    ['1969-12-31T23:59:59.999-00:00', '1969-12-31T23:59:59.999Z'],
  ])('%s is %s', (text, iso) => {
    expect(parseInstant(text)).toBe(Date.parse(iso))
  })

  it.each([
    '2026-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T23:59:60Z',
    '2026-01-01T23:60:00Z',
    '2026-01-01 00:00:00Z',
    '2026-01-01T00:00:00',
    '2026-01-01T00:00Z',
    '2026-01-01',
    '2026-1-1T00:00:00Z',
    '2026-01-01T00:00:00.Z',
    '2026-01-01T00:00:00,5Z',
    '2026-01-01T00:00:00+0100',
    '2026-01-01T00:00:00+24:00',
    '2026-01-01T00:00:00+01:60',
    '2026-01-01T00:00:00+1:00',
    '2026-01-01T00:00:00Z ',
    ' 2026-01-01T00:00:00Z',
    '+002026-01-01T00:00:00Z',
    '2026-01-01T00:00:00ZZ',
    '２026-01-01T00:00:00Z',
    '1767225600',
    '',
  ])('refuses %s', text => {
    expect(parseInstant(text)).toBeUndefined()
    expect(readInstant(text, 'start_time')).toMatchObject({
      ok: false,
      refusal: { code: 'field_invalid', field: 'start_time' },
    })
  })

  it('keeps the offset it was written in', () => {
    const read = (text: string) => {
      const found = readInstant(text, 'end_time')
      return found.ok ? found.value.offsetMinutes : undefined
    }
    expect(['2026-01-01T00:00:00.123-03:30', '2026-01-01T00:00:00z', '2026-01-01T00:00:00+14:00'].map(read)).toEqual([
      -210, 0, 840,
    ])
  })
})

describe('writing an instant', () => {
  it('shows seconds always and milliseconds only when there are some', () => {
    const at = Date.UTC(2026, 2, 29, 1)
    expect([writeInstant(at), writeInstant(at + 50, 120), writeInstant(at, -210)]).toEqual([
      '2026-03-29T01:00:00Z',
      '2026-03-29T03:00:00.050+02:00',
      '2026-03-28T21:30:00-03:30',
    ])
  })

  it('is undone by reading, at every offset', () => {
    const instants = fc.integer({ min: Date.UTC(1, 0, 1), max: Date.UTC(9998, 11, 31) })
    fc.assert(
      fc.property(instants, fc.integer({ min: -1439, max: 1439 }), (at, offsetMinutes) => {
        const read = readInstant(writeInstant(at, offsetMinutes), 'at')
        expect(read).toEqual({ ok: true, value: { at, offsetMinutes } })
        expect(Date.parse(writeInstant(at))).toBe(at)
      }),
      { numRuns: 1000 },
    )
  })
})
