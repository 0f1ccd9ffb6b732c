import { accepted } from '../../domain/refusal.ts'
import { misplacedLocations } from '../../platform/postgres/connect-session-markets.ts'
import {
  removeSessions,
  retrieveSession,
  type SessionKey,
  unannouncedSessions,
  updateSession,
} from '../../platform/postgres/connect-sessions.ts'
import { lockLocation, updateLocation } from '../../platform/postgres/locations.ts'
import { findProviders } from '../../platform/postgres/providers.ts'
import {
  dueCredentials,
  putOff,
  removeUnused,
  retrieveCredentials,
  type TariffCredentials,
} from '../../platform/postgres/tariff-credentials.ts'
import { retrieveTariff } from '../../platform/postgres/tariffs.ts'
import { changeTenant, type Tenant, type TenantTransaction, withTenant } from '../../platform/postgres/transaction.ts'
import { publishSoon } from '../change.ts'
import type { LeasedWork } from '../events/timers.ts'
import { writeDeeds } from './change-session.ts'
import { bothDone, type ConnectDependencies, type Deeds, nothingDone } from './connect-dependencies.ts'
import { type Fetched, fetchPlan } from './fetch-plan.ts'
import { announce, finish } from './finish-session.ts'
import { isUsable, keepFailure, keepFetched } from './keep-fetched.ts'
import { locationEvent } from './keep-owner.ts'
import { isPriced } from './summary.ts'

const restMs = 20_000
const putOffMs = 600_000
const atOnce = 20
const dayMs = 86_400_000
/** How long sessions whose tariff has no price yet are looked after. */
const memoryMs = 7 * dayMs

type Key = Tenant & { readonly id: string }

/** Change one tenant's records as the system, with events, audit entries and orders. */
const changeAs = async (
  dependencies: ConnectDependencies,
  tenant: Tenant,
  work: (transaction: TenantTransaction) => Promise<Deeds>,
  at: number,
) => {
  const { accountId, liveMode } = tenant
  const made = await changeTenant(dependencies.database, { accountId, liveMode }, async transaction => {
    const deeds = await work(transaction)
    await writeDeeds(transaction, 'system', { deeds }, at)
    return accepted(deeds)
  })
  if (!made.ok) throw new Error(made.refusal.message)
  await publishSoon(dependencies, { orders: made.value.orders })
}

/** A session whose tariff was on its way is done once the tariff is there. */
const finishWaiting = async (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  { sessionId }: TariffCredentials,
  tariffId: string,
  at: number,
): Promise<Deeds> => {
  const session = await retrieveSession(transaction, sessionId, { forUpdate: true })
  if (session === null || session.completedAt !== null) return nothingDone
  const { value, deeds } = await finish(dependencies, transaction, { ...session, tariffId, savedPrint: null, replaced: [] }, at)
  await updateSession(transaction, value)
  return deeds
}

const keep = async (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  id: string,
  fetched: Fetched,
  at: number,
): Promise<Deeds> => {
  const credentials = await retrieveCredentials(transaction, id, { forUpdate: true })
  if (credentials === null) return nothingDone
  const usable = fetched.kind === 'plan' ? await isUsable(credentials, fetched.plan) : null
  if (usable === null || !usable.ok) return keepFailure(transaction, credentials, at)
  const kept = await keepFetched(dependencies, transaction, credentials, usable.value, at)
  if (!kept.ok) return keepFailure(transaction, credentials, at)
  const tariff = kept.value.value
  if (tariff === null || credentials.fetchedAt !== null) return kept.value.deeds
  return bothDone(kept.value.deeds, await finishWaiting(dependencies, transaction, credentials, tariff.id, at))
}

/** Fetch one tariff from its provider and keep what came of it. */
const syncOne = async (dependencies: ConnectDependencies, { id, ...tenant }: Key, at: number): Promise<void> => {
  const asked = await withTenant(dependencies.database, tenant, async transaction => {
    const credentials = await retrieveCredentials(transaction, id)
    const [provider] = credentials === null ? [] : await findProviders(transaction.query, [credentials.providerId])
    return { credentials, appUrl: provider?.direct?.appUrl ?? null }
  })
  if (asked.credentials === null) return
  const fetched: Fetched = asked.appUrl === null ? { kind: 'away' } : await fetchPlan(dependencies, asked.appUrl, asked.credentials)
  await changeAs(dependencies, tenant, transaction => keep(dependencies, transaction, id, fetched, at), at)
}

