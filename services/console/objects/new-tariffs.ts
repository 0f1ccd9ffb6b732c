import type { SentBodyOf } from '../../contract/call.ts'
import type { DryRunWire } from '../../contract/dry-run.ts'
import { type LocationWire, locationRetrieve } from '../../contract/registry/location.ts'
import { tariffCreate } from '../../contract/tariffs/tariff.ts'
import type { TariffDirection, TariffType } from '../../domain/tariff/tariff.ts'
import { type Content, html } from '../../web/ui-kit/html.ts'
import type { ApiCalls, ApiResult } from '../api.ts'
import { counted, sumTexts, wholeNumber } from '../kit/amount.ts'
import { readLocal, zoneOf } from '../kit/dates.ts'
import { type ReadRows, scheduleBody } from './schedule-rows.ts'

/** Tariff for many locations. `start` and `end` are local times of each location; an empty text is open. */
export type NewTariff = {
  readonly direction: TariffDirection
  readonly type: TariffType
  readonly isMarket: boolean
  readonly name: string
  readonly start: string
  readonly end: string
  readonly schedule: ReadRows['schedule']
}

/** Location of the list as entered, with the body that creates its tariff, or with the reason of a refusal. */
type Entry = { readonly location: string; readonly currency: string } & (
  | { readonly body: SentBodyOf<typeof tariffCreate> }
  | { readonly message: string }
)

/** Created tariff of a location, or the reason of a refusal. */
export type Made = { readonly location: string; readonly id: string | null; readonly message: string }

/** Effect of a tariff on a location: stored rows that are priced again, or the reason of a refusal. */
type Checked = { readonly location: string } & ({ readonly rows: string } | { readonly message: string })

/** Effects of a new tariff on its locations. `isRefused`: no location accepts it. */
export type NewTariffCheck = { readonly currency: string; readonly effects: Content; readonly isRefused: boolean }

/** Time in ms after which no further location is checked. The page must not wait for a busy service. */
const checkingMs = 10_000
/** Requests at once. */
const groupSize = 10

const bodyOf = (tariff: NewTariff, { id, timezone }: LocationWire): SentBodyOf<typeof tariffCreate> => {
  const instantOf = (text: string) => (text === '' ? undefined : (readLocal(zoneOf(timezone), text) ?? text))
  return {
    location_id: id,
    direction: tariff.direction,
    type: tariff.type,
    market_rates: tariff.isMarket,
    ...(tariff.name === '' ? {} : { display_name: tariff.name }),
    contract_start_date: instantOf(tariff.start),
    contract_end_date: instantOf(tariff.end),
    schedule: scheduleBody(tariff.schedule),
  }
}

const inGroups = async <Item, T>(items: readonly Item[], work: (item: Item) => Promise<T>): Promise<readonly T[]> => {
  const done: T[] = []
  while (done.length < items.length)
    done.push(...(await Promise.all(items.slice(done.length, done.length + groupSize).map(work))))
  return done
}

/** Read the locations of a list. A location that comes again, by whatever name, is refused. */
const readEntries = async (
  { call }: ApiCalls,
  tariff: NewTariff,
  locations: readonly string[],
): Promise<readonly Entry[]> => {
  const found = await inGroups(locations, async location => ({
    location,
    result: await call(locationRetrieve, { id: location }),
  }))
  const seen = new Set<string>()
  return found.map(({ location, result }) => {
    if (!result.ok) return { location, currency: '', message: result.fault.message }
    const { id, currency_code: currency } = result.value
    if (seen.has(id)) return { location, currency, message: 'This location is in the list already.' }
    seen.add(id)
    return { location, currency, body: bodyOf(tariff, result.value) }
  })
}

/** Create a tariff at each location of a list. */
export const createTariffs = async (
  calls: ApiCalls,
  tariff: NewTariff,
  locations: readonly string[],
): Promise<readonly Made[]> => {
  const made: Made[] = []
  for (const { location, ...entry } of await readEntries(calls, tariff, locations)) {
    if ('message' in entry) made.push({ location, id: null, message: entry.message })
    else {
      const created = await calls.call(tariffCreate, {}, entry.body)
      made.push(
        created.ok
          ? { location, id: created.value.id, message: '' }
          : { location, id: null, message: created.fault.message },
      )
    }
  }
  return made
}

/** Read a dry run of one location. Null if the service could not run it. */
const checkedOf = (location: string, result: ApiResult<DryRunWire>): Checked | null => {
  if (!result.ok)
    return result.status >= 500 || result.status === 429 ? null : { location, message: result.fault.message }
  const { errors, stored_rows: rows } = result.value
  const [error] = errors
  return error === undefined ? { location, rows: String(rows) } : { location, message: error.message }
}

const checkText = (checked: readonly Checked[], open: number): Content => {
  const refused = checked.filter(one => 'message' in one)
  const accepting = checked.filter(one => 'rows' in one)
  const one = accepting.length === 1
  return html`<p>${counted(accepting.length, 'location')} ${one ? 'gets' : 'get'} the tariff. Priced again: ${counted(sumTexts(accepting.map(({ rows }) => rows)), 'stored record')}.</p>${
    refused.length === 0
      ? null
      : html`<div class="notice bad" role="alert"><p>${counted(refused.length, 'location')} ${refused.length === 1 ? 'refuses' : 'refuse'} the tariff:</p><ul>${refused.map(
          ({ location, message }) => html`<li><code>${location}</code>: ${message}</li>`,
        )}</ul></div>`
  }${open === 0 ? null : html`<p>${wholeNumber(open)} of the locations could not be checked now. Check the prices again.</p>`}`
}

/**
 * Say what `createTariffs` would do, by dry runs of the same requests. `elapsed`: clock in ms. Locations that are not
 * checked in time are counted.
 */
export const checkTariffs = async (
  calls: ApiCalls,
  tariff: NewTariff,
  locations: readonly string[],
  elapsed: () => number = () => performance.now(),
): Promise<NewTariffCheck> => {
  const startedAt = elapsed()
  const entries = await readEntries(calls, tariff, locations)
  const results = await inGroups(entries, async ({ location, ...entry }) => {
    if ('message' in entry) return { location, message: entry.message }
    if (elapsed() - startedAt >= checkingMs) return null
    return checkedOf(location, await calls.dryRun(tariffCreate, {}, entry.body))
  })
  const checked = results.filter(one => one !== null)
  return {
    currency: entries.find(({ currency }) => currency !== '')?.currency ?? '',
    effects: checkText(checked, locations.length - checked.length),
    isRefused: checked.length === locations.length && checked.every(one => 'message' in one),
  }
}
