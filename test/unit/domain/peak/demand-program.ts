import type { DemandCharge } from '../../../../services/domain/charge/charge.ts'
import type { Variable } from '../schedule/linear-program.ts'
import { hourMs, monthEnd, siteHours, siteStart } from '../schedule/site.ts'
import type { GridSpan, ProgramAddition } from '../schedule/site-optimum.ts'
import type { StoredEnergy } from './charged-site.ts'

const dayMs = 24 * hourMs
const kw = (power: bigint): number => Number(power) / 1e9
const siteEnd = siteStart + siteHours * hourMs
/** Months of a site in UTC. */
const months = [
  { start: Date.UTC(2026, 0, 1), end: monthEnd },
  { start: monthEnd, end: Date.UTC(2026, 2, 1) },
]

/** Weight of an instant in windows of hours, 1 without windows. */
const weightAt = ({ windows }: DemandCharge, at: number): number => {
  if (windows.length === 0) return 1
  const second = (at % dayMs) / 1000
  const isIn = ({ validFrom, validTo }: { readonly validFrom: number; readonly validTo: number }): boolean =>
    validFrom < validTo ? second >= validFrom && second < validTo : second >= validFrom || second < validTo
  const found = windows.find(({ hours }) => hours.length === 0 || hours.some(isIn))
  return (found?.weight ?? 0) / 1e9
}

type MonthLoad = {
  readonly start: number
  readonly weight: number
  readonly base: number
  readonly names: readonly string[]
}

/** Intervals of a month with their stored energy (kWh) and the variables of their planned energy. */
const loadsOf = (
  charge: DemandCharge,
  month: (typeof months)[number],
  stored: readonly StoredEnergy[],
  spans: readonly GridSpan[],
): readonly MonthLoad[] => {
  const length = charge.intervalMinutes * 60_000
  return Array.from({ length: (month.end - month.start) / length }, (_, index) => {
    const start = month.start + index * length
    const isIn = (one: { readonly start: number }): boolean => one.start >= start && one.start < start + length
    return {
      start,
      weight: weightAt(charge, start),
      base: stored.filter(isIn).reduce((sum, { energy }) => sum + Number(energy) / 1e9, 0),
      names: start + length <= siteStart || start >= siteEnd ? [] : spans.filter(isIn).flatMap(({ names }) => names),
    }
  }).filter(({ weight }) => weight > 0)
}

/** Rows that make `measured` at least the mean of the highest intervals or days, in kW. */
const measureRows = (
  charge: DemandCharge,
  loads: readonly MonthLoad[],
  name: string,
  take: (variable: string, max: number) => string,
): readonly string[] => {
  const hours = charge.intervalMinutes / 60
  const keyOf = ({ start }: MonthLoad): number =>
    charge.hasDistinctDays ? Math.floor(start / dayMs) : charge.highest === 1 ? 0 : start
  const keys = [...new Set(loads.map(keyOf))]
  const highest = Math.min(charge.highest, keys.length)
  const theta = take(`${name}_t`, 1e6)
  const rows = [
    `${highest} ${name} - ${highest} ${theta}${keys.map(key => ` - ${take(`${name}_e_${key}`, 1e6)}`).join('')} >= 0`,
  ]
  for (const load of loads) {
    const factor = load.weight / hours
    const powers = load.names.map(one => ` - ${factor} ${one}`).join('')
    rows.push(`${theta} + ${name}_e_${keyOf(load)}${powers} >= ${factor * load.base}`)
  }
  return rows
}

/** Write charges as rows of a program: tiers and prices as variables, steps as flags. Their cost is the whole amount. */
export const demandProgram = (charges: readonly DemandCharge[], stored: readonly StoredEnergy[]): ProgramAddition => ({
  cuts: charges.flatMap(({ intervalMinutes }) =>
    Array.from(
      { length: (siteHours * 60) / intervalMinutes + 1 },
      (_, index) => siteStart + index * intervalMinutes * 60_000,
    ),
  ),
  add: spans => {
    const variables: Variable[] = []
    const flags: string[] = []
    const rows: string[] = []
    const take = (name: string, max: number, cost = 0): string => {
      variables.push({ name, max, cost })
      return name
    }
    for (const [index, charge] of charges.entries()) {
      for (const [number, month] of months.entries()) {
        const name = take(`p_${index}_${number}`, 1e6)
        rows.push(...measureRows(charge, loadsOf(charge, month, stored, spans), name, take))
        const billed = take(`b_${index}_${number}`, 1e6)
        rows.push(`${billed} - ${name} >= ${-kw(charge.above)}`, `${billed} >= ${kw(charge.floor) - kw(charge.above)}`)
        if (charge.steps === null) {
          const tiers = charge.tiers ?? [{ to: null, price: charge.price ?? 0n }]
          const parts = tiers.map(({ to, price }, tier) =>
            take(`${billed}_${tier}`, to === null ? 1e6 : kw(to) - kw(tiers[tier - 1]?.to ?? 0n), Number(price) / 1e9),
          )
          rows.push(`${parts.join(' + ')} - ${billed} >= 0`)
          continue
        }
        const parts = charge.steps.map(({ amount }, step) => {
          flags.push(`${billed}_${step}`)
          return take(`${billed}_${step}`, 1, Number(amount) / 1e9)
        })
        const tops = charge.steps.map((_, step) => kw(charge.steps?.[step + 1]?.from ?? 1_000_000_000_000n))
        rows.push(`${parts.join(' + ')} = 1`)
        rows.push(`${parts.map((part, step) => `${tops[step]} ${part}`).join(' + ')} - ${billed} >= 0`)
      }
    }
    return { rows, variables, flags }
  },
})
