import { type Refusal, refused } from '../refusal.ts'
import type { TariffDirection, TariffType } from './tariff.ts'

type DirectionAndType = { readonly direction: TariffDirection; readonly type: TariffType }

/** A tariff that its provider has not given yet; `failingSince`: since when it has failed to (ms), null while it has not. */
type PendingTariff = DirectionAndType & { readonly failingSince: number | null }

/** How long a provider may fail to give a tariff before it counts as failed, in ms. Source: docs/rules/connect.md #fetching-tariffs. */
export const providerTimeoutMs = 48 * 3_600_000

/** Tell whether a provider has failed for too long at `at` (ms) to be waited for. */
export const hasTimedOut = ({ failingSince }: Pick<PendingTariff, 'failingSince'>, at: number): boolean =>
  failingSince !== null && at - failingSince >= providerTimeoutMs

/** Tell whether the COMMODITY tariff of a direction is on its way to a location at `at` (ms): none lives there, and one is waited for. */
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
 * Say that prices of a direction wait for a tariff that is on its way: `pending_connect`.
 * Source: docs/rules/connect.md #fetching-tariffs.
 */
export const refusePendingTariff = (direction: TariffDirection): Refusal =>
  refused(
    'pending_connect',
    `The tariff for ${direction} is still being connected; ask again when its tariff_status is CONNECTED`,
  ).refusal
