import { describe, expect, it } from 'vitest'
import type { PlannedDevice } from '../../../../services/domain/schedule/amount-request.ts'
import { money, plan, planned } from './plan.ts'
import { hourMs, siteHours, siteStart } from './site.ts'
import { cents, device, hours, shown, site, watts } from './small-site.ts'

describe('a plan', () => {
  it('runs in the cheapest hours, the last of them in part', () => {
    // 2 kWh at 0.10, 1 kWh at 0.20; at once it would be 2 × 0.30 + 1 × 0.10
    const one = planned(site({ devices: [device('a', 2000, [0, 4], 3000)] }))
    expect(
      one.devices[0]?.pieces.map(({ start, end, power }) => [
        (start - siteStart) / hourMs,
        (end - siteStart) / hourMs,
        power,
      ]),
    ).toEqual([[1, 2.5, watts(2000)]])
    expect([money(one.cost), money(one.baseline)]).toEqual([0.4, 0.7])
  })

  it('runs at full power in a part of an hour, next to the hour before or after', () => {
    const half = device('a', 2000, [0, 4], 3000)
    expect(shown(site({ devices: [half], imports: hours(20, 10, 40) }))).toEqual([['a', [0.5, 2, 2000]]])
    expect(shown(site({ devices: [{ ...half, energy: watts(500) }] }))).toEqual([['a', [1, 1.25, 2000]]])
    // A kWh at 3,700 W lasts 972,972.97… ms: a whole second ends it, and the power holds just that energy: 1000 × 3600 / 973
    const [[, piece] = []] = shown(site({ devices: [device('a', 3700, [0, 4], 1000)] }))
    expect(piece).toEqual([1, 1 + 973_000 / hourMs, 3699.897225])
  })

  it('runs side by side as fast as the cap lets it where full power is too much', () => {
    const devices = [device('a', 2000, [1, 2], 1000), device('b', 2000, [1, 2], 500)]
    expect(shown(site({ devices, sitePower: watts(3000) }))).toEqual([
      ['a', [1, 1.5, 2000]],
      ['b', [1, 1.5, 1000]],
    ])
    expect(shown(site({ devices: [device('a', 2000, [1, 2], 500)], sitePower: watts(1000) }))).toEqual([
      ['a', [1, 1.5, 1000]],
    ])
  })

  it('gives way where another device has no choice', () => {
    const devices = [device('free', 2000, [0, 4], 2000), device('bound', 2000, [1, 2], 2000)]
    expect(shown(site({ devices, sitePower: watts(2000) }))).toEqual([
      ['free', [2, 3, 2000]],
      ['bound', [1, 2, 2000]],
    ])
  })

  it('runs on where others can have the rest as well', () => {
    // All three hours are needed at any price: a has two of them, not necessarily the cheap ones
    const devices = [device('a', 1000, [0, 3], 2000), device('b', 1000, [1, 3], 1000)]
    expect(shown(site({ devices, sitePower: watts(1000), imports: hours(10, 20, 10) }))).toEqual([
      ['a', [0, 2, 1000]],
      ['b', [2, 3, 1000]],
    ])
  })

  it('joins hours of one power, and keeps full power exact in hours that do not divide', () => {
    const third = { ...device('a', 1000, [0, 2], 1000), end: siteStart + hourMs * 1.5, energy: 1_500_000_000n }
    expect(shown(site({ devices: [third], imports: hours(10, 10) }))).toEqual([['a', [0, 1.5, 1000]]])
    // 7 kW × 1,000,001 ms is 1,944.446388… Wh
    const odd = { ...device('a', 7000, [0, 1], 0), end: siteStart + 1_000_001, energy: 1_944_446_389n }
    expect(planned(site({ devices: [odd] })).devices[0]?.pieces).toEqual([
      { start: odd.start, end: odd.end, power: watts(7000) },
    ])
  })

  it('sells in the most expensive hours, outside the site limit, and counts the revenue', () => {
    const devices = [device('battery', 1000, [0, 3], 1000, 'EXPORT'), device('car', 1000, [0, 3], 1000)]
    const both = planned(site({ devices, sitePower: watts(1000), exports: hours(5, 9, 7) }))
    expect(both.devices.map(({ pieces }) => pieces.map(({ start }) => (start - siteStart) / hourMs))).toEqual([
      [1],
      [1],
    ])
    // 0.10 paid, 0.09 earned
    expect([money(both.cost), ...both.devices.map(({ cost }) => money(cost))]).toEqual([0.01, -0.09, 0.1])
  })

  it('holds pieces of a device with several windows apart', () => {
    const devices = [device('a', 1000, [0, 2], 1000), device('a', 1000, [2, 4], 1000)]
    expect(shown(site({ devices }))).toEqual([
      ['a', [1, 2, 1000]],
      ['a', [2, 3, 1000]],
    ])
  })

  it('has nothing to do for no energy', () => {
    expect(shown(site({ devices: [device('a', 1000, [0, 2], 0)] }))).toEqual([['a']])
  })
})

