import type { TariffPlan } from '../../contract/connect-provider-app.ts'
import { accepted, type Result } from '../../domain/refusal.ts'
import { hasFailed, providerPatienceMs } from '../../domain/tariff/on-its-way.ts'
import { scheduleAt } from '../../domain/tariff/tariff-version.ts'
import { scheduleText } from '../../domain/tariff/terms.ts'
import { readTariffTermsInSteps, type TariffTerms } from '../../domain/tariff/validate-schedule.ts'
import { inTurns } from '../../platform/event-loop-turn.ts'
import { retrieveLocation } from '../../platform/postgres/locations.ts'
import {
  putCredentials,
  removeCredentials,
  removeOlder,
  setTariffStatus,
  type TariffCredentials,
} from '../../platform/postgres/tariff-credentials.ts'
import type { StoredTariff } from '../../platform/postgres/tariff-row.ts'
import { retrieveTariff, updateTariff } from '../../platform/postgres/tariffs.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { bothDone, type ConnectDependencies, type Deeds, type Done, done, nothingDone } from './connect-dependencies.ts'
import { putTariff, tellLocation } from './put-tariff.ts'

const dayMs = 86_400_000
const hourMs = 3_600_000
const minuteMs = 60_000

/** Judge a fetched tariff as POST /tariffs does, in steps. */
const planTerms = (
  { direction, type }: Pick<TariffCredentials, 'direction' | 'type'>,
  plan: TariffPlan,
): Generator<void, Result<TariffTerms>> =>
  readTariffTermsInSteps({
    direction,
    type,
    marketRates: false,
    contractStart: null,
    contractEnd: plan.contractEnd,
    schedule: plan.schedule,
  })

/** Bring a tariff up to what its provider says now: names and end change, other prices are another tariff from today on. */
const bringUp = async (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  credentials: TariffCredentials,
  { plan, terms }: { readonly plan: TariffPlan; readonly terms: TariffTerms },
  at: number,
): Promise<Result<Done<StoredTariff | null>>> => {
  const before = credentials.tariffId === null ? null : await retrieveTariff(transaction, credentials.tariffId)
  const displayName = plan.displayName ?? before?.displayName ?? null
  if (before !== null && scheduleText(scheduleAt(before, at)) === scheduleText(terms.schedule)) {
    if (before.status === 'ERROR') await setTariffStatus(transaction, before.id, 'CONNECTED')
    const isSame = before.displayName === displayName && before.contractEnd === plan.contractEnd
    if (isSame) return done(before, before.status === 'ERROR' ? await tellLocation(transaction, before.locationId, at) : nothingDone)
    const updated = await updateTariff(transaction, before.id, { displayName, contractEnd: plan.contractEnd }, at)
    if (!updated.ok) return updated
    const deeds: Deeds = { ...nothingDone, orders: [updated.value.order] }
    return done(updated.value.tariff, bothDone(deeds, await tellLocation(transaction, before.locationId, at)))
  }
  const location = await retrieveLocation(transaction, credentials.locationId ?? '')
  if (location === null) return done(null)
  const { providerId } = credentials
  const wish = { ...terms, connectionType: 'DIRECT', libraryTariffId: null, providerId, displayName } as const
  const put = await putTariff(dependencies, transaction, location, wish, at)
  if (!put.ok) return put
  return done(put.value.tariff, bothDone(put.value.deeds, await tellLocation(transaction, location.id, at)))
}

/** Keep what a provider has told of a tariff, and fetch it again in a day. Where its location is gone the credentials go too. */
export const keepFetched = async (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  credentials: TariffCredentials,
  fetched: { readonly plan: TariffPlan; readonly terms: TariffTerms },
  at: number,
): Promise<Result<Done<StoredTariff | null>>> => {
  const kept = await bringUp(dependencies, transaction, credentials, fetched, at)
  if (!kept.ok) return kept
  const tariff = kept.value.value
  if (tariff === null) {
    await removeCredentials(transaction, credentials.id)
    return kept
  }
  const well = { failingSince: null, failureToldAt: null, fetchedAt: at, dueAt: at + dayMs }
  await putCredentials(transaction, { ...credentials, ...well, tariffId: tariff.id })
  await removeOlder(transaction, { ...credentials, locationId: tariff.locationId })
  return kept
}

/** The sooner the longer it works: minutes at first, an hour later on, a day once it counts as failed. */
const nextAttempt = (failingSince: number, at: number): number => {
  const failingMs = at - failingSince
  return at + (failingMs >= providerPatienceMs ? dayMs : Math.min(hourMs, Math.max(minuteMs, failingMs / 2)))
}

/**
 * Note that a tariff could not be fetched. After 48 h of nothing but failure it counts as failed: `tariff.fetch.failed`, once, and ERROR
 * where a tariff was fetched before. Source: docs/rules/connect.md #fetching-tariffs.
 */
export const keepFailure = async (transaction: TenantTransaction, credentials: TariffCredentials, at: number): Promise<Deeds> => {
  const { accountId, liveMode, locationId, tariffId, failureToldAt } = credentials
  const failingSince = credentials.failingSince ?? at
  const isFailed = hasFailed({ failingSince }, at) && failureToldAt === null
  const told = { failureToldAt: isFailed ? at : failureToldAt }
  await putCredentials(transaction, { ...credentials, failingSince, ...told, dueAt: nextAttempt(failingSince, at) })
  if (!isFailed) return nothingDone
  if (tariffId !== null) await setTariffStatus(transaction, tariffId, 'ERROR')
  const data = { live_mode: liveMode, tariff_id: tariffId, location_id: locationId, account_id: accountId }
  const event = { type: 'tariff.fetch.failed', objectId: tariffId ?? locationId, data }
  return bothDone({ ...nothingDone, events: [event] }, locationId === null ? nothingDone : await tellLocation(transaction, locationId, at))
}

/** What to do with a refusal of a fetched tariff: it counts as a failure of its provider. */
export const isUsable = async (
  credentials: TariffCredentials,
  plan: TariffPlan,
): Promise<Result<{ plan: TariffPlan; terms: TariffTerms }>> => {
  const terms = await inTurns(planTerms(credentials, plan), credentials.accountId)
  return terms.ok ? accepted({ plan, terms: terms.value }) : terms
}
