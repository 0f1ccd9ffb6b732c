import loadHighs from 'highs'

/** The package's types are those of its CommonJS form, whose default export is a member. */
const highs = await (loadHighs as unknown as (typeof loadHighs)['default'])()

/** Variable of a program, from 0 to `most`. */
export type Variable = { readonly name: string; readonly max: number; readonly cost: number }

/** Write what all variables cost together. */
export const costsOf = (variables: readonly Variable[]): string =>
  variables.map(({ name, cost }) => `${cost < 0 ? '-' : '+'} ${Math.abs(cost)} ${name}`).join(' ')

/** Solve a linear program, of which some variables may be 0 or 1 only, and give its value. */
export const solveProgram = (
  sense: 'Maximize' | 'Minimize',
  objective: string,
  rows: readonly string[],
  variables: readonly Variable[],
  flags: readonly string[] = [],
): number => {
  const text = [
    sense,
    `obj: ${objective}`,
    'Subject To',
    ...rows.map((row, index) => `r${index}: ${row}`),
    'Bounds',
    ...variables.map(({ name, max: most }) => `0 <= ${name} <= ${most}`),
    ...(flags.length === 0 ? [] : ['Binary', ...flags]),
    'End',
  ].join('\n')
  const { Status: status, ObjectiveValue: value } = highs.solve(text, {
    output_flag: false,
    primal_feasibility_tolerance: 1e-9,
    dual_feasibility_tolerance: 1e-9,
    mip_rel_gap: 1e-9,
    mip_feasibility_tolerance: 1e-9,
  })
  if (status !== 'Optimal') throw new Error(`the program is ${status}`)
  return value
}
