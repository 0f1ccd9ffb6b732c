import type { LocationWire } from '../../../contract/registry/location.ts'
import type { TariffDirection } from '../../../domain/tariff/tariff.ts'
import { type Content, html } from '../../ui-kit/html.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { counted, sumTexts, wholeNumber } from '../kit/amount.ts'
import { readLocal, zoneOf } from '../kit/dates.ts'
import { storedRecords } from '../kit/stored-records.ts'
import { recordsAfterEnd } from './tariff-kind.ts'

/** New tariff of many locations. `start` and `end` are local times of each location; an empty text is open. */
export type CopiedTariff = {
  readonly direction: TariffDirection
  readonly start: string
  readonly end: string
}

/** Time in ms after which no further location is counted. The page must not wait for a busy service. */
const countingMs = 2_000
/** Locations that are counted at once. */
const groupSize = 10

/** Local times of a location as instants; null is open. */
export const contractTimes = (timezone: string, { start, end }: Pick<CopiedTariff, 'start' | 'end'>) => {
  const instantOf = (text: string) => (text === '' ? null : readLocal(zoneOf(timezone), text))
  return { from: instantOf(start), to: instantOf(end) }
}

/** Count of a location: its records as text, or the reason why they are unknown. */
type LocationCount = { readonly records: string } | 'unknown location' | 'not counted'

const countAt = async (
  request: Pick<ConsoleRequest, 'api' | 'at'>,
  tariff: CopiedTariff,
  location: string,
): Promise<LocationCount> => {
  const found = await request.api<LocationWire>('GET', `/locations/${encodeURIComponent(location)}`)
  if (!found.ok) return found.status === 404 ? 'unknown location' : 'not counted'
  const { from, to } = contractTimes(found.value.timezone, tariff)
  return (await storedRecords(request, found.value.id, tariff.direction, from, to)) ?? 'not counted'
}

/**
 * Say how many stored records of all locations are in the time of a new tariff. If locations cannot be counted in time,
 * the text says so, and the number is a lower bound. `elapsed`: clock in ms.
 */
export const copyEffects = async (
  request: Pick<ConsoleRequest, 'api' | 'at'>,
  tariff: CopiedTariff,
  locations: readonly string[],
  elapsed: () => number = () => performance.now(),
): Promise<Content> => {
  const startedAt = elapsed()
  const counts: LocationCount[] = []
  while (counts.length < locations.length && elapsed() - startedAt < countingMs) {
    const group = locations.slice(counts.length, counts.length + groupSize)
    counts.push(...(await Promise.all(group.map(location => countAt(request, tariff, location)))))
  }
  const known = counts.flatMap(count => (typeof count === 'string' ? [] : [count.records]))
  const missing = counts.filter(count => count === 'unknown location').length
  const open = locations.length - known.length - missing
  const records = counted(sumTexts(known), 'stored record')
  const amount = open === 0 ? records : known.length === 0 ? 'stored records, not counted,' : `at least ${records}`
  const isEnded = tariff.end !== ''
  return html`<p>${counted(locations.length - missing, 'location')} ${locations.length - missing === 1 ? 'gets' : 'get'} the tariff. Priced again: ${amount} in its time.${isEnded ? ` ${recordsAfterEnd}` : null}</p>${
    missing === 0 ? null : html`<p>${counted(missing, 'location')} ${missing === 1 ? 'does' : 'do'} not exist.</p>`
  }${
    open === 0
      ? null
      : html`<p>The records of ${wholeNumber(open)} of the locations could not be counted now. They are priced again as well.</p>`
  }`
}
