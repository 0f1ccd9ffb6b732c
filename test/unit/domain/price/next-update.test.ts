import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { localFields } from '../../../../services/domain/civil-time.ts'
import { nextUpdate } from '../../../../services/domain/price/price-series.ts'
import { at } from '../../../support/oracle/tables.ts'
import { zoneNames, zoneOf } from '../../../support/oracle/zone.ts'

const berlin = zoneOf('Europe/Berlin')
const iso = (instant: number): string => new Date(instant).toISOString()

describe('the next update of prices', () => {
  it.each([
    ['2025-09-14T10:00:00Z', null, '2025-09-14T21:00:00.000Z'],
    ['2025-09-14T10:00:00Z', '2025-09-14T11:15:00Z', '2025-09-14T11:15:00.000Z'],
    ['2025-09-14T20:59:59Z', '2025-09-15T11:15:00Z', '2025-09-14T21:00:00.000Z'],
    ['2025-09-14T21:00:00Z', null, '2025-09-15T21:00:00.000Z'],
    // The clocks are set back in the night before
    ['2025-10-25T22:30:00Z', null, '2025-10-26T22:00:00.000Z'],
  ])('after %s, published next at %s, is %s', (now, publication, expected) => {
    expect(iso(nextUpdate(berlin, at(now), publication === null ? null : at(publication)))).toBe(expected)
  })

  it('is within little more than a day, when the clock shows 23:00, in every zone', () => {
    const instants = fc.integer({ min: Date.UTC(2001, 0, 1), max: Date.UTC(2034, 0, 1) })
    fc.assert(
      fc.property(fc.constantFrom(...zoneNames), instants, (name, now) => {
        const zone = zoneOf(name)
        const next = nextUpdate(zone, now, null)
        expect(next).toBeGreaterThan(now)
        expect(next - now).toBeLessThanOrEqual(25 * 3_600_000)
        expect(localFields(zone, next).secondOfDay).toBe(23 * 3600)
      }),
      { numRuns: 300 },
    )
  })
})
