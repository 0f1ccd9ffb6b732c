import type { PlannedDevice } from '../../../../services/domain/schedule/amount-request.ts'
import { planned } from './plan.ts'
import { hourMs, type Site, siteHours, siteStart } from './site.ts'

export const cents = (value: number | null): bigint | null => (value === null ? null : BigInt(value) * 10_000_000n)

/** Prices in cents for the first hours; the rest of the two days is not known. */
export const hours = (...prices: readonly (number | null)[]) =>
  Array.from({ length: siteHours }, (_, hour) => cents(prices[hour] ?? null))

export const watts = (value: number): bigint => BigInt(value) * 1_000_000n

/** A device with a power in W, hours from and to, and energy in Wh. */
export const device = (
  id: string,
  power: number,
  [from, to]: readonly [number, number],
  energy: number,
  direction: PlannedDevice['direction'] = 'IMPORT',
) => ({
  deviceId: id,
  direction,
  start: siteStart + from * hourMs,
  end: siteStart + to * hourMs,
  power: watts(power),
  energy: watts(energy),
})

export const site = (more: Partial<Site>): Site => ({
  devices: [],
  sitePower: null,
  threshold: null,
  imports: hours(30, 10, 20, 40),
  exports: hours(),
  tiers: [],
  counted: 0n,
  generation: [],
  localPrice: 0n,
  ...more,
})

/** Pieces in hours and W. */
export const shown = (of: Site) =>
  planned(of).devices.map(({ device: { deviceId }, pieces }) => [
    deviceId,
    ...pieces.map(({ start, end, power }) => [
      (start - siteStart) / hourMs,
      (end - siteStart) / hourMs,
      Number(power) / 1e6,
    ]),
  ])