/** Tell of a session whose tariff had no price when it was kept, once it has one. */
const announceOne = (dependencies: ConnectDependencies, { id, ...tenant }: Key, at: number): Promise<void> =>
  changeAs(
    dependencies,
    tenant,
    async transaction => {
      const session = await retrieveSession(transaction, id, { forUpdate: true })
      if (session === null || session.tariffId === null) return nothingDone
      const tariff = await retrieveTariff(transaction, session.tariffId)
      const isKnown = await isPriced(dependencies, transaction, tariff, at)
      const { value, deeds } = announce(session, isKnown, at)
      if (value !== session) await updateSession(transaction, value)
      return deeds
    },
    at,
  )

/** Give locations that wait at an empty source of their area the one that has prices by now. */
const rejoinMarkets = async (dependencies: ConnectDependencies, at: number): Promise<void> => {
  for (const { locationId, emptyId, filledId, ...tenant } of await misplacedLocations(dependencies.database, 100)) {
    const moved = (id: string | null): string | null => (id === emptyId ? filledId : id)
    await changeAs(
      dependencies,
      tenant,
      async transaction => {
        const before = await lockLocation(transaction, locationId)
        if (before === null) return nothingDone
        const [importSourceId, exportSourceId] = [moved(before.importSourceId), moved(before.exportSourceId)]
        const overrides = {
          ...before.overrides,
          importSourceId: moved(before.overrides.importSourceId),
          exportSourceId: moved(before.overrides.exportSourceId),
        }
        const changed = await updateLocation(transaction, before, { ...before, importSourceId, exportSourceId, overrides }, at)
        if (!changed.ok) return nothingDone
        const { location, order } = changed.value
        return { ...nothingDone, events: [locationEvent('location.update', location, at)], orders: [order] }
      },
      at,
    )
  }
}

/** Tell of all sessions whose prices have come: those that wait for long keep no other waiting. */
const announceAll = async (dependencies: ConnectDependencies, attempt: Attempt, at: number): Promise<void> => {
  let after: Pick<SessionKey, 'completedAt' | 'id'> = { completedAt: at - memoryMs, id: '' }
  for (let isFull = true; isFull; ) {
    const keys = await unannouncedSessions(dependencies.database.operator, after, atOnce)
    for (const key of keys) await attempt(announceOne(dependencies, key, at))
    after = keys.at(-1) ?? after
    isFull = keys.length === atOnce
  }
}

/** Do work that may fail; false where it did. */
type Attempt = (work: Promise<void>) => Promise<boolean>

/**
 * Do what is due at `at` (ms): fetch tariffs from their providers, tell of sessions whose prices have come, and remove what has expired.
 * What fails is logged, and is due again after the others; true where more is due. For one process at a time.
 */
export const connectTurn = async (dependencies: ConnectDependencies, at: number): Promise<boolean> => {
  const { database, logger } = dependencies
  const attempt: Attempt = work =>
    work.then(
      () => true,
      error => {
        logger.warn({ err: error }, 'a turn of Connect waits')
        return false
      },
    )
  const due = await dueCredentials(database.operator, at, atOnce)
  await Promise.all(
    due.map(async key => {
      if (!(await attempt(syncOne(dependencies, key, at)))) await putOff(database.operator, key, at + putOffMs)
    }),
  )
  await attempt(rejoinMarkets(dependencies, at))
  await announceAll(dependencies, attempt, at)
  await removeUnused(database.operator, at - dayMs)
  await removeSessions(database.operator, at - dayMs, at - memoryMs)
  return due.length === atOnce
}

/** The work of Connect that nobody's call does, for one process at a time. */
export const connectWork = (dependencies: ConnectDependencies, now: () => number): LeasedWork => ({
  name: 'connect',
  restMs,
  turn: () => connectTurn(dependencies, now()),
})
