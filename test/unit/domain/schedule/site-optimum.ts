import { costsOf, solveProgram, type Variable } from './linear-program.ts'
import { hourMs, monthEnd, type Site, siteStart } from './site.ts'

/** Optimum of the linear program of a site: maximum energy (kWh) and its minimum cost. `isComplete` if all requested. */
export type Optimum = { readonly cost: number; readonly energy: number; readonly isComplete: boolean }

const perKwh = (price: bigint): number => Number(price) / 1e9
const kwh = (energy: bigint): number => Number(energy) / 1e9

/** Elementary spans: no price, window or generation changes inside. */
const spansOf = (site: Site, cuts: readonly number[]) => {
  const edges = new Set<number>(cuts)
  for (const { start, end } of [...site.devices, ...site.generation]) edges.add(start).add(end)
  for (let hour = 0; hour <= site.imports.length; hour += 1) edges.add(siteStart + hour * hourMs)
  const sorted = [...edges].sort((a, b) => a - b)
  return sorted.slice(0, -1).map((start, index) => ({
    start,
    end: sorted[index + 1] as number,
    hours: ((sorted[index + 1] as number) - start) / hourMs,
  }))
}

const thresholdOf = (site: Site, direction: 'IMPORT' | 'EXPORT'): ((price: bigint) => boolean) => {
  const { threshold } = site
  if (threshold === null) return () => true
  const own = site.devices.filter(device => device.direction === direction)
  const [from, to] = [Math.min(...own.map(({ start }) => start)), Math.max(...own.map(({ end }) => end))]
  const lift = direction === 'IMPORT' ? inForce(site) : () => 0n
  const prices = (direction === 'IMPORT' ? site.imports : site.exports).flatMap((price, hour) => {
    const start = siteStart + hour * hourMs
    return price === null || start >= to || start + hourMs <= from ? [] : [price + lift(Math.max(start, from))]
  })
  const ranked = prices.toSorted((a, b) => (a < b ? -1 : 1))
  const [min = 0n, max = 0n] = [ranked[0], ranked.at(-1)]
  const share = ((threshold.relative ?? 0n) * (max - min)) / 1_000_000_000n
  const bound = threshold.absolute ?? (direction === 'IMPORT' ? min + share : max - share)
  return price => (direction === 'IMPORT' ? price <= bound : price >= bound)
}

/** Surcharge of the current tier at an instant. */
const inForce =
  (site: Site) =>
  (at: number): bigint => {
    const counted = at < monthEnd ? site.counted : 0n
    return site.tiers.filter(({ from }) => from <= counted).at(-1)?.adds ?? 0n
  }

/** Span with the names of the variables of its energy (kWh) through the grid. */
export type GridSpan = { readonly start: number; readonly end: number; readonly names: readonly string[] }

/** Rows and variables added to a program; `cuts` are instants at which spans must end. */
export type ProgramAddition = {
  readonly cuts: readonly number[]
  readonly add: (spans: readonly GridSpan[]) => {
    readonly rows: readonly string[]
    readonly variables: readonly Variable[]
    readonly flags: readonly string[]
  }
}

/** Write the program of a site and solve it twice: for the most energy, then for the least cost of that. */
export const optimumOf = (
  site: Site,
  { cuts, add }: ProgramAddition = { cuts: [], add: () => ({ rows: [], variables: [], flags: [] }) },
): Optimum => {
  const variables: Variable[] = []
  const rows: string[] = []
  const wants: string[] = []
  const take = (name: string, maxSolution: number, cost: number): string => {
    variables.push({ name, max: maxSolution, cost })
    return name
  }
  const isAllowed = { IMPORT: thresholdOf(site, 'IMPORT'), EXPORT: thresholdOf(site, 'EXPORT') }
  const spans = spansOf(site, cuts)
  const grid = new Map<string, string[]>()
  const supplied = spans.map(({ start, end, hours }, span) => {
    const price = site.imports[Math.floor((start - siteStart) / hourMs)]
    if (price === null || price === undefined) return []
    const month = start < monthEnd ? 0 : 1
    const draws = [{ from: 0n, adds: 0n }, ...site.tiers].flatMap(({ adds }, tier) => {
      if (!isAllowed.IMPORT(price + adds)) return []
      const name = take(`g_${span}_${tier}`, 1e6, perKwh(price + adds))
      grid.set(`${month} ${tier}`, [...(grid.get(`${month} ${tier}`) ?? []), name])
      return [name]
    })
    if (site.sitePower !== null && draws.length > 0)
      rows.push(`${draws.join(' + ')} <= ${(Number(site.sitePower) / 1e9) * hours}`)
    const own = site.generation
      .filter(one => one.start < end && one.end > start)
      .reduce((sum, one) => sum + (kwh(one.energy) * (end - start)) / (one.end - one.start), 0)
    return own > 0 && isAllowed.IMPORT(site.localPrice)
      ? [...draws, take(`l_${span}`, own, perKwh(site.localPrice))]
      : draws
  })
  for (const [key, names] of grid) {
    const [month = 0, tier = 0] = key.split(' ').map(Number)
    const upper = site.tiers[tier]?.from
    const lower = tier === 0 ? 0n : (site.tiers[tier - 1]?.from ?? 0n)
    const counted = month === 0 ? site.counted : 0n
    if (upper === undefined) continue
    const from = counted > lower ? counted : lower
    rows.push(`${names.join(' + ')} <= ${upper > from ? kwh(upper - from) : 0}`)
  }
  const taken = spans.map((): string[] => [])
  for (const [index, device] of site.devices.entries()) {
    const prices = device.direction === 'IMPORT' ? site.imports : site.exports
    const names = spans.flatMap(({ start, end, hours }, span) => {
      const price = prices[Math.floor((start - siteStart) / hourMs)]
      if (start < device.start || end > device.end || price === null || price === undefined) return []
      if (device.direction === 'EXPORT' && !isAllowed.EXPORT(price)) return []
      const name = take(
        `x_${index}_${span}`,
        (Number(device.power) / 1e9) * hours,
        device.direction === 'EXPORT' ? -perKwh(price) : 0,
      )
      if (device.direction === 'IMPORT') taken[span]?.push(name)
      return [name]
    })
    if (names.length > 0) rows.push(`${names.join(' + ')} <= ${kwh(device.energy)}`)
    wants.push(...names)
  }
  for (const [span, names] of taken.entries()) {
    const sources = supplied[span] ?? []
    if (names.length > 0) rows.push(`${names.join(' + ')}${sources.map(name => ` - ${name}`).join('')} = 0`)
    else if (sources.length > 0) rows.push(`${sources.join(' + ')} <= 0`)
  }
  const added = add(
    spans.map(({ start, end }, index) => ({
      start,
      end,
      names: (supplied[index] ?? []).filter(name => name.startsWith('g_')),
    })),
  )
  if (wants.length === 0) return { cost: 0, energy: 0, isComplete: site.devices.every(({ energy }) => energy === 0n) }
  const maxSolution = solveProgram('Maximize', wants.join(' + '), rows, variables)
  const minSolution = solveProgram(
    'Minimize',
    costsOf([...variables, ...added.variables]),
    [...rows, ...added.rows, `${wants.join(' + ')} >= ${maxSolution - 1e-9}`],
    [...variables, ...added.variables],
    added.flags,
  )
  const requestedEnergy = site.devices.reduce((sum, { energy }) => sum + kwh(energy), 0)
  return { cost: minSolution, energy: maxSolution, isComplete: maxSolution > requestedEnergy - 1e-6 }
}
