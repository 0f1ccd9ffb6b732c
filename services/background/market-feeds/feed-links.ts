import { locationEvent } from '../../contract/registry/location-view.ts'
import type { PostalAddress } from '../../contract/registry/postal-address.ts'
import { unambiguousArea } from '../../domain/geocoding/market-areas.ts'
import { accepted } from '../../domain/refusal.ts'
import type { Database } from '../../platform/postgres/database.ts'
import { writeEvents } from '../../platform/postgres/events/events.ts'
import type { OutboxMessage } from '../../platform/postgres/events/outbox.ts'
import {
  markLinked,
  type SourcelessLocation,
  sourcelessLocations,
  unlinkedSources,
} from '../../platform/postgres/pricing/market-sources.ts'
import { lockLocation, updateLocation } from '../../platform/postgres/registry/locations.ts'
import { changeTenant } from '../../platform/postgres/transaction.ts'

export type LinkOptions = {
  readonly database: Database
  /** Return the market areas of an address, without a network request. */
  readonly areasOf: (address: PostalAddress) => readonly string[]
  /** Publish the recost requests of a committed change. Never rejects. */
  readonly publishRecosts: (messages: readonly OutboxMessage[]) => Promise<void>
  /** Current instant in ms. */
  readonly at: () => number
}

const pageSize = 500

/** Longest duration of a request. A request that began before the source existed has ended after this time. */
const maxRequestMs = 60_000

/**
 * Set the source of one location, as a change of the location. Returns false if the location was deleted or has a
 * source now.
 */
const linkLocation = async (
  { database, publishRecosts, at }: LinkOptions,
  { id, ...tenant }: SourcelessLocation,
  sourceId: string,
): Promise<boolean> => {
  const changed = await changeTenant(database, tenant, async transaction => {
    const before = await lockLocation(transaction, id)
    if (before === null || before.importSourceId !== null) return accepted(null)
    const now = at()
    const draft = { ...before, importSourceId: sourceId, exportSourceId: before.exportSourceId ?? sourceId }
    const change = await updateLocation(transaction, before, draft, now)
    if (!change.ok) return change
    await writeEvents(transaction, [locationEvent('location.update', change.value.location, now)], now)
    return accepted(change.value.recostRequest)
  })
  if (!changed.ok || changed.value === null) return false
  await publishRecosts([changed.value])
  return true
}

/**
 * Link new shared sources to older locations of their area whose customer set no source. Stored records of these
 * locations are recosted. The function reads all such locations once for each source, and again until the requests from
 * before the source have ended.
 * Returns the number of linked locations, and whether all sources are done.
 * Source: docs/rules/registry.md #market-sources-of-locations.
 */
export const linkSources = async (
  options: LinkOptions,
): Promise<{ readonly linked: number; readonly isDone: boolean }> => {
  const { database, areasOf, at } = options
  const startedAt = at()
  const sources = await unlinkedSources(database.operator)
  if (sources.length === 0) return { linked: 0, isDone: true }
  // In reverse order, so that the first of two sources of an area is used, as for a new location.
  const byArea = new Map(sources.toReversed().map(({ id, area, currencyCode }) => [`${area}/${currencyCode}`, id]))
  let linked = 0
  for (let lastLocation: SourcelessLocation | null = null; ; ) {
    const page: readonly SourcelessLocation[] = await sourcelessLocations(database.operator, lastLocation, pageSize)
    for (const location of page) {
      const area = unambiguousArea(areasOf(JSON.parse(location.address) as PostalAddress))
      const sourceId = byArea.get(`${area}/${location.currencyCode}`)
      if (sourceId !== undefined && (await linkLocation(options, location, sourceId))) linked += 1
    }
    lastLocation = page.at(-1) ?? null
    if (page.length < pageSize) break
  }
  const linkedSources = sources.filter(({ createdAt }) => createdAt + maxRequestMs <= startedAt)
  await markLinked(
    database.operator,
    linkedSources.map(({ id }) => id),
    startedAt,
  )
  return { linked, isDone: linkedSources.length === sources.length }
}
