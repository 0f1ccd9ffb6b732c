import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PlannedDevice } from '../../../../services/domain/schedule/amount-request.ts'
import { expectFeasible, money, plan, planned } from './plan.ts'
import { hourMs, type Site, siteHours, siteStart, sites } from './site.ts'

const runs = { numRuns: 60 }
const options = { tiered: true, generating: true, fullest: 60 } as const

/** Costs are rounded once for each slot of a device. */
const rounding = 1e-6

const costOf = (site: Site): number | null => {
  const made = plan(site)
  return made.ok ? money(made.value.cost) : null
}

/** A change that allows more: every earlier plan is still possible, so the cost never rises. */
const expectNoDearer = (site: Site, eased: Site): void => {
  const cost = costOf(site)
  if (cost !== null) expect(costOf(eased) ?? Number.POSITIVE_INFINITY).toBeLessThanOrEqual(cost + rounding)
}

const withDevices = (site: Site, change: (device: PlannedDevice) => readonly PlannedDevice[]): Site => ({
  ...site,
  devices: site.devices.flatMap(change),
})

describe('the cost of a plan never rises', () => {
  it('when a price falls', () => {
    const hour = fc.integer({ min: 0, max: siteHours - 1 })
    fc.assert(
      fc.property(sites(options), hour, (site, at) => {
        const isImporting = site.devices.every(({ direction }) => direction === 'IMPORT')
        fc.pre(isImporting)
        expectNoDearer(site, {
          ...site,
          imports: site.imports.map((price, index) => (index === at && price !== null ? price - 50_000_000n : price)),
        })
      }),
      runs,
    )
  })

  it('when what is sold brings more', () => {
    fc.assert(
      fc.property(sites(), site =>
        expectNoDearer(site, { ...site, exports: site.exports.map(price => (price ?? 0n) + 10_000_000n) }),
      ),
      runs,
    )
  })

  it('when a window grows', () => {
    fc.assert(
      fc.property(sites(options), fc.integer({ min: 0, max: 300 }), (site, minutes) => {
        const start = (device: PlannedDevice): number => Math.max(siteStart, device.start - minutes * 60_000)
        const end = (device: PlannedDevice): number =>
          Math.min(siteStart + siteHours * hourMs, device.end + minutes * 60_000)
        // A month that only the wider window enters counts its tiers from its own start: one month is enough here.
        expectNoDearer(
          { ...site, tiers: [] },
          withDevices({ ...site, tiers: [] }, one => [{ ...one, start: start(one), end: end(one) }]),
        )
      }),
      runs,
    )
  })

  it("when a cap rises or goes, the location's or a device's", () => {
    fc.assert(
      fc.property(sites(options), site => {
        expectNoDearer(site, { ...site, sitePower: site.sitePower === null ? null : site.sitePower * 2n })
        expectNoDearer(site, { ...site, sitePower: null })
        expectNoDearer(
          site,
          withDevices(site, one => [{ ...one, power: one.power * 2n }]),
        )
      }),
      runs,
    )
  })
})

describe('the cost of a plan stays', () => {
  it('when a device is split in halves', () => {
    const halves = (device: PlannedDevice): readonly PlannedDevice[] => {
      const half = { ...device, power: device.power / 2n, energy: device.energy / 2n }
      return [half, { ...half, energy: device.energy - half.energy }]
    }
    fc.assert(
      fc.property(sites(options), site => {
        const [whole, split] = [costOf(site), costOf(withDevices(site, halves))]
        if (whole === null || split === null) expect(split).toBe(whole)
        else expect(Math.abs(split - whole)).toBeLessThanOrEqual(rounding)
      }),
      runs,
    )
  })

  it('when the same is asked again, to the last piece', () => {
    fc.assert(
      fc.property(sites(options), site => {
        expect(plan(site)).toEqual(plan(site))
      }),
      { numRuns: 30 },
    )
  })
})

