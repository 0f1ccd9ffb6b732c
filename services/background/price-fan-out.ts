import { locationEvent } from '../contract/registry/location-view.ts'
import { groupByTenant } from '../domain/tenant.ts'
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

/** A finished page: its number from 1, and the number of locations done so far and in all. */
export type FanOutPage = Pick<PriceFanOut, 'sourceId' | 'revision' | 'page' | 'done'> & {
  readonly total: number
  readonly isLast: boolean
}

export type FanOutOptions = RecostAppenderDependencies & { readonly database: Database; readonly at: () => number }

/** Append recost requests, each for one account and mode, so that the cost worker finds the rows by their key. */
const appendRecosts = async (
  appender: RecostAppenderDependencies,
  { sourceId, revision, from, to }: PriceFanOut,
  locationKeys: readonly LocationKey[],
): Promise<void> => {
  const repriceRequests = groupByTenant(locationKeys).map(([tenant, keys]) => {
    const locationIds = keys.map(({ locationId }) => locationId)
    return { ...tenant, locationIds, locationRevision: null, sourceId, priceRevision: revision, from, to }
  })
  await Promise.all(repriceRequests.map(repriceRequest => appendReprice(appender, repriceRequest)))
}

/** Write `location.update` for each location of a page, and `price.update` for each direction. */
const writeUpdateEvents = async (
  transaction: OperatorTransaction,
  locationKeys: readonly LocationKey[],
  { sourceId, from, to }: PriceFanOut,
  at: number,
): Promise<void> => {
  for (const [tenant, locations] of groupByTenant(await lockLocations(transaction, locationKeys))) {
    const events = locations.flatMap(location => [
      locationEvent('location.update', location, at),
      ...directionsOfSource(location, sourceId).map(direction =>
        priceEvent(tenant, { locationId: location.id, direction, from, to }),
      ),
    ])
    await writeEvents({ ...tenant, query: transaction.query }, events, at)
  }
}

const leaseLost = (): Failure =>
  new Failure('lease_lost', 'Another process continues this price change.', { retriable: true })

/**
 * Do one page of a price change: append recost requests for the locations that the source prices. Then one transaction
 * writes `location.update` and `price.update` of each location and moves the cursor. A change by forecasts writes no
 * events.
 * Returns null if no price change is waiting. After a failure the page is repeated: requests may be sent twice, events
 * are not.
 * Throws `Failure` `lease_lost` if `lease` is no longer valid.
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
