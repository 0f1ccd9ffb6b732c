import { hourMs } from '../interval.ts'
import { type Refusal, refused } from '../refusal.ts'
import type { TariffDirection, TariffType } from './tariff.ts'

type DirectionAndType = { readonly direction: TariffDirection; readonly type: TariffType }

/**
 * Tariff that its provider has not delivered. `failingSince` (ms) is the first of its continuous failures; null if it
 * does not fail.
 */
export type PendingTariff = DirectionAndType & { readonly failingSince: number | null }

/**
 * Time in ms for which a provider may fail to deliver a tariff before the tariff counts as failed.
 * Source: docs/rules/connect.md #fetching-tariffs.
 */
export const providerTimeoutMs: number = 48 * hourMs

/** Check if a provider has failed for too long at `at` (ms). */
export const hasTimedOut = ({ failingSince }: Pick<PendingTariff, 'failingSince'>, at: number): boolean =>
  failingSince !== null && at - failingSince >= providerTimeoutMs

/**
 * Check if the COMMODITY tariff of a direction is pending at a location at `at` (ms): no tariff is active, and one is
 * awaited.
 */
export const isTariffPending = (
  {
    tariffs,
    pendingTariffs = [],
  }: { readonly tariffs: readonly DirectionAndType[]; readonly pendingTariffs?: readonly PendingTariff[] },
  direction: TariffDirection,
  at: number,
): boolean => {
  const isCommodityOfDirection = (one: DirectionAndType): boolean =>
    one.direction === direction && one.type === 'COMMODITY'
  const pending = tariffs.some(isCommodityOfDirection) ? undefined : pendingTariffs.find(isCommodityOfDirection)
  return pending !== undefined && !hasTimedOut(pending, at)
}

/**
 * Create the refusal `pending_connect`: the prices of a direction need a tariff that its provider has not delivered.
 * Source: docs/rules/connect.md #fetching-tariffs.
 */
export const refusePendingTariff = (direction: TariffDirection): Refusal =>
  refused(
    'pending_connect',
    `The tariff for ${direction} is still being connected; ask again when its tariff_status is CONNECTED`,
  ).refusal
