import { tariffEvent } from '../contract/events/event.ts'
import { minuteMs } from '../domain/interval.ts'
import { groupByTenant } from '../domain/tenant.ts'
import type { Database } from '../platform/postgres/database.ts'
import { repairDueTimes } from '../platform/postgres/due-times.ts'
import { deleteExpiredEvents, writeEvents } from '../platform/postgres/events/events.ts'
import { takeContractTimers } from '../platform/postgres/pricing/contract-timers.ts'
import { deleteExpiredConsoleSessions } from '../platform/postgres/registry/console-sessions.ts'
import { deleteExpiredIdempotency } from '../platform/postgres/registry/idempotency.ts'
import { deleteExpiredSimulations } from '../platform/postgres/simulations/simulations.ts'
import { deleteExpiredBatches } from '../platform/postgres/statements/statement-batches.ts'
import { deleteExpiredStatements } from '../platform/postgres/statements/statements.ts'
import { withOperator } from '../platform/postgres/transaction.ts'
import type { LeasedWork } from '../platform/role-module.ts'

const maxPerTurn = 500
const maxExpiredPerTurn = 1_000
const maxExpiredBatches = 10

/**
 * Publish events of contracts that end within ten days and of contracts that have ended, up to `maxTimers` of those due
 * by `at` (ms).
 * Returns the number of timers. An event and the removal of its timer are one transaction, so each event is written
 * once. A contract that the next version of a plan continues has no event.
 * Source: docs/rules/events-and-webhooks.md #event-types.
 */
export const publishContractEndEvents = (database: Database, at: number, maxTimers = maxPerTurn): Promise<number> =>
  withOperator(database, async transaction => {
    const timers = await takeContractTimers(transaction, at, maxTimers)
    for (const [tenant, tenantTimers] of groupByTenant(timers.filter(({ continues }) => !continues))) {
      const events = tenantTimers.map(timer => tariffEvent(timer.type, timer))
      await writeEvents({ ...tenant, query: transaction.query }, events, at)
    }
    return timers.length
  })

/**
 * Work on a timer: events of contract ends within 1 s, and removal of expired data within minutes. Delayed work is due
 * within 5 min after the clock of the database went back.
 */
export const recordTimers = (database: Database, at: () => number): readonly LeasedWork[] => [
  {
    name: 'contract-ends',
    restMs: 1_000,
    turn: async () => (await publishContractEndEvents(database, at())) === maxPerTurn,
  },
  { name: 'due-times', restMs: 5 * minuteMs, turn: () => repairDueTimes(database.operator, at()) },
  {
    name: 'expiry',
    restMs: minuteMs,
    turn: async () => {
      const { operator } = database
      const events = await deleteExpiredEvents(operator, at(), maxExpiredPerTurn)
      const keys = await deleteExpiredIdempotency(operator, at(), maxExpiredPerTurn)
      const sessions = await deleteExpiredConsoleSessions(operator, at(), maxExpiredPerTurn)
      const statements = await deleteExpiredStatements(operator, at(), maxExpiredPerTurn)
      const simulations = await deleteExpiredSimulations(operator, at(), maxExpiredPerTurn)
      // A batch has up to 1,000 pages.
      const batches = await deleteExpiredBatches(operator, at(), maxExpiredBatches)
      const deleted = [events, keys, sessions, statements, simulations]
      return batches === maxExpiredBatches || deleted.includes(maxExpiredPerTurn)
    },
  },
]
