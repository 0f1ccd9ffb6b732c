import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import {
  blocksAcrossBuckets,
  type RowFilter,
  type Tenant,
} from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import { decodeMeterCostRows } from '../../platform/clickhouse/meter-cost/meter-cost-rows.ts'
import { type CrossingRows, readBucketSums } from '../../platform/clickhouse/meter-cost/meter-cost-sums.ts'
import { Failure } from '../../platform/failure.ts'
import type { StoredCosts } from '../work/cost-work.ts'
import { areSmall } from './answer-costs.ts'

/** How often rows are read that change meanwhile. */
const maxReads = 20

const crossedRowsOf = (blocks: readonly Buffer[]): CrossingRows => {
  const rows = blocks.flatMap(decodeMeterCostRows)
  return {
    records: rows.length,
    versions: BigInt.asUintN(
      64,
      rows.reduce((sum, { version }) => sum + version, 0n),
    ),
  }
}

type ConsistentRead = { readonly lines: string; readonly blocks: readonly Buffer[] }

/** Read the sums and the rows that cross edges; null if those rows changed in between. */
const readOnce = async (
  db: ClickHouse,
  tenant: Tenant,
  filter: RowFilter,
  edges: readonly number[],
): Promise<ConsistentRead | null> => {
  const { lines, crossingRows: crossed } = await readBucketSums(db, tenant, filter, edges)
  if (crossed === null) return { lines, blocks: [] }
  const blocks: Buffer[] = []
  for await (const block of blocksAcrossBuckets(db, tenant, filter, edges)) blocks.push(block)
  // To decode many rows takes longer than to add them up again in the engine.
  const crossedAgain = areSmall(blocks)
    ? crossedRowsOf(blocks)
    : (await readBucketSums(db, tenant, filter, edges)).crossingRows
  return crossedAgain?.records === crossed.records && crossedAgain.versions === crossed.versions
    ? { lines, blocks }
    : null
}

/**
 * Read what some filters cost between edges, for the work that adds it up. Each filter shows one state of its rows: the sums are one statement,
 * and a row that crosses an edge crosses it in each of its versions, because start and end belong to its identity. So rows that cross edges and
 * are the same as in the sums belong to that state; otherwise both are read again. Filters are of different locations, which are costed
 * apart from each other. Throws `costs_changing` (retriable) if rows change during each of several reads.
 */
export const readCosts = async (
  db: ClickHouse,
  tenant: Tenant,
  filters: readonly RowFilter[],
  edges: readonly number[],
): Promise<StoredCosts> => {
  const sums: string[] = []
  const blocks: Buffer[] = []
  for (const filter of filters) {
    let read: ConsistentRead | null = null
    for (let reads = 0; read === null && reads < maxReads; reads += 1) read = await readOnce(db, tenant, filter, edges)
    if (read === null)
      throw new Failure('costs_changing', 'the rows of a cost read changed during each read', { retriable: true })
    sums.push(read.lines)
    blocks.push(...read.blocks)
  }
  return { edges, sums, blocks }
}
