import sql, { raw } from 'sql-template-tag'
import { dayMs, minuteMs } from '../../domain/interval.ts'
import { retryGapsMs } from '../../domain/webhook/delivery-attempt.ts'
import { toTimestamp } from './column.ts'
import { countRows, type Query } from './database.ts'

/** Column with the time at which work of a row is due. `longestMs`: longest delay that its writers give, in ms. */
export type DueColumn = { readonly table: string; readonly column: string; readonly longestMs: number }

/** A Retry-After doubles the last pause. */
const longestWebhookPauseMs = 2 * Math.max(...retryGapsMs)

/**
 * Columns of delayed work, without `contract_timers`: the end of a contract is not a delay.
 * Exports, pages of statements and simulations have claims of 15 s. Plans and refused locations have pauses of 10 min,
 * fetches of tariffs and erasures pauses of a day. Market feeds wait until the publication of the next day.
 */
export const dueColumns: readonly DueColumn[] = [
  { table: 'webhook_deliveries', column: 'due_at', longestMs: longestWebhookPauseMs },
  { table: 'exports', column: 'due_at', longestMs: minuteMs },
  { table: 'simulations', column: 'due_at', longestMs: minuteMs },
  { table: 'statement_batch_pages', column: 'due_at', longestMs: minuteMs },
  { table: 'plan_turns', column: 'due_at', longestMs: 10 * minuteMs },
  { table: 'plan_assignments', column: 'retry_at', longestMs: 10 * minuteMs },
  { table: 'tariff_credentials', column: 'due_at', longestMs: dayMs },
  { table: 'erasures', column: 'due_at', longestMs: dayMs },
  { table: 'market_feeds', column: 'next_at', longestMs: 3 * dayMs },
]

/** Clocks of processes and of the database differ by less. */
const toleranceMs = minuteMs
/** Max rows of a statement. */
const maxRows = 5_000

/**
 * Make work due at `at` (ms) if its time is later than its writers can delay it: the clock of the database went back.
 * Changes up to 5,000 rows of each column. Returns true if more rows can be left. Operator.
 */
export const repairDueTimes = async (operator: Query, at: number): Promise<boolean> => {
  let hasMore = false
  for (const { table, column, longestMs } of dueColumns) {
    const [rows, time] = [raw(table), raw(column)]
    const latest = toTimestamp(at + longestMs + toleranceMs)
    const changed = await countRows(operator)(sql`
      update ${rows} set ${time} = ${toTimestamp(at)}
      where ctid = any(array(select ctid from ${rows} where ${time} > ${latest} limit ${maxRows} for update skip locked))`)
    hasMore ||= changed === maxRows
  }
  return hasMore
}
