import type { TimeZone } from '../../domain/civil-time.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import type { BatchIds } from '../../platform/ids/batch-id.ts'
import type { Database } from '../../platform/postgres/database.ts'
import type { WorkThread } from '../../platform/work-thread/work-thread.ts'

/** What the readings of costs, records and receipts are made from. */
export type CostDependencies = {
  readonly database: Database
  readonly clickHouse: ClickHouse
  readonly batchIds: BatchIds
  /** Find a zone by its IANA name; null when none has it. */
  readonly timeZone: (name: string) => TimeZone | null
  /** Does what takes long. */
  readonly thread: Pick<WorkThread, 'begin'>
}
