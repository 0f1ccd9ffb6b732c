import sql, { raw, type Sql } from 'sql-template-tag'
import type { PriceInterval } from './price-overlap.ts'

/** Published or forecast prices as columns, in order of time: start and end in ms, value in 1e-9 per kWh. */
export type PriceColumns = {
  readonly starts: readonly number[]
  readonly ends: readonly number[]
  readonly values: readonly bigint[]
}

/** Columns of prices that are read block by block. A null confidence belongs to a published price. */
export type ReadPrices = {
  readonly starts: number[]
  readonly ends: number[]
  readonly values: bigint[]
  readonly confidences: (number | null)[]
}

export const noPrices = (): ReadPrices => ({ starts: [], ends: [], values: [], confidences: [] })

/** Maximum prices of a block. Reading or writing a block takes some milliseconds. */
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

/** Read blocks of prices in order of time. */
export const pricesFrom = (blocks: readonly string[]): readonly PriceInterval[] => {
  const read: PriceInterval[] = []
  for (const block of blocks) {
    const { starts, ends, values } = noPrices()
    addBlock({ starts, ends, values, confidences: [] }, block)
    for (const [index, start] of starts.entries())
      read.push({ start, end: ends[index] as number, value: values[index] as bigint })
  }
  return read
}

/**
 * Collect rows of `market_prices` in blocks of JSON by their start. `block` is the number, `prices` the input of
 * `addBlock`. One row per price takes ten times as long, in a single turn of the event loop.
 */
export const inBlocks = (prices: Sql): Sql => sql`
  select block, json_build_array(
    json_agg((extract(epoch from start_time) * 1000)::bigint order by start_time),
    json_agg((extract(epoch from end_time) * 1000)::bigint order by start_time),
    json_agg((value * 1000000000)::bigint order by start_time),
    json_agg(confidence order by start_time)) as prices
  from (select p.*, (row_number() over (order by start_time) - 1) / ${raw(String(pricesPerBlock))} as block
    from (${prices}) as p) as numbered
  group by block`
