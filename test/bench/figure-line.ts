/** One figure with its goal, and its limit from the same run. */
export type FigureLine = {
  readonly promise: string
  readonly figure: string
  readonly value: number
  readonly unit: string
  readonly limit: number | null
  readonly ratio: number | null
  readonly goal: string
}

/** Functions that measure the figures of a promise, by its name. */
export type Measures = Readonly<Record<string, () => Promise<readonly FigureLine[]>>>

/** Return a figure without a limit. */
export const lineOf = (promise: string, figure: string, value: number, unit: string, goal: string): FigureLine => ({
  promise,
  figure,
  value,
  unit,
  goal,
  limit: null,
  ratio: null,
})

/** Return a figure with a limit or another value to compare, and the ratio of both. */
export const ratioLine = (
  promise: string,
  figure: string,
  value: number,
  limit: number,
  unit: string,
  goal: string,
): FigureLine => ({
  promise,
  figure,
  value,
  unit,
  goal,
  limit,
  ratio: value / limit,
})

const formatValue = (value: number | null): string => {
  if (value === null) return ''
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2)
}

const headings = ['figure'.padEnd(48), 'value'.padStart(12), 'unit'.padEnd(11), 'limit'.padStart(12), 'ratio   goal']

/** Heading of the table. */
export const tableHead = `${headings.join(' ')}\n`

/** Format a figure as a line of the table. */
export const tableLine = ({ promise, figure, value, unit, limit, ratio, goal }: FigureLine): string => {
  const cells = [
    promise.padEnd(5),
    figure.padEnd(42),
    formatValue(value).padStart(12),
    unit.padEnd(11),
    formatValue(limit).padStart(12),
  ]
  return `${cells.join(' ')} ${ratio === null ? '      ' : `${ratio.toFixed(2)} ×`}  ${goal}\n`
}