describe('time without a price', () => {
  it('is never planned and is listed', () => {
    const gap = site({ devices: [device('a', 1000, [0, 4], 2000)], imports: hours(30, null, 20, 40) })
    expect(shown(gap)).toEqual([['a', [0, 1, 1000], [2, 3, 1000]]])
    expect(planned(gap).unpriced).toEqual([
      { start: siteStart + hourMs, end: siteStart + 2 * hourMs, missing: 'MARKET_PRICE' },
    ])
  })

  it('refuses the plan where it would be needed, naming the first instant', () => {
    const made = plan(site({ devices: [device('a', 1000, [0, 4], 4000)], imports: hours(30, null, 20, 40) }))
    expect(made).toMatchObject({ ok: false, refusal: { code: 'no_price_data' } })
    if (!made.ok) expect(made.refusal.message).toContain('2026-01-31T01:00:00Z')
    const all = plan(site({ devices: [device('a', 1000, [0, 4], 1000)], imports: hours() }))
    expect(all).toMatchObject({ ok: false, refusal: { code: 'no_price_data' } })
  })

  it('is not the reason for a plan that is impossible anyway', () => {
    const made = plan(site({ devices: [device('a', 1000, [0, 4], 5000)], imports: hours(30, null, 20, 40) }))
    expect(made).toMatchObject({ ok: false, refusal: { code: 'schedule_infeasible' } })
  })
})

describe('a plan that cannot be', () => {
  it('names the device, its maximum energy and its window', () => {
    const made = plan(site({ devices: [device('fine', 1000, [0, 4], 1000), device('short', 1000, [1, 3], 2500)] }))
    expect(made).toMatchObject({ ok: false, refusal: { code: 'schedule_infeasible' } })
    if (made.ok) return
    expect(made.refusal.message).toBe(
      'short asks for 2.5 kWh, but can have at most 2 kWh at full power from 2026-01-31T01:00:00Z to 2026-01-31T03:00:00Z; ask for less energy, more power or a longer window',
    )
  })

  it('names all that compete, and the hours in which the cap is used up', () => {
    const devices = [device('a', 2000, [0, 2], 2000), device('b', 2000, [0, 2], 2000), device('c', 2000, [2, 4], 1000)]
    const made = plan(site({ devices, sitePower: watts(1500) }))
    if (made.ok) throw new Error('planned')
    expect(made.refusal.message).toBe(
      'a and b together ask for 4 kWh, but can have at most 3 kWh because max_power of the location is used up from 2026-01-31T00:00:00Z to 2026-01-31T02:00:00Z; ask for less energy, more power or a longer window',
    )
  })
})

