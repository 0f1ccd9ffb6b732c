import { planSummaryToWire } from '../contract/plans/plan.ts'
import { locationEvent } from '../contract/registry/location-view.ts'
import type { Database } from '../platform/postgres/database.ts'
import { writeEvents } from '../platform/postgres/events/events.ts'
import type { OutboxMessage } from '../platform/postgres/events/outbox.ts'
import { applyPlan } from '../platform/postgres/plans/apply-sites.ts'
import { readPlanTerms } from '../platform/postgres/plans/plan-terms.ts'
import {
  delayPlan,
  endPlanTurns,
  nextPlanTurn,
  type PlanTurn,
  staleLocations,
} from '../platform/postgres/plans/plan-turns.ts'
import { lockPlan, withVersions } from '../platform/postgres/plans/plans.ts'
import { type TenantTransaction, withOperator } from '../platform/postgres/transaction.ts'
import type { LeasedWork } from '../platform/role-module.ts'
import type { RecostRelay } from './recost-relay.ts'

export type PlanWorkOptions = {
  readonly database: Database
  readonly publishRecosts: RecostRelay['publish']
  /** Current instant in ms. */
  readonly at: () => number
}

/** Report that the work on a plan has ended: all its locations are done, or they cannot be changed. */
const reportEnd = async (transaction: TenantTransaction, turn: PlanTurn, at: number): Promise<void> => {
  const plan = await lockPlan(transaction, turn.planId, 'share')
  const [shown] = plan === null ? [] : await withVersions(transaction, [plan])
  if (shown === undefined) return
  await writeEvents(transaction, [{ type: 'plan.update', objectId: turn.planId, data: planSummaryToWire(shown) }], at)
}

/**
 * Change one page of the locations of a plan in one transaction: their tariffs and charges, the events, the recost
 * requests and the revision of their assignments. A page that fails is repeated as a whole. Returns the recost requests.
 */
const applyPage = (database: Database, turn: PlanTurn, at: number): Promise<readonly OutboxMessage[]> =>
  withOperator(database, async ({ query }) => {
    const transaction = { accountId: turn.accountId, liveMode: turn.liveMode, query }
    await lockPlan(transaction, turn.planId, 'share')
    const terms = await readPlanTerms(transaction, turn.planId)
    const page = terms === null ? [] : await staleLocations(query, turn, at, terms.locationsPerPage)
    if (terms === null || page.length === 0) {
      if (await endPlanTurns(query, turn)) await reportEnd(transaction, turn, at)
      return []
    }
    const { locations, recostRequests } = await applyPlan(transaction, terms, page, at)
    const events = locations.map(location => locationEvent('location.update', location, at))
    await writeEvents(transaction, events, at)
    await delayPlan(query, turn, at)
    return recostRequests
  })

/**
 * Work that applies changed plans to their locations. Each turn changes one page of one plan; accounts take turns.
 * Source: docs/rules/plans.md #progress.
 */
export const planWork = (options: PlanWorkOptions): LeasedWork => {
  let lastAccountId = ''
  return {
    name: 'plans',
    restMs: 500,
    turn: async () => {
      const now = options.at()
      const turn = await nextPlanTurn(options.database.operator, lastAccountId, now)
      if (turn === null) return false
      // First, so that a plan whose page fails does not stop the plans of other accounts.
      lastAccountId = turn.accountId
      await options.publishRecosts(await applyPage(options.database, turn, now))
      return true
    },
  }
}
