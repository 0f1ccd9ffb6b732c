/** One figure beside its limit in the same run, and the goal for it. */
export type Line = {
  readonly promise: string
  readonly figure: string
  readonly value: number
  readonly unit: string
  readonly limit: number | null
  readonly ratio: number | null
  readonly goal: string
}

/** What measures the figures of a promise. */
export type Measures = Readonly<Record<string, () => Promise<readonly Line[]>>>

/** A figure that stands alone. */
export const lineOf = (promise: string, figure: string, value: number, unit: string, goal: string): Line => ({
  ...{ promise, figure, value, unit, goal },
  limit: null,
  ratio: null,
})

/** A figure beside what it is compared with: its share of a limit, or how much more it is than something smaller. */
export const lineBeside = (
  promise: string,
  figure: string,
  value: number,
  limit: number,
  unit: string,
  goal: string,
): Line => ({
  ...{ promise, figure, value, unit, goal, limit },
  ratio: value / limit,
})

const shown = (value: number | null): string => {
  if (value === null) return ''
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2)
}

/** The head of the table. */
export const tableHead = `${'what'.padEnd(40)} ${'value'.padStart(12)} ${'unit'.padEnd(11)} ${'limit'.padStart(12)} ratio   goal\n`

/** A figure as a line of the table. */
export const tableLine = ({ promise, figure, value, unit, limit, ratio, goal }: Line): string => {
  const cells = [
    promise.padEnd(5),
    figure.padEnd(34),
    shown(value).padStart(12),
    unit.padEnd(11),
    shown(limit).padStart(12),
  ]
  return `${cells.join(' ')} ${ratio === null ? '      ' : `${ratio.toFixed(2)} ×`}  ${goal}\n`
}
