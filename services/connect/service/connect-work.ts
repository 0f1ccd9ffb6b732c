import { locationEvent } from '../../contract/registry/location-view.ts'
import { dayMs } from '../../domain/interval.ts'
import { accepted } from '../../domain/refusal.ts'
import { retrieveTariff } from '../../platform/postgres/pricing/tariffs.ts'
import { lockLocation, updateLocation } from '../../platform/postgres/registry/locations.ts'
import { findProviders } from '../../platform/postgres/registry/providers.ts'
import { changeTenant, type Tenant, withTenant } from '../../platform/postgres/transaction.ts'
import type { LeasedWork } from '../../platform/role-module.ts'
import { publishRecosts } from '../../query-service/change.ts'
import { misplacedLocations } from '../postgres/connect-session-markets.ts'
import {
  removeExpiredSessions,
  retrieveConnectSession,
  type SessionKey,
  unannouncedSessions,
  updateConnectSession,
} from '../postgres/connect-sessions.ts'
import {
  dueCredentials,
  postponeFetch,
  removeUnused,
  retrieveCredentials,
  type TariffCredentials,
} from '../postgres/tariff-credentials.ts'
import { writeEffects } from './change-session.ts'
import { type ConnectDependencies, type ConnectTransaction, connectTransaction } from './connect-dependencies.ts'
import { fetchPlan, type PlanFetchResult } from './fetch-plan.ts'
import { announceIfPriced, finishSession } from './finish-session.ts'
import type { PutTariffResult } from './put-tariff.ts'
import { readUsablePlan, recordFetchFailure, saveFetchedTariff, withFetchedTariff } from './save-fetched-tariff.ts'

/** Pause between two runs. */
const restMs = 20_000
const retryDelayMs = 600_000
const maxPerRun = 20
/** Time after completion in which the events of sessions without a price remain pending. */
const announceWithinMs = 7 * dayMs

type TenantKey = Tenant & { readonly id: string }

/** Change records of one tenant as the actor `system`, with events, audit entries and recost requests. */
const changeAsSystem = async (
  dependencies: ConnectDependencies,
  { accountId, liveMode }: Tenant,
  at: number,
  work: (transaction: ConnectTransaction) => Promise<void>,
): Promise<void> => {
  const outcome = await changeTenant(dependencies.database, { accountId, liveMode }, async tenantTransaction => {
    const transaction = connectTransaction(tenantTransaction, dependencies, at)
    await work(transaction)
    await writeEffects(transaction, 'system')
    return accepted(transaction.effects)
  })
  if (!outcome.ok) throw new Error(outcome.refusal.message)
  await publishRecosts(dependencies, outcome.value)
}

/** Complete a session whose pending tariff has been fetched. */
const finishPendingSession = async (
  transaction: ConnectTransaction,
  { sessionId }: TariffCredentials,
  delivered: PutTariffResult,
): Promise<void> => {
  const session = await retrieveConnectSession(transaction, sessionId, { forUpdate: true })
  if (session === null || session.completedAt !== null) return
  await updateConnectSession(transaction, await finishSession(transaction, withFetchedTariff(session, delivered)))
}

const saveFetched = async (
  transaction: ConnectTransaction,
  id: string,
  fetchResult: PlanFetchResult,
): Promise<void> => {
  const credentials = await retrieveCredentials(transaction, id, { forUpdate: true })
  if (credentials === null) return
  const usablePlan = fetchResult.kind === 'plan' ? await readUsablePlan(credentials, fetchResult.plan) : null
  const saved = usablePlan?.ok === true ? await saveFetchedTariff(transaction, credentials, usablePlan.value) : null
  if (saved?.ok !== true) return recordFetchFailure(transaction, credentials)
  if (saved.value !== null && credentials.fetchedAt === null)
    await finishPendingSession(transaction, credentials, saved.value)
}

/** Fetch one tariff from its provider and save the result. */
const syncTariff = async (
  dependencies: ConnectDependencies,
  { id, ...tenant }: TenantKey,
  at: number,
): Promise<void> => {
  const stored = await withTenant(dependencies.database, tenant, async transaction => {
    const credentials = await retrieveCredentials(transaction, id)
    const [provider] = credentials === null ? [] : await findProviders(transaction.query, [credentials.providerId])
    return { credentials, appUrl: provider?.direct?.appUrl ?? null }
  })
  if (stored.credentials === null) return
  const fetchResult: PlanFetchResult =
    stored.appUrl === null ? { kind: 'away' } : await fetchPlan(dependencies, stored.appUrl, stored.credentials)
  await changeAsSystem(dependencies, tenant, at, transaction => saveFetched(transaction, id, fetchResult))
}

