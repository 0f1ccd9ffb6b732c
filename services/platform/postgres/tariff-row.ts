import { sql } from 'kysely'
import type { Rate, ScheduleEntry, Tariff, TariffVersion } from '../../domain/tariff/tariff.ts'
import { epochMs } from './location-row.ts'

export type ConnectionType = 'MANUAL' | 'LIBRARY' | 'DIRECT' | 'MARKET'

/** A tariff as it is kept: what prices, and what is shown beside it. `timezone` is that of its location; instants in ms. */
export type StoredTariff = Tariff & {
  readonly accountId: string
  readonly liveMode: boolean
  readonly locationId: string
  readonly timezone: string
  readonly connectionType: ConnectionType
  readonly status: 'CONNECTED' | 'ERROR'
  readonly displayName: string | null
  readonly providerId: string | null
  readonly libraryTariffId: string | null
  readonly createdAt: number
}

export type TariffDraft = Omit<StoredTariff, 'id' | 'accountId' | 'liveMode' | 'timezone' | 'closedAt' | 'createdAt' | 'versions'>

export type TariffRow = {
  id: string
  account_id: string
  live_mode: boolean
  location_id: string
  timezone: string
  direction: StoredTariff['direction']
  type: StoredTariff['type']
  connection_type: ConnectionType
  status: StoredTariff['status']
  display_name: string | null
  provider_id: string | null
  library_tariff_id: string | null
  market_rates: boolean
  contract_start: number | null
  contract_end: number | null
  closed_at: number | null
  terms: string
  versions: string
  time_created: number
}

export const tariffColumns = sql`id, account_id, live_mode, location_id, direction, type, connection_type, status, display_name, provider_id,
  library_tariff_id, market_rates, contract_start, contract_end, closed_at, terms::text as terms, versions::text as versions, time_created,
  (select l.timezone from locations l
   where l.account_id = tariffs.account_id and l.live_mode = tariffs.live_mode and l.id = tariffs.location_id) as timezone`

/** What prices of a tariff, as a member of a JSON array: `tariffFromJson` reads it. `t` names the table. */
export const tariffJson = sql`json_build_object('id', t.id, 'direction', t.direction, 'type', t.type, 'marketRates', t.market_rates,
  'contractStart', ${epochMs('t.contract_start')}, 'contractEnd', ${epochMs('t.contract_end')}, 'closedAt', ${epochMs('t.closed_at')},
  'terms', t.terms::text, 'versions', t.versions::text)`

type TariffJson = Omit<Tariff, 'schedule' | 'versions'> & { readonly terms: string; readonly versions: string }

export const tariffFromJson = ({ terms, versions, ...tariff }: TariffJson): Tariff => ({
  ...tariff,
  schedule: scheduleFromText(terms),
  ...versionsFromText(versions),
})

export const tariffFromRow = (row: TariffRow): StoredTariff => ({
  id: row.id,
  accountId: row.account_id,
  liveMode: row.live_mode,
  locationId: row.location_id,
  timezone: row.timezone,
  direction: row.direction,
  type: row.type,
  connectionType: row.connection_type,
  status: row.status,
  displayName: row.display_name,
  providerId: row.provider_id,
  libraryTariffId: row.library_tariff_id,
  marketRates: row.market_rates,
  contractStart: row.contract_start,
  contractEnd: row.contract_end,
  closedAt: row.closed_at,
  schedule: scheduleFromText(row.terms),
  ...versionsFromText(row.versions),
  createdAt: row.time_created,
})

const mostTexts = 5_000

/** Read texts of `terms` or `versions`. Fleets share few of them: equal ones are read once, and are one value. */
const textReader = <T>(): ((text: string) => T) => {
  const read = new Map<string, T>()
  return text => {
    const known = read.get(text)
    if (known !== undefined) return known
    const value: T = JSON.parse(text, (name, member) => (name === 'rate' ? member.map(rateFromJson) : member))
    if (read.size >= mostTexts) read.clear()
    read.set(text, value)
    return value
  }
}

const readTerms = textReader<{ readonly schedule: readonly ScheduleEntry[] }>()
const readVersions = textReader<readonly TariffVersion[]>()

/** Read the column `terms`. */
export const scheduleFromText = (text: string): readonly ScheduleEntry[] => readTerms(text).schedule
/** The member is absent if there is none. */
const versionsFromText = (text: string): Pick<Tariff, 'versions'> => (text === '[]' ? {} : { versions: readVersions(text) })

type RateJson = {
  readonly fixed: string
  readonly to: string | null
  readonly surchargeFixed: string
  readonly surchargePercentage: string
}

const rateFromJson = (rate: RateJson): Rate => ({
  fixed: BigInt(rate.fixed),
  to: rate.to === null ? null : BigInt(rate.to),
  surchargeFixed: BigInt(rate.surchargeFixed),
  surchargePercentage: BigInt(rate.surchargePercentage),
})

const bigintToText = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value)

/** Write a schedule as the column `terms`: amounts as decimal texts of their integers. */
export const termsToText = (schedule: readonly ScheduleEntry[]): string => JSON.stringify({ schedule }, bigintToText)

/** Write later versions as the column `versions`. */
export const versionsToText = (versions: readonly TariffVersion[]): string => JSON.stringify(versions, bigintToText)
