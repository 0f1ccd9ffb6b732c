import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const page = readFileSync('docs/cluster-size.md', 'utf8')

/** Return the cells after the first one of the row of a table that starts with a text. */
const cellsOf = (name: string): readonly string[] => {
  const row = page.split('\n').find(line => line.startsWith(`| ${name}`))
  if (row === undefined) throw new Error(`docs/cluster-size.md has no row ${name}`)
  return row
    .split('|')
    .slice(2, -1)
    .map(cell => cell.trim())
}

const units: Readonly<Record<string, number>> = { million: 1e6, billion: 1e9 }

/** Return the number of a cell such as `2,222` or `192 million`. */
const numberOf = (cell = ''): number => {
  const [, digits = '', unit = ''] = /^([\d.,]+)(?: (\w+))?/.exec(cell) ?? []
  return Number(digits.replaceAll(',', '')) * (units[unit] ?? 1)
}

const factors = [100, 1_000, 10_000]
/** Records per second at the peak, which is three times the mean: two devices per location, 96 records per day. */
const peakOf = (factor: number): number => (3 * factor * 10_000 * 2 * 96) / 86_400
const atLeastTwo = (processes: number): number => Math.max(2, Math.ceil(processes) + 1)

describe('the sizes of clusters in the docs', () => {
  it.each(factors)('have the load of %d times the base', factor => {
    const [locations, perDay, mean, peak] = cellsOf(`${factor.toLocaleString('en')} ×`).map(numberOf)
    expect(locations).toBe(factor * 10_000)
    expect(perDay).toBe(factor * 1_920_000)
    expect(mean).toBe(Math.round(peakOf(factor) / 3))
    expect(peak).toBe(Math.round(peakOf(factor)))
  })

  it('have the processes that the costs per record give', () => {
    const numbersOf = (name: string) => cellsOf(name).slice(1).map(numberOf)
    const of = (count: (peak: number) => number) => factors.map(factor => count(peakOf(factor)))
    expect(numbersOf('gateways, submissions of 500')).toEqual(of(peak => atLeastTwo((peak * 5e-6) / 0.6)))
    expect(numbersOf('gateways, submissions of one')).toEqual(of(peak => atLeastTwo(peak / 4_000)))
    expect(numbersOf('cost workers |')).toEqual(of(peak => atLeastTwo(peak / 60_000)))
    expect(numbersOf('cost workers, all')).toEqual(of(peak => atLeastTwo(peak / 30_000)))
    expect(numbersOf('partitions')).toEqual(of(peak => Math.max(24, 3 * atLeastTwo(peak / 30_000))))
    expect(numbersOf('ClickHouse, cores')).toEqual(of(peak => Math.ceil((peak * 13e-6) / 0.6)))
  })

  it('have the storage that the costs per record give', () => {
    const terabytesOf = (name: string) => cellsOf(name).slice(1).map(numberOf)
    const millions = factors.map(factor => factor * 1.92)
    for (const [index, perDay] of millions.entries()) {
      const [rows, log] = [(perDay * 365 * 17 * 1.01) / 1e6, (perDay * 7 * 40 * 3) / 1e6]
      expect((terabytesOf('cost rows')[index] ?? 0) / rows).toBeCloseTo(1, 1)
      expect((terabytesOf('log of 7 days')[index] ?? 0) / log).toBeCloseTo(1, 1)
    }
  })
})
