import { tariffEvent } from '../../contract/events/event.ts'
import { readTariffTerms } from '../../contract/tariffs/read-tariff-terms.ts'
import { dayMs, hourMs, minuteMs } from '../../domain/interval.ts'
import { accepted, type Result } from '../../domain/refusal.ts'
import { scheduleText } from '../../domain/tariff/compiled-schedule.ts'
import { hasTimedOut, providerTimeoutMs } from '../../domain/tariff/pending-tariff.ts'
import type { TariffTerms } from '../../domain/tariff/tariff.ts'
import { scheduleAt } from '../../domain/tariff/tariff-version.ts'
import { nextSlice } from '../../platform/concurrency/time-slices.ts'
import { retrieveTariff, updateTariff } from '../../platform/postgres/pricing/tariffs.ts'
import { retrieveLocation } from '../../platform/postgres/registry/locations.ts'
import type { TariffPlan } from '../contract/provider-app.ts'
import type { StoredSession } from '../postgres/connect-sessions.ts'
import {
  putCredentials,
  removeCredentials,
  removeOlderCredentials,
  setTariffStatus,
  type TariffCredentials,
} from '../postgres/tariff-credentials.ts'
import type { ConnectTransaction } from './connect-dependencies.ts'
import { addLocationUpdate, type PutTariffResult, putTariff } from './put-tariff.ts'

/** Validate a fetched tariff as POST /tariffs does. */
const planTerms = (
  { direction, type }: Pick<TariffCredentials, 'direction' | 'type'>,
  plan: TariffPlan,
): Result<TariffTerms> =>
  readTariffTerms({
    direction,
    type,
    marketRates: false,
    contractStart: null,
    contractEnd: plan.contractEnd,
    schedule: plan.schedule,
  })

/**
 * Update a tariff to the plan of its provider. A new name or end updates the tariff. New prices create another tariff
 * from today.
 */
const updateFromPlan = async (
  transaction: ConnectTransaction,
  credentials: TariffCredentials,
  { plan, terms }: { readonly plan: TariffPlan; readonly terms: TariffTerms },
): Promise<Result<PutTariffResult | null>> => {
  const { at, effects } = transaction
  const before = credentials.tariffId === null ? null : await retrieveTariff(transaction, credentials.tariffId)
  const displayName = plan.displayName ?? before?.displayName ?? null
  if (before !== null && scheduleText(scheduleAt(before, at)) === scheduleText(terms.schedule)) {
    if (before.status === 'ERROR') await setTariffStatus(transaction, before.id, 'CONNECTED')
    const isUnchanged = before.displayName === displayName && before.contractEnd === plan.contractEnd
    if (isUnchanged) {
      if (before.status === 'ERROR') await addLocationUpdate(transaction, before.locationId)
      return accepted({ tariff: before, replaced: [] })
    }
    const updated = await updateTariff(transaction, before.id, { displayName, contractEnd: plan.contractEnd }, at)
    if (!updated.ok) return updated
    effects.recostRequests.push(updated.value.recostRequest)
    await addLocationUpdate(transaction, before.locationId)
    return accepted({ tariff: updated.value.tariff, replaced: [] })
  }
  const location = await retrieveLocation(transaction, credentials.locationId ?? '')
  if (location === null) return accepted(null)
  const { providerId } = credentials
  const desiredTariff = { ...terms, connectionType: 'DIRECT', libraryTariffId: null, providerId, displayName } as const
  const created = await putTariff(transaction, location, desiredTariff)
  if (created.ok) await addLocationUpdate(transaction, location.id)
  return created
}

/**
 * Save a tariff that a provider has delivered, and fetch it again after a day. Delete the credentials if the location
 * is deleted. Returns the tariff and the tariffs that it has replaced; null without a location.
 */
export const saveFetchedTariff = async (
  transaction: ConnectTransaction,
  credentials: TariffCredentials,
  usablePlan: { readonly plan: TariffPlan; readonly terms: TariffTerms },
): Promise<Result<PutTariffResult | null>> => {
  const { at } = transaction
  const saved = await updateFromPlan(transaction, credentials, usablePlan)
  if (!saved.ok) return saved
  if (saved.value === null) {
    await removeCredentials(transaction, credentials.id)
    return saved
  }
  const { tariff } = saved.value
  const success = { failingSince: null, failureReportedAt: null, fetchedAt: at, dueAt: at + dayMs }
  await putCredentials(transaction, { ...credentials, ...success, tariffId: tariff.id })
  await removeOlderCredentials(transaction, { ...credentials, locationId: tariff.locationId })
  return saved
}

/** Return a session with the tariff that its provider has delivered, as the tariff that the session has saved. */
export const withFetchedTariff = (session: StoredSession, saved: PutTariffResult | null): StoredSession => ({
  ...session,
  tariffId: saved?.tariff.id ?? null,
  savedPrint: saved === null ? null : 'fetched',
  replaced: saved?.replaced ?? [],
})

/**
 * Return the next attempt after a failure: after half of the failing time, 1 minute to 1 hour; after 48 h once a day.
 */
const nextAttemptAt = (failingSince: number, at: number): number => {
  const failingMs = at - failingSince
  return at + (failingMs >= providerTimeoutMs ? dayMs : Math.min(hourMs, Math.max(minuteMs, failingMs / 2)))
}

/**
 * Record that a tariff could not be fetched. After 48 h without success this writes the event `tariff.fetch.failed`
 * once, and a tariff that was fetched before gets the status ERROR.
 * Source: docs/rules/connect.md #fetching-tariffs.
 */
export const recordFetchFailure = async (
  transaction: ConnectTransaction,
  credentials: TariffCredentials,
): Promise<void> => {
  const { at, effects } = transaction
  const { locationId, tariffId, failureReportedAt } = credentials
  const failingSince = credentials.failingSince ?? at
  const hasFailedNow = hasTimedOut({ failingSince }, at) && failureReportedAt === null
  const report = { failureReportedAt: hasFailedNow ? at : failureReportedAt }
  await putCredentials(transaction, { ...credentials, failingSince, ...report, dueAt: nextAttemptAt(failingSince, at) })
  if (!hasFailedNow) return
  if (tariffId !== null) await setTariffStatus(transaction, tariffId, 'ERROR')
  effects.events.push(tariffEvent('tariff.fetch.failed', credentials))
  if (locationId !== null) await addLocationUpdate(transaction, locationId)
}

/** Validate a fetched tariff. The caller counts a refusal as a failure of the provider. */
export const readUsablePlan = async (
  credentials: TariffCredentials,
  plan: TariffPlan,
): Promise<Result<{ plan: TariffPlan; terms: TariffTerms }>> => {
  await nextSlice(credentials.accountId)
  const terms = planTerms(credentials, plan)
  return terms.ok ? accepted({ plan, terms: terms.value }) : terms
}
