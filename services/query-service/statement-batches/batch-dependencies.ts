import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import type { FairShare } from '../../platform/concurrency/fair-share.ts'
import type { Logger } from '../../platform/telemetry/logger.ts'
import type { FinaliseDependencies } from '../statements/finalise-statement.ts'

/** Stores and settings of batches. `at` returns the current instant in ms. */
export type BatchDependencies = FinaliseDependencies & {
  readonly clickHouse: ClickHouse
  readonly logger: Pick<Logger, 'warn'>
  readonly at: () => number
}

/** Dependencies of the pages of batches. `turns`: one page is calculated at a time, while another one is read. */
export type PageDependencies = BatchDependencies & { readonly turns: FairShare }
