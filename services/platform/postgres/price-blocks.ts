import sql, { raw, type Sql } from 'sql-template-tag'
import { pricesPerBlock } from './price-block.ts'

/**
 * Put rows of `market_prices` into blocks of JSON by their start: `block` is its number, `prices` what `addBlock` reads. One row for each
 * price would be read in a single turn of the event loop, and takes ten times the time.
 */
export const inBlocks = (prices: Sql): Sql => sql`
  select block, json_build_array(
    json_agg((extract(epoch from start_time) * 1000)::bigint order by start_time), json_agg((extract(epoch from end_time) * 1000)::bigint order by start_time),
    json_agg((value * 1000000000)::bigint order by start_time), json_agg(confidence order by start_time)) as prices
  from (select p.*, (row_number() over (order by start_time) - 1) / ${raw(String(pricesPerBlock))} as block from (${prices}) as p) as numbered
  group by block`