/** Publish the event of a session whose tariff had no price when it was saved, after the tariff has a price. */
const announceSession = (dependencies: ConnectDependencies, { id, ...tenant }: TenantKey, at: number): Promise<void> =>
  changeAsSystem(dependencies, tenant, at, async transaction => {
    const session = await retrieveConnectSession(transaction, id, { forUpdate: true })
    if (session === null || session.tariffId === null) return
    const tariff = await retrieveTariff(transaction, session.tariffId)
    const announced = await announceIfPriced(transaction, session, tariff)
    if (announced !== session) await updateConnectSession(transaction, announced)
  })

/** Link locations with an empty market source of their area to the source that has prices now. */
const relinkMarkets = async (dependencies: ConnectDependencies, at: number): Promise<void> => {
  for (const { locationId, emptyId, filledId, ...tenant } of await misplacedLocations(dependencies.database, 100)) {
    const relinked = (id: string | null): string | null => (id === emptyId ? filledId : id)
    await changeAsSystem(dependencies, tenant, at, async transaction => {
      const before = await lockLocation(transaction, locationId)
      if (before === null) return
      const [importSourceId, exportSourceId] = [relinked(before.importSourceId), relinked(before.exportSourceId)]
      const overrides = {
        ...before.overrides,
        importSourceId: relinked(before.overrides.importSourceId),
        exportSourceId: relinked(before.overrides.exportSourceId),
      }
      const draft = { ...before, importSourceId, exportSourceId, overrides }
      const changed = await updateLocation(transaction, before, draft, at)
      if (!changed.ok) return
      const { location, recostRequest } = changed.value
      transaction.effects.events.push(locationEvent('location.update', location, at))
      transaction.effects.recostRequests.push(recostRequest)
    })
  }
}

/** Publish the events of all sessions whose tariffs have a price now. Sessions that still wait do not delay others. */
const announceSessions = async (dependencies: ConnectDependencies, attempt: Attempt, at: number): Promise<void> => {
  let after: Pick<SessionKey, 'completedAt' | 'id'> = { completedAt: at - announceWithinMs, id: '' }
  for (let mayHaveMore = true; mayHaveMore; ) {
    const keys = await unannouncedSessions(dependencies.database.operator, after, maxPerRun)
    for (const key of keys) await attempt(announceSession(dependencies, key, at))
    after = keys.at(-1) ?? after
    mayHaveMore = keys.length === maxPerRun
  }
}

/** Run work that may fail. Returns false if it failed. */
type Attempt = (work: Promise<void>) => Promise<boolean>

/**
 * Do the work that is due at `at` (ms): fetch tariffs from their providers, publish events of sessions, remove expired
 * sessions. Failed work is logged and retried later. Returns true if more work is due. Must run in one process at a
 * time.
 */
export const runConnectWork = async (dependencies: ConnectDependencies, at: number): Promise<boolean> => {
  const { database, logger } = dependencies
  const attempt: Attempt = work =>
    work.then(
      () => true,
      error => {
        logger.warn({ err: error }, 'Connect work failed, retrying later')
        return false
      },
    )
  const due = await dueCredentials(database.operator, at, maxPerRun)
  await Promise.all(
    due.map(async key => {
      if (!(await attempt(syncTariff(dependencies, key, at))))
        await postponeFetch(database.operator, key, at + retryDelayMs)
    }),
  )
  await attempt(relinkMarkets(dependencies, at))
  await announceSessions(dependencies, attempt, at)
  await removeUnused(database.operator, at - dayMs)
  await removeExpiredSessions(database.operator, at - dayMs, at - announceWithinMs)
  return due.length === maxPerRun
}

/** Create the background work of Connect. Its lease lets one process run it at a time. */
export const connectWork = (dependencies: ConnectDependencies, now: () => number): LeasedWork => ({
  name: 'connect',
  restMs,
  turn: () => runConnectWork(dependencies, now()),
})