describe('a threshold', () => {
  const absolute = (value: number) => ({ absolute: cents(value), relative: null })

  it('leaves dear hours out, so that there may be less energy than asked for', () => {
    const one = planned(site({ devices: [device('a', 1000, [0, 4], 4000)], threshold: absolute(20) }))
    expect(one.devices.map(({ energy, cost, baseline }) => [energy, money(cost), money(baseline)])).toEqual([
      [watts(2000), 0.3, 0.4],
    ])
  })

  it('is a share of the range from the lowest price up for imports, from the highest down for exports', () => {
    const relative = { absolute: null, relative: 333_333_334n }
    // Imports: 0.10 + a third of 0.30 is just over 0.20; exports: 0.09 − a third of 0.03 is just under 0.08
    const devices = [device('in', 1000, [0, 4], 4000), device('out', 1000, [0, 4], 4000, 'EXPORT')]
    expect(shown(site({ devices, exports: hours(6, 9, 8, 7), threshold: relative }))).toEqual([
      ['in', [1, 3, 1000]],
      ['out', [1, 3, 1000]],
    ])
  })

  it('serves the devices in the order of the request where not all can be', () => {
    const devices = ['first', 'second', 'third'].map(id => device(id, 1000, [0, 4], 2000))
    const energies = (of: readonly PlannedDevice[]) =>
      planned(site({ devices: of, sitePower: watts(1500), threshold: absolute(20) })).devices.map(
        ({ device: { deviceId }, energy }) => [deviceId, Number(energy / 1_000_000n)],
      )
    // 1.5 kWh in each of two hours
    expect(energies(devices)).toEqual([
      ['first', 2000],
      ['second', 1000],
      ['third', 0],
    ])
    expect(energies(devices.toReversed())).toEqual([
      ['third', 2000],
      ['second', 1000],
      ['first', 0],
    ])
  })

  it('gives most energy before it keeps to the order', () => {
    // The first could take both hours; then the second, which has the one alone, would have nothing
    const devices = [device('first', 1000, [0, 3], 1000), device('second', 1000, [1, 2], 1000)]
    const one = planned(site({ devices, sitePower: watts(1000), threshold: absolute(20) }))
    expect(one.devices.map(({ energy }) => Number(energy / 1_000_000n))).toEqual([1000, 1000])
  })
})

describe('own generation', () => {
  const sun = (hour: number, wattHours: number) => ({
    start: siteStart + hour * hourMs,
    end: siteStart + (hour + 1) * hourMs,
    energy: watts(wattHours),
    confidence: 500_000,
  })

  it('comes before the grid where it costs less, and outside the cap', () => {
    const one = planned(
      site({ devices: [device('a', 3000, [0, 4], 3000)], sitePower: watts(1000), generation: [sun(0, 2000)] }),
    )
    expect(
      one.devices[0]?.pieces.map(({ start, power }) => [(start - siteStart) / hourMs, Number(power) / 1e6]),
    ).toEqual([
      [0, 2000],
      [1, 1000],
    ])
    // 2 kWh for nothing at half confidence, 1 kWh for 0.10: (2 × 0.5 + 1) / 3
    expect([money(one.cost), one.confidence]).toEqual([0.1, 6667])
  })

  it('is left alone where it costs more than the grid', () => {
    const one = planned(
      site({ devices: [device('a', 1000, [0, 4], 1000)], generation: [sun(0, 2000)], localPrice: 110_000_000n }),
    )
    expect(money(one.cost)).toBe(0.1)
  })

  it('is shared by energy among the devices that run', () => {
    const devices = [device('a', 1000, [0, 1], 1000), device('b', 3000, [0, 1], 3000)]
    // 2 of 4 kWh are bought at 0.30: 0.60, shared as one quarter and three quarters
    const one = planned(site({ devices, generation: [sun(0, 2000)] }))
    expect(one.devices.map(({ cost }) => money(cost))).toEqual([0.15, 0.45])
  })
})

describe('tiers', () => {
  const kwh = 1_000_000_000n
  const tiers = [{ from: kwh, adds: 50_000_000n }]

  it('lift what is planned past a bound, in order of time', () => {
    // 1 kWh at 0.10, the second at 0.15, the third, in the next hour, at 0.25
    const one = planned(site({ devices: [device('a', 2000, [0, 4], 3000)], tiers }))
    expect(money(one.cost)).toBe(0.5)
  })

  it('begin where the stored records have left them', () => {
    expect(money(planned(site({ devices: [device('a', 2000, [0, 4], 2000)], tiers, counted: kwh })).cost)).toBe(0.3)
  })

  it('make the next month worth waiting for', () => {
    const imports = Array.from({ length: siteHours }, (_, hour) => cents(hour < 24 ? 10 : 12))
    const one = planned(site({ devices: [device('a', 2000, [22, 26], 2000)], tiers, imports, counted: 0n }))
    // 1 kWh at 0.10 before midnight, 1 kWh at 0.12 after it, rather than 0.15
    expect(money(one.cost)).toBe(0.22)
  })
})
