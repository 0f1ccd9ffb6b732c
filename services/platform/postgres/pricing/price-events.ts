import sql from 'sql-template-tag'
import { writeInstant } from '../../../domain/instant.ts'
import type { TariffDirection } from '../../../domain/tariff/tariff.ts'
import type { OpenInterval } from '../../../domain/tariff/tariff-change.ts'
import { type EventDraft, writeEvents } from '../events/events.ts'
import { ownedBy } from '../page.ts'
import type { LocationDraft, StoredLocation } from '../registry/location-row.ts'
import type { Tenant, TenantTransaction } from '../transaction.ts'

/** A location whose prices in a direction change in an interval (ms); null is open. */
export type PriceUpdate = OpenInterval & { readonly locationId: string; readonly direction: TariffDirection }

const instantOrNull = (at: number | null): string | null => (at === null ? null : writeInstant(at))

/** Make the event `price.update` of a location. Source: docs/rules/events-and-webhooks.md #price-updates. */
export const priceEvent = (
  { accountId, liveMode }: Tenant,
  { locationId, direction, from, to }: PriceUpdate,
): EventDraft => ({
  type: 'price.update',
  objectId: locationId,
  data: {
    live_mode: liveMode,
    location_id: locationId,
    tariff_direction: direction,
    start_time: instantOrNull(from),
    end_time: instantOrNull(to),
    account_id: accountId,
  },
})

/** List the directions whose market prices a location takes from a source. */
export const directionsOfSource = (location: StoredLocation, sourceId: string): readonly TariffDirection[] => {
  const sources = { IMPORT: location.importSourceId, EXPORT: location.exportSourceId } as const
  const own = (['IMPORT', 'EXPORT'] as const).filter(direction => sources[direction] === sourceId)
  const followed = own.filter(direction =>
    location.tariffs.some(tariff => tariff.direction === direction && tariff.marketRates),
  )
  // Without a market tariff that is active, tariffs that have ended are priced again.
  return followed.length === 0 ? own : followed
}

/** Write `price.update` for each direction whose prices a new zone or market source of a location changes, over all time. */
export const writePriceUpdates = async (
  transaction: TenantTransaction,
  before: StoredLocation,
  after: LocationDraft,
  at: number,
): Promise<void> => {
  const { rows } = await transaction.query<{ direction: TariffDirection; followsMarket: boolean }>(sql`
    select direction, bool_or(market_rates) as "followsMarket" from tariffs
    where ${ownedBy(transaction)} and location_id = ${before.id} and voided_at is null group by direction order by direction`)
  const hasNewSource = {
    IMPORT: before.importSourceId !== after.importSourceId,
    EXPORT: before.exportSourceId !== after.exportSourceId,
    LOCAL: false,
  }
  const changed = rows.filter(
    row => before.timezone !== after.timezone || (row.followsMarket && hasNewSource[row.direction]),
  )
  const updates = changed.map(({ direction }) => ({ locationId: before.id, direction, from: null, to: null }))
  await writeEvents(
    transaction,
    updates.map(update => priceEvent(transaction, update)),
    at,
  )
}
