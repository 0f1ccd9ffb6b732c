import { costsOf, solveProgram, type Variable } from './linear-program.ts'
import type { SmallTiers } from './small-tiers.ts'

const sumOf = (names: readonly string[]): string => names.join(' + ')

/**
 * Return the minimum cost (cents) of all requested energy, counted in order of time, for hours of one month.
 * The integer program has a flag for each hour and bound: the bound is met by the end of the hour.
 * A tier is open from the hour in which the bound before it is met to the hour in which its own bound is met.
 */
export const minCostOf = ({ direction, prices, bounds, counted, tasks, sitePower }: SmallTiers): number => {
  const total = tasks.reduce((sum, { energy }) => sum + energy, 0)
  const variables: Variable[] = []
  const rows: string[] = []
  const flags: string[] = []
  const drawn = (hour: number, tier: number): string => `y_${hour}_${tier}`
  const met = (hour: number, bound: number): string => `z_${hour}_${bound}`
  const endOf = (tier: number): number => (tier < 0 ? counted : Math.max(counted, bounds[tier] ?? Infinity))
  /** The most energy of a tier in an hour. The solver is several times as fast with close bounds. */
  const mostIn = (hour: number, tier: number): number => {
    const powers = tasks.filter(({ from, to }) => hour >= from && hour < to).map(({ power }) => power)
    const inHour = powers.reduce((sum, power) => sum + power, 0)
    return Math.min(total, inHour, endOf(tier) - endOf(tier - 1))
  }
  for (const [hour, tiers] of prices.entries()) {
    const names = tiers.map((_, tier) => drawn(hour, tier))
    const takers = tasks.flatMap(({ from, to, power }, task) => {
      if (hour < from || hour >= to) return []
      variables.push({ name: `x_${task}_${hour}`, max: power, cost: 0 })
      return [`x_${task}_${hour}`]
    })
    rows.push(`${sumOf(names)}${takers.map(name => ` - ${name}`).join('')} = 0`)
    if (direction === 'IMPORT' && sitePower !== null) rows.push(`${sumOf(names)} <= ${sitePower}`)
    for (const [tier, price] of tiers.entries()) {
      const most = mostIn(hour, tier)
      variables.push({ name: drawn(hour, tier), max: most, cost: direction === 'IMPORT' ? price : -price })
      if (tier > 0) rows.push(`${drawn(hour, tier)} - ${most} ${met(hour, tier - 1)} <= 0`)
      if (tier < bounds.length && hour > 0)
        rows.push(`${drawn(hour, tier)} + ${most} ${met(hour - 1, tier)} <= ${most}`)
    }
    for (const [bound, at] of bounds.entries()) {
      flags.push(met(hour, bound))
      if (hour > 0) rows.push(`${met(hour, bound)} - ${met(hour - 1, bound)} >= 0`)
      if (bound > 0) rows.push(`${met(hour, bound - 1)} - ${met(hour, bound)} >= 0`)
      const before = prices
        .slice(0, hour + 1)
        .flatMap((_, other) => bounds.slice(0, bound + 1).map((_, tier) => drawn(other, tier)))
      const freePower = Math.max(0, at - counted)
      rows.push(`${sumOf(before)} - ${freePower} ${met(hour, bound)} >= 0`)
      rows.push(`${sumOf(before)} <= ${freePower}`)
    }
  }
  for (const [task, { from, to, energy }] of tasks.entries()) {
    const names = Array.from({ length: to - from }, (_, place) => `x_${task}_${from + place}`)
    rows.push(`${sumOf(names)} = ${energy}`)
  }
  return solveProgram('Minimize', costsOf(variables), rows, variables, flags)
}