describe('a device', () => {
  it('never runs above its power, for powers of many digits', () => {
    // Up to 1e11 W and 1e11 Wh, which no double holds to the last digit
    const factor = 4_545_454_545_457n
    const huge = (site: Site): Site => ({
      ...site,
      sitePower: site.sitePower === null ? null : (site.sitePower * factor) / 1_000_000n + 7n,
      devices: site.devices.map((device, index) => ({
        ...device,
        start: device.start + 1 + index,
        end: device.end - 3 * index - 1,
        power: (device.power * factor) / 1_000_000n + BigInt(index),
        energy: (((device.energy * factor) / 1_000_000n) * 9n) / 10n + BigInt(index * 3),
      })),
    })
    fc.assert(
      fc.property(sites({ tiered: true, fullest: 60 }).map(huge), site => {
        const made = plan(site)
        for (const { device, energy, pieces } of made.ok ? made.value.devices : []) {
          expect(energy).toBe(device.energy)
          for (const { power } of pieces) expect(power <= device.power).toBe(true)
        }
      }),
      { numRuns: 150 },
    )
  })
})

describe('the edges of pieces', () => {
  const edgesOf = (site: Site): readonly number[] => {
    const made = plan(site)
    if (!made.ok) return []
    expectFeasible(site, made.value)
    return made.value.devices.flatMap(({ pieces }) => pieces.flatMap(({ start, end }) => [start, end]))
  }

  it('lie on whole seconds where windows and prices do; energy, powers and the cap hold', () => {
    fc.assert(
      fc.property(sites(options), site => {
        expect(edgesOf(site).filter(at => at % 1000 !== 0)).toEqual([])
      }),
      { numRuns: 200 },
    )
  })

  it('stay exact only at a window that begins or ends within a second', () => {
    const odd = fc.array(fc.integer({ min: 0, max: 2500 }), { minLength: 8, maxLength: 8 })
    fc.assert(
      fc.property(sites(options), odd, (whole, shifts) => {
        const devices = whole.devices.map((device, index) => ({
          ...device,
          start: device.start + (shifts[index] ?? 0),
          end: device.end - (shifts[7 - index] ?? 0),
        }))
        const windows = devices.flatMap(({ start, end }) => [start, end])
        for (const at of edgesOf({ ...whole, devices })) {
          if (at % 1000 !== 0) expect(windows.some(edge => Math.abs(edge - at) < 1000)).toBe(true)
        }
      }),
      { numRuns: 200 },
    )
  })
})

describe('savings', () => {
  it('are never below zero without a cap and a threshold', () => {
    fc.assert(
      fc.property(sites({ generating: true }), site => {
        const free = planned({ ...site, sitePower: null })
        expect(money(free.baseline - free.cost)).toBeGreaterThanOrEqual(-rounding)
      }),
      runs,
    )
  })
})

describe('a dual bound', () => {
  // Dual prices l per kWh of a device and m per hour under the site limit bound every plan from below:
  // Σ E·l − Σ C·m − Σ P·max(0, l − p − m).
  it('of any prices lies below the cost of the plan', () => {
    const duals = fc.tuple(
      fc.array(fc.double({ min: 0, max: 0.5, noNaN: true }), { minLength: 8, maxLength: 8 }),
      fc.double({ min: 0, max: 0.3, noNaN: true }),
    )
    fc.assert(
      fc.property(sites(), duals, (site, [prices, rent]) => {
        fc.pre(site.devices.every(({ direction }) => direction === 'IMPORT'))
        const cost = costOf(site)
        if (cost === null) return
        const m = site.sitePower === null ? 0 : rent
        let bound = site.sitePower === null ? 0 : -((Number(site.sitePower) / 1e9) * siteHours * m)
        for (const [index, device] of site.devices.entries()) {
          const l = prices[index] ?? 0
          bound += (Number(device.energy) / 1e9) * l
          for (const [hour, price] of site.imports.entries()) {
            const from = siteStart + hour * hourMs
            const shared = Math.max(0, Math.min(device.end, from + hourMs) - Math.max(device.start, from)) / hourMs
            bound -= (Number(device.power) / 1e9) * shared * Math.max(0, l - Number(price) / 1e9 - m)
          }
        }
        expect(cost).toBeGreaterThanOrEqual(bound - rounding)
      }),
      { numRuns: 200 },
    )
  })
})
