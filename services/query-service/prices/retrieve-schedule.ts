import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import { type scheduleAmountRetrieve, scheduleRetentionMs } from '../../contract/schedules/schedule-amount.ts'
import { isId } from '../../domain/identifier.ts'
import { refused } from '../../domain/refusal.ts'
import { listEvents } from '../../platform/postgres/events/events.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { tenantOf } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { runWork } from '../work/run-work.ts'

const noSchedule = refused('not_found', 'No schedule by amount of the last 24 hours has this id. Create a new schedule')

const oneItem = { limit: 1, startingAfter: null, endingBefore: null }

/** Maximum length in characters of a plan that the request thread converts to the earlier API version, which takes some ms. */
const maxInlineLength = 65_536

/** Answer a stored plan from its `schedule.created` event. Source: docs/rules/schedules.md #reading-a-plan. */
export const retrieveSchedule = async (
  { database, thread }: QueryServiceDependencies,
  request: RequestOf<typeof scheduleAmountRetrieve>,
): Promise<Outcome<AnswerOf<typeof scheduleAmountRetrieve>>> => {
  const { id, at, apiVersion, caller, signal } = request
  if (!isId('scheduleAmount', id)) return noSchedule
  const filter = { types: ['schedule.created'], objectId: id, from: at - scheduleRetentionMs + 1, to: null }
  const found = await withTenant(database, tenantOf(request), transaction => listEvents(transaction, filter, oneItem))
  const event = found.ok ? found.value.items[0] : undefined
  if (event === undefined) return noSchedule
  if (apiVersion === 'current') return { ok: true, serialized: { bytes: Buffer.from(event.data) } }
  const isSmall = event.data.length <= maxInlineLength
  const started = await runWork(thread, {
    name: 'eventData',
    input: { event, apiVersion },
    isSmall,
    account: caller.accountId,
    signal,
  })
  return started.ok ? { ok: true, serialized: started.value.answer } : started
}
