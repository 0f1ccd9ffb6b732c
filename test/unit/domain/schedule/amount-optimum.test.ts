import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { expectFeasible, money, plan, planned } from './plan.ts'
import { hourMs, monthEnd, type Site, sites } from './site.ts'
import { optimumOf } from './site-optimum.ts'

/** Allowed difference between a plan and the optimum. Source: docs/rules/schedules.md #amount. */
const tolerance = (optimum: number): number => Math.max(1e-6, 1e-6 * Math.abs(optimum))

/** The part of a site that lies in one month, where all energy counts in one accumulator. */
const withinMonth = (site: Site): Site => ({ ...site, devices: site.devices.filter(({ end }) => end <= monthEnd) })

/** The same site with powers, times and energies that no grid divides. */
const offGrid = (site: Site): Site => ({
  ...site,
  devices: site.devices.map((device, index) => ({
    ...device,
    start: device.start + 12_347 * (index + 1),
    end: device.end - 7919 * (index + 1),
    power: device.power + 123_457n * BigInt(index + 1),
    energy: (device.energy * 9n) / 10n + 12_345_677n,
  })),
})

const kinds: readonly (readonly [string, fc.Arbitrary<Site>])[] = [
  ['windows, powers, caps and exports', sites()],
  ['devices that ask for nearly all they can have', sites({ fullest: 100 })],
  ['own generation', sites({ generating: true })],
  ['rising tiers over two months', sites({ tiered: true })],
  ['rising tiers within a month', sites({ tiered: true }).map(withinMonth)],
  ['own generation and rising tiers', sites({ tiered: true, generating: true })],
  ['numbers that fit no grid', sites({ generating: true, fullest: 70 }).map(offGrid)],
]

/** Maximum total energy of the devices in a refusal, by power and site limit alone. */
const maxEnergyFor = (site: Site, ids: readonly string[]): number => {
  const named = site.devices.filter(({ deviceId }) => ids.includes(deviceId))
  const edges = [...new Set([...named, ...site.generation].flatMap(({ start, end }) => [start, end]))].sort(
    (a, b) => a - b,
  )
  return edges.slice(1).reduce((sum, end, index) => {
    const start = edges[index] as number
    const hours = (end - start) / hourMs
    const wanted = named
      .filter(one => one.start <= start && end <= one.end)
      .reduce((power, one) => power + Number(one.power) / 1e9, 0)
    const own = site.generation
      .filter(one => one.start < end && one.end > start)
      .reduce((energy, one) => energy + (Number(one.energy) / 1e9) * ((end - start) / (one.end - one.start)), 0)
    return (
      sum +
      (site.sitePower === null
        ? wanted * hours
        : Math.min(wanted * hours, (Number(site.sitePower) / 1e9) * hours + own))
    )
  }, 0)
}

describe.each(kinds)('plans with %s', (_, arbitrary) => {
  it('have the cost of the linear program, or name devices that no plan can serve', { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(arbitrary, site => {
        const [made, optimum] = [plan(site), optimumOf(site)]
        expect(made.ok).toBe(optimum.isComplete)
        if (made.ok) {
          expectFeasible(site, made.value)
          for (const { device, energy } of made.value.devices) expect(energy).toBe(device.energy)
          expect(Math.abs(money(made.value.cost) - optimum.cost)).toBeLessThanOrEqual(tolerance(optimum.cost))
          return
        }
        const { code, message } = made.refusal
        expect(code).toBe('schedule_infeasible')
        const ids: readonly string[] = message.match(/dev_\d+/g) ?? []
        const requestedEnergy = site.devices
          .filter(({ deviceId }) => ids.includes(deviceId))
          .reduce((sum, { energy }) => sum + Number(energy) / 1e9, 0)
        expect(ids.length).toBeGreaterThan(0)
        expect(maxEnergyFor(site, ids)).toBeLessThan(requestedEnergy)
        expect(message).toMatch(/from 2026-0[12]-\d\dT\d\d:\d\d:[\d.]+Z to 2026-0[12]-/)
      }),
      { numRuns: 75 },
    )
  })
})

/** Fifty devices or so of ten sites at one, whose cap leaves little room, with or without a threshold. */
const crowds = (limited: boolean): fc.Arbitrary<Site> =>
  fc
    .tuple(
      fc.array(sites({ limited, fullest: 60 }), { minLength: 10, maxLength: 10 }),
      fc.integer({ min: 40_000, max: 160_000 }),
      sites({ limited, generating: true }),
    )
    .map(([all, watts, whole]) => ({
      ...offGrid({ ...whole, devices: all.flatMap(({ devices }) => devices) }),
      sitePower: BigInt(watts) * 1_000_000n,
    }))
    .map(site => ({ ...site, devices: site.devices.map((device, index) => ({ ...device, deviceId: `dev_${index}` })) }))
    // With more devices some windows would be too short for their energy, and no site limit would be tested.
    .map(site => ({
      ...site,
      devices: site.devices.filter(one => one.energy * 3_600_000n <= one.power * BigInt(one.end - one.start)),
    }))

describe('plans of many devices whose windows fit no grid', () => {
  it.each([false, true])('have the cost of the linear program; with a threshold: %s', { timeout: 120_000 }, limited => {
    const property = fc.property(crowds(limited), site => {
      const [made, optimum] = [plan(site), optimumOf(site)]
      expect(made.ok).toBe(limited || optimum.isComplete)
      // A site without a plan does not count as a run; another site replaces it.
      fc.pre(made.ok)
      expectFeasible(site, made.value)
      const energy = made.value.devices.reduce((sum, one) => sum + Number(one.energy) / 1e9, 0)
      expect(Math.abs(energy - optimum.energy)).toBeLessThan(1e-5)
      expect(Math.abs(money(made.value.cost) - optimum.cost)).toBeLessThanOrEqual(tolerance(optimum.cost) + 1e-7)
    })
    fc.assert(property, { numRuns: 12 })
  })
})

describe('plans under a price threshold', () => {
  it.each([
    ['alone', {}],
    ['with own generation', { generating: true }],
  ])('%s hold the most energy and cost the least of that', { timeout: 60_000 }, (_, options) => {
    fc.assert(
      fc.property(sites({ ...options, limited: true, fullest: 100 }), site => {
        const made = planned(site)
        const optimum = optimumOf(site)
        expectFeasible(site, made)
        const energy = made.devices.reduce((sum, one) => sum + Number(one.energy) / 1e9, 0)
        expect(Math.abs(energy - optimum.energy)).toBeLessThan(1e-6)
        expect(Math.abs(money(made.cost) - optimum.cost)).toBeLessThanOrEqual(tolerance(optimum.cost) + 1e-8)
      }),
      { numRuns: 60 },
    )
  })

  it('with own generation and tiers hold no more than if each hour could choose its tiers, nor as much for less', {
    timeout: 60_000,
  }, () => {
    fc.assert(
      fc.property(sites({ tiered: true, generating: true, limited: true, fullest: 100 }), site => {
        const made = planned(site)
        const optimum = optimumOf(site)
        expectFeasible(site, made)
        const energy = made.devices.reduce((sum, one) => sum + Number(one.energy) / 1e9, 0)
        expect(energy).toBeLessThan(optimum.energy + 1e-6)
        if (energy < optimum.energy - 1e-6) return
        expect(money(made.cost)).toBeGreaterThan(optimum.cost - tolerance(optimum.cost) - 1e-8)
      }),
      { numRuns: 60 },
    )
  })
})
