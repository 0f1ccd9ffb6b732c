import sql from 'sql-template-tag'
import { writeInstant } from '../../../domain/instant.ts'
import type { Location, LocationDraft } from '../../../domain/registry/location.ts'
import type { TariffDirection } from '../../../domain/tariff/tariff.ts'
import type { OpenInterval } from '../../../domain/tariff/tariff-change.ts'
import { type EventDraft, writeEvents } from '../events/events.ts'
import { ownedBy } from '../page.ts'
import type { Tenant, TenantTransaction } from '../transaction.ts'

/** Change of a location's prices in a direction, in an interval (ms); null is open. */
export type PriceUpdate = OpenInterval & { readonly locationId: string; readonly direction: TariffDirection }

const instantOrNull = (at: number | null): string | null => (at === null ? null : writeInstant(at))

/** Create the event `price.update` of a location. Source: docs/rules/events-and-webhooks.md #price-updates. */
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
export const directionsOfSource = (location: Location, sourceId: string): readonly TariffDirection[] => {
  const sources = { IMPORT: location.importSourceId, EXPORT: location.exportSourceId } as const
  const own = (['IMPORT', 'EXPORT'] as const).filter(direction => sources[direction] === sourceId)
  const followed = own.filter(direction =>
    location.tariffs.some(tariff => tariff.direction === direction && tariff.marketRates),
  )
  // Without an active market tariff, the change affects ended tariffs.
  return followed.length === 0 ? own : followed
}

/**
 * Write `price.update` over all time for each direction whose prices change with a new zone or market source of a
 * location.
 */
export const writePriceUpdates = async (
  transaction: TenantTransaction,
  before: Location,
  after: LocationDraft,
  at: number,
): Promise<void> => {
  const { rows } = await transaction.query<{ direction: TariffDirection; followsMarket: boolean }>(sql`
    select direction, bool_or(market_rates) as "followsMarket" from tariffs
    where ${ownedBy(transaction)} and location_id = ${before.id} and voided_at is null group by direction
    order by direction`)
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

/** Write `price.update` for each direction of tariffs whose days change in an interval; null: over all time. */
export const writeCalendarPriceUpdates = async (
  transaction: TenantTransaction,
  locationId: string,
  tariffs: readonly { readonly direction: TariffDirection }[],
  interval: OpenInterval | null,
  at: number,
): Promise<void> => {
  const directions = [...new Set(tariffs.map(({ direction }) => direction))]
  const update = (direction: TariffDirection): PriceUpdate => ({
    locationId,
    direction,
    ...(interval ?? { from: null, to: null }),
  })
  await writeEvents(
    transaction,
    directions.map(direction => priceEvent(transaction, update(direction))),
    at,
  )
}

/**
 * Return the time of the last change of a location, its tariffs or its market prices (ms); null if the location is
 * unknown. Changes of prices come from the location's events, which are stored for 90 days.
 */
export const pricesChangedAt = async (
  { query, accountId, liveMode }: TenantTransaction,
  locationId: string,
): Promise<number | null> => {
  const { rows } = await query<{ changed: number }>(sql`
    select greatest(l.time_created,
      (select max(greatest(t.time_created, t.closed_at, t.voided_at)) from tariffs t
       where t.account_id = l.account_id and t.live_mode = l.live_mode and t.location_id = l.id),
      (select e.time_created from events e
       where e.account_id = l.account_id and e.live_mode = l.live_mode and e.object_id = l.id
         and e.type = 'location.update'
       order by e.id desc limit 1)) as changed
    from locations l where l.account_id = ${accountId} and l.live_mode = ${liveMode} and l.id = ${locationId}`)
  return rows[0]?.changed ?? null
}
