import { locationToWire } from '../contract/registry/location.ts'
import { locationView } from '../contract/registry/location-view.ts'
import { Failure } from '../platform/failure.ts'
import { appendReprice, type RecostAppenderDependencies } from '../platform/log/recost-appender.ts'
import type { Database } from '../platform/postgres/database.ts'
import { writeEvents } from '../platform/postgres/events/events.ts'
import { isLeaseValid, type Lease } from '../platform/postgres/leases.ts'
import { directionsOfSource, priceEvent } from '../platform/postgres/pricing/price-events.ts'
import { advancePriceFanOut, nextPriceFanOut, type PriceFanOut } from '../platform/postgres/pricing/price-fan-outs.ts'
import {
  countLocationsPricedBy,
  type LocationKey,
  locationsPricedBy,
} from '../platform/postgres/pricing/pricing-input.ts'
import { lockLocations } from '../platform/postgres/registry/locations.ts'
import { type OperatorTransaction, withOperator } from '../platform/postgres/transaction.ts'

/** A page that is done: its number from 1, and how many locations were told so far, of all. */
export type FanOutPage = Pick<PriceFanOut, 'sourceId' | 'revision' | 'page' | 'done'> & {
  readonly total: number
  readonly isLast: boolean
}

export type FanOutOptions = RecostAppenderDependencies & { readonly database: Database; readonly at: () => number }

const groupByTenant = <T extends { readonly accountId: string; readonly liveMode: boolean }>(
  items: readonly T[],
): readonly (readonly [T, T[]])[] =>
  [...Map.groupBy(items, ({ accountId, liveMode }) => `${accountId}/${liveMode}`).values()].map(
    tenantItems => [tenantItems[0] as T, tenantItems] as const,
  )

/** Orders go to one account and mode each, so that whoever reads one finds its rows by their key. */
const appendRecosts = async (
  appender: RecostAppenderDependencies,
  { sourceId, revision, from, to }: PriceFanOut,
  locationKeys: readonly LocationKey[],
): Promise<void> => {
  const repriceRequests = groupByTenant(locationKeys).map(([{ accountId, liveMode }, tenantItems]) => {
    const locationIds = tenantItems.map(({ locationId }) => locationId)
    return { accountId, liveMode, locationIds, locationRevision: null, sourceId, priceRevision: revision, from, to }
  })
  await Promise.all(repriceRequests.map(repriceRequest => appendReprice(appender, repriceRequest)))
}

/** Write the events of each location of a page: `location.update`, and `price.update` for each direction. */
const writeUpdateEvents = async (
  transaction: OperatorTransaction,
  locationKeys: readonly LocationKey[],
  { sourceId, from, to }: PriceFanOut,
  at: number,
): Promise<void> => {
  for (const [{ accountId, liveMode }, locations] of groupByTenant(await lockLocations(transaction, locationKeys))) {
    const events = locations.flatMap(location => [
      { type: 'location.update', objectId: location.id, data: locationToWire(locationView(location, at)) },
      ...directionsOfSource(location, sourceId).map(direction =>
        priceEvent({ accountId, liveMode }, { locationId: location.id, direction, from, to }),
      ),
    ])
    await writeEvents({ accountId, liveMode, query: transaction.query }, events, at)
  }
}

const leaseLost = (): Failure =>
  new Failure('lease_lost', 'another process goes on with this price change', { retriable: true })

/**
 * Bring one page of a price change to the locations that its source prices: orders into their lanes, then, in one transaction, a
 * `location.update` and `price.update` for each (but for forecasts, whose cause has told it) and the move to the next page. Null when no price change is on its way. Whatever fails between, the page is
 * repeated: orders may come twice, which does no harm, events do not, for they stand with the move or not at all. Throws Failure `lease_lost` where `lease` no longer holds.
 * Source: docs/rules/markets-and-forecasts.md #price-changes; docs/architecture.md #recost-requests.
 */
export const fanOutPage = async (
  options: FanOutOptions,
  lease: Lease,
  pageSize = 1_000,
): Promise<FanOutPage | null> => {
  const { operator } = options.database
  const fanOut = await nextPriceFanOut(operator)
  if (fanOut === null) return null
  const total = fanOut.total ?? (await countLocationsPricedBy(operator, fanOut.sourceId))
  const { locations, cursor, isLast } = await locationsPricedBy(operator, fanOut.sourceId, fanOut.cursor, pageSize)
  await appendRecosts(options, fanOut, locations)
  const step = { locations: locations.length, cursor, total, isLast }
  await withOperator(options.database, async transaction => {
    if (!(await isLeaseValid(transaction.query, lease))) throw leaseLost()
    if (fanOut.sendsEvents) await writeUpdateEvents(transaction, locations, fanOut, options.at())
    if (!(await advancePriceFanOut(transaction.query, fanOut, step))) throw leaseLost()
  })
  const { sourceId, revision, page, done } = fanOut
  return { sourceId, revision, page: page + 1, done: done + locations.length, total, isLast }
}
