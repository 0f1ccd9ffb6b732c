import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type LinearProgram, solveLinearProgram } from '../../../../services/domain/peak/dual-simplex.ts'
import { costsOf, solveProgram } from '../schedule/linear-program.ts'

const variables = 5

const programs: fc.Arbitrary<LinearProgram> = fc.record({
  costs: fc.array(fc.integer({ min: 0, max: 9 }), { minLength: variables, maxLength: variables }),
  rows: fc.array(
    fc.record({
      coefficients: fc
        .array(fc.integer({ min: -4, max: 6 }), { minLength: variables, maxLength: variables })
        .map(values => new Map(values.map((value, index) => [index, value] as const))),
      min: fc.integer({ min: -20, max: 20 }),
    }),
    { minLength: 1, maxLength: 9 },
  ),
})

/** Solve a program with another solver; null if it has no solution. */
const expectedOf = ({ costs, rows }: LinearProgram): number | null => {
  const names = costs.map((cost, index) => ({ name: `x${index}`, max: 1e6, cost }))
  const texts = rows.map(
    ({ coefficients, min }) =>
      `${[...coefficients].map(([index, value]) => `${value < 0 ? '-' : '+'} ${Math.abs(value)} x${index}`).join(' ')} >= ${min}`,
  )
  try {
    return solveProgram('Minimize', costsOf(names), texts, names)
  } catch (error) {
    if (error instanceof Error && error.message.includes('Infeasible')) return null
    throw error
  }
}

describe('the dual simplex method', () => {
  it('finds the minimum of a program, and no solution where there is none', { timeout: 30_000 }, () => {
    let solved = 0
    const property = fc.property(programs, program => {
      const [found, expected] = [solveLinearProgram(program), expectedOf(program)]
      if (expected === null) {
        expect(found).toBeNull()
        return
      }
      solved += 1
      expect(found?.value).toBeCloseTo(expected, 6)
      for (const { coefficients, min } of program.rows) {
        const sum = [...coefficients].reduce((all, [index, value]) => all + value * (found?.values[index] ?? 0), 0)
        expect(sum).toBeGreaterThanOrEqual(min - 1e-6)
      }
      expect(found?.values.every(value => value >= -1e-6)).toBe(true)
    })
    fc.assert(property, { numRuns: 300 })
    expect(solved).toBeGreaterThan(50)
  })
})
