import { expect } from 'vitest'
import type { Result } from '../../../../services/domain/refusal.ts'
import { type AmountPlan, planAmount } from '../../../../services/domain/schedule/amount.ts'
import { acceptedValue } from '../../../support/accepted-value.ts'
import { hourMs, marketOf, type Site } from './site.ts'

/** Plan a site to its end. */
export const plan = (site: Site): Result<AmountPlan> => planAmount(site, marketOf(site), 0)

/** Plan a site that can be planned. */
export const planned = (site: Site): AmountPlan => {
  return acceptedValue(plan(site))
}

export const money = (amount: bigint): number => Number(amount) / 1e9
const kwh = (energy: bigint): number => Number(energy) / 1e9

/** Differences in kWh, and in W, that count as equal. Generation is exact to 1e-6 Wh: 6e-5 W over a minute. */
const hair = 1e-6
const hairOfPower = 1e-3

/** Check from the answer alone that a plan keeps every rule: windows, powers, the cap at every instant, and energies that add up. */
export const expectFeasible = (site: Site, made: AmountPlan): void => {
  for (const { device, pieces, energy } of made.devices) {
    let last = device.start
    let delivered = 0
    for (const { start, end, power } of pieces) {
      expect(start).toBeGreaterThanOrEqual(last)
      expect(end).toBeGreaterThan(start)
      expect(power > 0n && power <= device.power).toBe(true)
      delivered += (Number(power) / 1e9) * ((end - start) / hourMs)
      last = end
    }
    expect(last).toBeLessThanOrEqual(device.end)
    expect(energy).toBeLessThanOrEqual(device.energy)
    expect(Math.abs(delivered - kwh(energy))).toBeLessThan(hair)
  }
  if (site.sitePower !== null) expectUnderCap(site, site.sitePower, made)
  expect(made.devices.reduce((sum, { cost }) => sum + cost, 0n)).toBe(made.cost)
  expect(made.devices.reduce((sum, { baseline }) => sum + baseline, 0n)).toBe(made.baseline)
}

const expectUnderCap = (site: Site, cap: bigint, { devices }: AmountPlan): void => {
  const imports = devices.filter(({ device }) => device.direction === 'IMPORT').flatMap(({ pieces }) => pieces)
  const edges = [...new Set([...imports, ...site.generation].flatMap(({ start, end }) => [start, end]))].sort(
    (a, b) => a - b,
  )
  for (const at of edges) {
    const drawn = imports
      .filter(({ start, end }) => start <= at && at < end)
      .reduce((sum, { power }) => sum + Number(power) / 1e6, 0)
    const own = site.generation
      .filter(({ start, end }) => start <= at && at < end)
      .reduce((sum, { start, end, energy }) => sum + Number(energy) / 1e6 / ((end - start) / hourMs), 0)
    expect(drawn).toBeLessThanOrEqual(Number(cap) / 1e6 + own + hairOfPower)
  }
}
