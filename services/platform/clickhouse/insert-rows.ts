import { runInTimeSlices } from '../concurrency/time-slices.ts'
import type { ClickHouse } from './clickhouse.ts'
import { type BlockColumn, encodeBlocksInSteps } from './encoding/fast-path/native-block.ts'

/** Insert rows into a table. Without rows, the store is not called. */
export const insertRows = async <Row>(
  db: ClickHouse,
  table: string,
  columns: readonly BlockColumn<Row>[],
  rows: readonly Row[],
): Promise<void> => {
  if (rows.length > 0)
    await db.insert({ table, columns, bytes: await runInTimeSlices(encodeBlocksInSteps(columns, rows)) })
}
