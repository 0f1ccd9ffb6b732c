import { describe, expect, it } from 'vitest'
import { tariffTermsOf } from '../../../../services/connect/contract/captured-tariff.ts'
import { prefillOf, tariffStartOf, tariffsToReplace } from '../../../../services/connect/domain/connect-tariff.ts'
import { newConnectState } from '../../../../services/connect/domain/session.ts'
import { timeZone } from '../../../../services/platform/time-zone.ts'
import { acceptedValue } from '../../../support/accepted-value.ts'

const kind = { direction: 'IMPORT', type: 'COMMODITY' } as const
const open = { start: null, end: null }

const scheduleIn = (state: object) => {
  const terms = acceptedValue(tariffTermsOf(kind, { ...newConnectState, ...state }, open))
  return terms.schedule[0]?.daysAndHours[0]?.hours ?? []
}

describe('captured prices', () => {
  it('are kept as they were typed: 24.55 pence is 0.2455', () => {
    expect(scheduleIn({ structure: 'FIXED', cost: '0.2455' })[0]?.rate[0]?.fixed).toBe(245_500_000n)
  })

  it('wrap over midnight: 23:30 to 07:00', () => {
    const hours = [
      { cost: '0.1', valid_from: '23:30:00', valid_to: '07:00:00' },
      { cost: '0.3', valid_from: '07:00:00', valid_to: '23:30:00' },
    ]
    expect(scheduleIn({ structure: 'TIME_OF_DAY', hours })).toMatchObject([
      { validFrom: 84_600, validTo: 25_200, rate: [{ fixed: 100_000_000n }] },
      { validFrom: 25_200, validTo: 84_600, rate: [{ fixed: 300_000_000n }] },
    ])
  })

  it.each([
    ['18.5', 185_000_000_000_000n],
    ['0.0000000000001', 1n],
    ['500', 5_000_000_000_000_000n],
    ['0', 0n],
  ])('take %s percent as a fraction', (percentage, fraction) => {
    const [band] = scheduleIn({ structure: 'MARKET', surcharge: { fixed: '0.02', percentage } })
    expect(band?.rate[0]).toMatchObject({ fixed: 0n, surchargeFixed: 20_000_000n, surchargePercentage: fraction })
  })

  it.each(['FIXED', 'TIME_OF_DAY', 'MARKET'] as const)(
    'fill the pages again when a %s tariff is renewed',
    structure => {
      const state = {
        structure,
        cost: structure === 'FIXED' ? '0.2455' : null,
        hours:
          structure === 'TIME_OF_DAY'
            ? [
                { cost: '0.1', valid_from: '23:30:00', valid_to: '07:00:00' },
                { cost: '0.3', valid_from: '07:00:00', valid_to: '23:30:00' },
              ]
            : null,
        surcharge: structure === 'MARKET' ? { fixed: '0.02', percentage: '18.5' } : null,
      }
      const terms = acceptedValue(tariffTermsOf(kind, { ...newConnectState, ...state }, open))
      expect(prefillOf(terms)).toEqual(state)
    },
  )
})

const zone = timeZone('Europe/London')
const at = Date.UTC(2026, 6, 15, 12)
/** British summer time: the day began at 23:00 UTC. */
const midnight = Date.UTC(2026, 6, 14, 23)

describe('the start of a contract', () => {
  const start = (given: number | null, others: Parameters<typeof tariffStartOf>[1]) => {
    if (zone === null) throw new Error('no such zone')
    return tariffStartOf(given, others, zone, at)
  }

  it('is open towards the past for the first tariff of a kind', () => {
    expect(start(null, [])).toBeNull()
    expect(start(null, [{ contractStart: at + 1, closedAt: null }])).toBeNull()
  })

  it('is local midnight where one was before', () => {
    expect(start(null, [{ contractStart: null, closedAt: null }])).toBe(midnight)
  })

  it('is where the last one was closed on the same day, whose costs stay', () => {
    expect(start(null, [{ contractStart: null, closedAt: at - 1_000 }])).toBe(at - 1_000)
    expect(start(null, [{ contractStart: null, closedAt: midnight - 1 }])).toBe(midnight)
  })

  it('is the given start', () => {
    expect(start(5, [{ contractStart: null, closedAt: null }])).toBe(5)
  })
})

describe('the tariffs that a new tariff replaces', () => {
  const activeTariffs = [{ id: 'trf_old', contractStart: null, contractEnd: null }]

  it('ends where the new one starts', () => {
    expect(tariffsToReplace(activeTariffs, { start: midnight, end: null }, at)).toEqual({
      ok: true,
      value: [{ id: 'trf_old', way: 'closes' }],
    })
    expect(tariffsToReplace(activeTariffs, { start: at + 1, end: null }, at)).toEqual({
      ok: true,
      value: [{ id: 'trf_old', way: 'shortens' }],
    })
  })

  it('is none if no time is shared', () => {
    const past = [{ id: 'trf_old', contractStart: null, contractEnd: midnight }]
    expect(tariffsToReplace(past, { start: midnight, end: null }, at)).toEqual({ ok: true, value: [] })
  })

  it('is refused where the new one has no start', () => {
    expect(tariffsToReplace(activeTariffs, { start: null, end: null }, at)).toMatchObject({
      ok: false,
      refusal: { code: 'tariff_overlap' },
    })
  })
})
