import type { PriceInterval } from './pricing/price-overlap.ts'

/** Prices of one layer as columns, in the order of time: start and end in ms, value in 1e-9 per kWh. */
export type PriceColumns = {
  readonly starts: readonly number[]
  readonly ends: readonly number[]
  readonly values: readonly bigint[]
}

/** Columns of prices that are read block by block. `confidences` null: of a published price. */
export type ReadPrices = {
  readonly starts: number[]
  readonly ends: number[]
  readonly values: bigint[]
  readonly confidences: (number | null)[]
}

export const noPrices = (): ReadPrices => ({ starts: [], ends: [], values: [], confidences: [] })

/** Most prices of a block: read and written at once, they take some milliseconds. */
export const pricesPerBlock = 1_024

/** Add a block of prices. Values are below 2^53 (a million per kWh in 1e-9), so JSON numbers carry them exactly. */
export const addBlock = (prices: ReadPrices, block: string): void => {
  const [starts, ends, values, confidences] = JSON.parse(block) as readonly [
    number[],
    number[],
    number[],
    (number | null)[],
  ]
  for (const [index, start] of starts.entries()) {
    prices.starts.push(start)
    prices.ends.push(ends[index] as number)
    prices.values.push(BigInt(values[index] as number))
    prices.confidences.push(confidences[index] as number | null)
  }
}

/** Read blocks of prices, in the order of time, with a pause after each. */
export function* pricesFrom(blocks: readonly string[]): Generator<undefined, readonly PriceInterval[]> {
  const read: PriceInterval[] = []
  for (const block of blocks) {
    const { starts, ends, values } = noPrices()
    addBlock({ starts, ends, values, confidences: [] }, block)
    for (const [index, start] of starts.entries())
      read.push({ start, end: ends[index] as number, value: values[index] as bigint })
    yield undefined
  }
  return read
}
