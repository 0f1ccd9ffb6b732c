import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { Location } from '../../domain/registry/location.ts'
import { putMarketPrices } from '../../platform/postgres/pricing/market-prices.ts'
import { createMarket, retrieveMarket, updateMarket } from '../../platform/postgres/pricing/markets.ts'
import type { SourceRevision } from '../../platform/postgres/pricing/pricing-input.ts'
import { updateLocation } from '../../platform/postgres/registry/locations.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import type { Change } from '../../query-service/change.ts'
import type { PriceSeriesInterval } from '../domain/tariff-file.ts'

/** Prices of a market tariff of a file. */
export type MarketDraft = {
  readonly direction: 'IMPORT' | 'EXPORT'
  readonly prices: readonly PriceSeriesInterval[]
  /** Time zone of the tariff. */
  readonly timezone: string
}

type SavedSeries = {
  readonly recostRequest: NonNullable<Change<unknown>['recostRequests']>[number]
  readonly changedPrices: SourceRevision | null
}

const members = { IMPORT: 'importSourceId', EXPORT: 'exportSourceId' } as const

/** Return the name of the source of imported prices. A location has one source of this name for each direction. */
const nameOf = (location: Location, direction: MarketDraft['direction']): string =>
  `Imported ${direction} prices of ${location.id}`

/**
 * Store imported prices in the own market source of a locked location. The first import creates the source.
 * Refuses `market_in_use` if a market tariff of the location uses another source.
 */
export const saveMarketSeries = async (
  transaction: TenantTransaction,
  location: Location,
  { direction, prices, timezone }: MarketDraft,
  at: number,
): Promise<Result<SavedSeries>> => {
  const member = members[direction]
  const currentId = location[member]
  const current = currentId === null ? null : await retrieveMarket(transaction, currentId)
  const displayName = nameOf(location, direction)
  const isOwn = current !== null && current.accountId !== null && current.displayName === displayName
  const { tariffs } = location
  if (!isOwn && tariffs.some(tariff => tariff.marketRates && tariff.direction === direction))
    return refused(
      'market_in_use',
      `A market tariff of the location uses the source ${currentId}. Void that tariff first`,
      'location_id',
    )
  const draft = {
    displayName,
    currencyCode: location.currencyCode,
    area: null,
    timezone,
    resolutionMinutes: null,
    importer: null,
  }
  const market = isOwn ? current : await createMarket(transaction, draft, at)
  if (market.timezone !== timezone) await updateMarket(transaction, market, { timezone })
  const stored = await putMarketPrices(transaction, market.id, prices)
  if (!stored.ok) return stored
  if (isOwn) return accepted({ recostRequest: null, changedPrices: stored.value.fanOut })
  const overrides = { ...location.overrides, [member]: market.id }
  const updated = await updateLocation(transaction, location, { ...location, overrides, [member]: market.id }, at)
  return updated.ok
    ? accepted({ recostRequest: updated.value.recostRequest, changedPrices: stored.value.fanOut })
    : updated
}
