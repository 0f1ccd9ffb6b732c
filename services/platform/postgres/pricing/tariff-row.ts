import sql from 'sql-template-tag'
import { mapSurcharges, type Rate, type SurchargeName } from '../../../domain/tariff/rate.ts'
import type { StoredTariff } from '../../../domain/tariff/stored-tariff.ts'
import {
  defaultTariffComponents,
  type ScheduleEntry,
  type Tariff,
  type TariffVersion,
} from '../../../domain/tariff/tariff.ts'
import { mapInTimeSlices } from '../../concurrency/time-slices.ts'
import { percentageFromText, pricesAsTexts } from './price-json.ts'

export type TariffDraft = Omit<
  StoredTariff,
  | 'id'
  | 'accountId'
  | 'liveMode'
  | 'timezone'
  | 'closedAt'
  | 'planId'
  | 'planVersion'
  | 'component'
  | 'createdAt'
  | 'versions'
> & {
  /** Null or absent: the default of the type. */
  readonly component?: string | null
}

/** `component` null: the default of the type. */
export type TariffRow = Omit<StoredTariff, 'component' | 'schedule' | 'versions'> & {
  readonly component: string | null
  readonly terms: string
  readonly versions: string
}

export const tariffColumns = sql`
  id, account_id as "accountId", live_mode as "liveMode", location_id as "locationId", direction, type,
  connection_type as "connectionType", status, display_name as "displayName", provider_id as "providerId",
  library_tariff_id as "libraryTariffId", plan_id as "planId", plan_version as "planVersion",
  component, market_rates as "marketRates", contract_start as "contractStart",
  contract_end as "contractEnd", closed_at as "closedAt",
  terms::text as terms, versions::text as versions, time_created as "createdAt",
  (select l.timezone from locations l
   where l.account_id = tariffs.account_id and l.live_mode = tariffs.live_mode and l.id = tariffs.location_id)
    as timezone`

/** Columns of a tariff's prices; `t` is the table. */
export const termsColumns = sql`
  t.id as "tariffId", t.direction, t.type, t.market_rates as "marketRates", t.contract_start as "contractStart",
  t.contract_end as "contractEnd", t.closed_at as "closedAt", t.component, t.plan_id as "planId", t.terms::text as terms,
  t.versions::text as versions`

export type TermsRow = Omit<Tariff, 'id' | 'component' | 'planId' | 'schedule' | 'versions'> & {
  readonly component: string | null
  readonly planId: string | null
  readonly tariffId: string
  readonly terms: string
  readonly versions: string
}

export const tariffFromTerms = (row: TermsRow): Tariff => {
  const { tariffId: id, direction, type, marketRates, contractStart, contractEnd, closedAt, planId } = row
  const component = row.component ?? defaultTariffComponents[type]
  return {
    id,
    direction,
    type,
    marketRates,
    contractStart,
    contractEnd,
    closedAt,
    component,
    planId,
    ...pricesFromText(row.terms, row.versions),
  }
}

export const tariffFromRow = ({ terms, versions, ...tariff }: TariffRow): StoredTariff => {
  const component = tariff.component ?? defaultTariffComponents[tariff.type]
  return { ...tariff, component, ...pricesFromText(terms, versions) }
}

/** Read tariffs in the time slices of an account, or of the service. */
export const readTariffRows = <Row, Item>(
  rows: readonly Row[],
  read: (row: Row) => Item,
  account?: string,
): Promise<readonly Item[]> => mapInTimeSlices(rows, read, account)

const maxCachedTexts = 5_000

/**
 * Create a reader of `terms` or `versions`. Many tariffs have equal texts: equal texts are parsed once and share one
 * value.
 */
const textReader = <T>(schedulesOf: (value: T) => readonly (readonly StoredEntry[])[]): ((text: string) => T) => {
  const read = new Map<string, T>()
  return text => {
    const known = read.get(text)
    if (known !== undefined) return known
    const value: T = JSON.parse(text)
    for (const schedule of schedulesOf(value)) readRates(schedule)
    if (read.size >= maxCachedTexts) read.clear()
    read.set(text, value)
    return value
  }
}

/** A surcharge is absent if the release that stored the rate did not have it. */
type RateJson = Readonly<Partial<Record<SurchargeName, string>>> & {
  readonly fixed: string
  readonly to: string | null
}

/** Parsed time band: its rates are texts until `readRates` converts them. */
type StoredTimeBand = { rate: readonly (RateJson | Rate)[] }
type StoredEntry = { readonly daysAndHours: readonly { readonly hours: readonly StoredTimeBand[] }[] }

/** Convert the rates of a schedule in place. */
const readRates = (schedule: readonly StoredEntry[]): void => {
  for (const { daysAndHours } of schedule) {
    for (const { hours } of daysAndHours) {
      for (const timeBand of hours) {
        timeBand.rate = (timeBand.rate as readonly RateJson[]).map(rateFromJson)
      }
    }
  }
}

const readTerms = textReader<{ readonly schedule: readonly ScheduleEntry[] }>(({ schedule }) => [
  schedule as readonly StoredEntry[],
])
const readVersions = textReader<readonly TariffVersion[]>(versions =>
  versions.map(({ schedule }) => schedule as readonly StoredEntry[]),
)

/** Read the column `terms`. */
export const scheduleFromText = (text: string): readonly ScheduleEntry[] => readTerms(text).schedule

/** Read the columns `terms` and `versions`; the member `versions` is absent if there are none. */
const pricesFromText = (terms: string, versions: string): Pick<Tariff, 'schedule' | 'versions'> => {
  const schedule = scheduleFromText(terms)
  return versions === '[]' ? { schedule } : { schedule, versions: readVersions(versions) }
}

const rateFromJson = (rate: RateJson): Rate => ({
  fixed: BigInt(rate.fixed),
  to: rate.to === null ? null : BigInt(rate.to),
  ...mapSurcharges(name =>
    name === 'surchargePercentage' ? percentageFromText(rate[name] ?? '0') : BigInt(rate[name] ?? 0),
  ),
})

/** Write a schedule as the column `terms`: amounts as decimal texts of their integers. */
export const termsToText = (schedule: readonly ScheduleEntry[]): string => JSON.stringify({ schedule }, pricesAsTexts)

/** Write later versions as the column `versions`. */
export const versionsToText = (versions: readonly TariffVersion[]): string => JSON.stringify(versions, pricesAsTexts)
