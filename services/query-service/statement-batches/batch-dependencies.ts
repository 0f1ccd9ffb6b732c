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

/** Dependencies of the pages of batches. `turns`: one page of an account is calculated at a time. */
export type PageDependencies = BatchDependencies & { readonly turns: FairShare }
