import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import {
  blocksAcrossBuckets,
  type RowFilter,
  type Tenant,
} from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import { decodeMeterCostRows } from '../../platform/clickhouse/meter-cost/meter-cost-rows.ts'
import { type CrossingRows, readBucketSums } from '../../platform/clickhouse/meter-cost/meter-cost-sums.ts'
import { Failure } from '../../platform/failure.ts'
import type { StoredCosts } from '../work-thread/cost-work.ts'
import { areSmall } from './answer-costs.ts'

/** Maximum number of reads of rows that change during the read. */
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

/** Sums and crossing rows of the same state of the stored rows. */
type ConsistentRead = { readonly lines: string; readonly blocks: readonly Buffer[] }

/** Read the sums and the rows that cross edges; null if the crossing rows changed between the two reads. */
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
  // Decoding many rows takes longer than adding them up again in ClickHouse.
  const crossedAgain = areSmall(blocks)
    ? crossedRowsOf(blocks)
    : (await readBucketSums(db, tenant, filter, edges)).crossingRows
  return crossedAgain?.records === crossed.records && crossedAgain.versions === crossed.versions
    ? { lines, blocks }
    : null
}

/**
 * Read the costs of the rows that match each filter, between edges. The result of each filter shows one state of its
 * rows. One statement reads the sums. A row that crosses an edge crosses it in each version, because start and end are
 * part of its identity. If the crossing rows are unchanged since the sums, both belong to the same state. Otherwise
 * both are read again. The filters select different locations, whose costs do not depend on each other. Throws
 * `costs_changing` (retriable) after 20 reads during which rows changed.
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
      throw new Failure('costs_changing', 'The stored costs changed during each read. Repeat the request.', {
        retriable: true,
      })
    sums.push(read.lines)
    blocks.push(...read.blocks)
  }
  return { edges, sums, blocks }
}
