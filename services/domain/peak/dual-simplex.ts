/**
 * Linear program: minimise `costs` · x so that `row.coefficients` · x ≥ `row.min` for each row, and x ≥ 0. No cost is
 * below 0.
 */
export type LinearProgram = {
  readonly costs: readonly number[]
  readonly rows: readonly { readonly coefficients: ReadonlyMap<number, number>; readonly min: number }[]
}

/** Minimum of a program, and the values of its variables. */
export type LinearSolution = { readonly value: number; readonly values: readonly number[] }

/** Values below this are rounding errors of floating-point numbers. */
const negligible = 1e-10
const maxPivots = 5_000

/** Dictionary: each basic variable and the objective as a constant and coefficients of the free variables. */
type Dictionary = {
  readonly table: Float64Array[]
  readonly basic: Int32Array
  readonly free: Int32Array
}

const createDictionary = ({ costs, rows }: LinearProgram): Dictionary => {
  const width = costs.length + 1
  const table = rows.map(({ coefficients, min }) => {
    const row = new Float64Array(width)
    const scale = Math.max(1e-30, ...[...coefficients.values()].map(Math.abs))
    for (const [variable, coefficient] of coefficients) row[variable] = coefficient / scale
    row[width - 1] = -min / scale
    return row
  })
  table.push(Float64Array.from([...costs, 0]))
  return {
    table,
    basic: Int32Array.from(rows, (_, index) => costs.length + index),
    free: Int32Array.from(costs, (_, index) => index),
  }
}

/** Return the row of the most negative basic variable; −1 if there is none. */
const leavingRow = ({ table, basic }: Dictionary): number => {
  let [found, lowest] = [-1, -1e-9]
  const constant = (table[0] as Float64Array).length - 1
  for (let row = 0; row < basic.length; row += 1) {
    const line = table[row] as Float64Array
    if ((line[constant] as number) >= lowest) continue
    lowest = line[constant] as number
    found = row
  }
  return found
}

/**
 * Return the column that raises a row at the lowest cost for each unit; −1 if none raises it. Among equal ones the
 * largest coefficient causes the smallest rounding errors.
 */
const enteringColumn = ({ table, free }: Dictionary, row: number): number => {
  const line = table[row] as Float64Array
  const costs = table[table.length - 1] as Float64Array
  let [found, lowest] = [-1, Number.POSITIVE_INFINITY]
  for (let column = 0; column < free.length; column += 1) {
    const coefficient = line[column] as number
    if (coefficient <= negligible) continue
    const ratio = Math.max(0, costs[column] as number) / coefficient
    const isEqual = Math.abs(ratio - lowest) <= negligible
    if (isEqual ? coefficient <= (line[found] as number) : ratio > lowest) continue
    lowest = ratio
    found = column
  }
  return found
}

/** Exchange the basic variable of a row and the free variable of a column. */
const pivot = ({ table, basic, free }: Dictionary, row: number, column: number): void => {
  const line = table[row] as Float64Array
  const inverse = 1 / (line[column] as number)
  for (let index = 0; index < line.length; index += 1) line[index] = -(line[index] as number) * inverse
  line[column] = inverse
  for (const [index, other] of table.entries()) {
    const factor = other[column] as number
    if (index === row || factor === 0) continue
    other[column] = 0
    for (let at = 0; at < line.length; at += 1) other[at] = (other[at] as number) + factor * (line[at] as number)
  }
  const leaving = basic[row] as number
  basic[row] = free[column] as number
  free[column] = leaving
}

/**
 * Solve a small linear program by the dual simplex method, in floating point. Returns null if the program has no
 * solution, or if rounding errors prevent one.
 * Source: Lemke (1954), https://doi.org/10.1002/nav.3800010107.
 */
export const solveLinearProgram = (program: LinearProgram): LinearSolution | null => {
  const dictionary = createDictionary(program)
  const { table, basic } = dictionary
  const constant = program.costs.length
  for (let pivots = 0; ; pivots += 1) {
    const row = leavingRow(dictionary)
    if (row === -1) break
    const column = enteringColumn(dictionary, row)
    if (column === -1 || pivots === maxPivots) return null
    pivot(dictionary, row, column)
  }
  const values = new Array<number>(constant).fill(0)
  for (const [row, variable] of basic.entries())
    if (variable < constant) values[variable] = (table[row] as Float64Array)[constant] as number
  return { value: (table[table.length - 1] as Float64Array)[constant] as number, values }
}
