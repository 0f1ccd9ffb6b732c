import sql, { raw, type Sql } from 'sql-template-tag'
import type { RegisterProperties } from '../../../domain/record/reading-rules.ts'
import type { TariffDirection, TariffType } from '../../../domain/tariff/tariff.ts'
import type { OwnedObject } from '../../../domain/tenant.ts'
import type { Metadata } from '../column.ts'

export type Address = Readonly<Record<string, string | null>>

/** Values that the caller has set; null members follow from the address. */
export type LocationOverrides = {
  readonly timezone: string | null
  readonly currencyCode: string | null
  readonly importSourceId: string | null
  readonly exportSourceId: string | null
  /** Absent in locations that an earlier release stored. */
  readonly calendarId?: string | null
}

/**
 * Location to write: the values of the caller, and the values that follow from them. `timezone` is an IANA name;
 * degrees are decimal.
 */
export type LocationDraft = {
  readonly referenceId: string | null
  readonly displayName: string | null
  readonly customerId: string | null
  readonly postalAddress: Address | null
  readonly overrides: LocationOverrides
  readonly timezone: string
  readonly currencyCode: string
  readonly geoLocation: { readonly lat: number; readonly lng: number } | null
  readonly importSourceId: string | null
  readonly exportSourceId: string | null
  readonly calendarId: string | null
  readonly register: RegisterProperties | null
  readonly metadata: Metadata
}

/** Active tariff of a location, with the members that the location shows; instants in ms. */
export type LocationTariff = {
  readonly id: string
  readonly direction: TariffDirection
  readonly type: TariffType
  readonly status: 'CONNECTED' | 'ERROR'
  /** True if its prices follow the market source of the location. */
  readonly marketRates: boolean
  readonly contractStart: number | null
  readonly contractEnd: number | null
}

/** Tariff that its provider has not delivered. `failingSince` (ms): first failure since the last success, or null. */
export type PendingTariff = {
  readonly direction: TariffDirection
  readonly type: TariffType
  readonly failingSince: number | null
}

/** Stored location, with its active tariffs in the order of their ids; `createdAt` in ms. */
export type StoredLocation = LocationDraft &
  OwnedObject & {
    readonly tariffs: readonly LocationTariff[]
    /** Absent if no tariff is pending. */
    readonly pendingTariffs?: readonly PendingTariff[]
    readonly pricingRevision: number
  }

export type LocationRow = Omit<StoredLocation, 'postalAddress' | 'geoLocation' | 'tariffs' | 'pendingTariffs'> & {
  readonly postalAddress: string | null
  readonly latitude: number | null
  readonly longitude: number | null
  readonly tariffs: string
  readonly pendingTariffs: string
}

/** SQL of an instant as integer ms, for JSON. */
export const epochMs = (column: string) => sql`(extract(epoch from ${raw(column)}) * 1000)::bigint`

export const locationColumns = sql`
  id, account_id as "accountId", live_mode as "liveMode", reference_id as "referenceId", display_name as "displayName",
  customer_id as "customerId", timezone, currency_code as "currencyCode", postal_address as "postalAddress",
  latitude, longitude, overrides, import_market_source_id as "importSourceId",
  export_market_source_id as "exportSourceId", calendar_id as "calendarId", register, metadata, pricing_revision as "pricingRevision",
  time_created as "createdAt",
  (select coalesce(json_agg(json_build_object('id', t.id, 'direction', t.direction, 'type', t.type, 'status', t.status,
      'marketRates', t.market_rates,
      'contractStart', ${epochMs('t.contract_start')}, 'contractEnd', ${epochMs('t.contract_end')})
      order by t.id), '[]')
   from tariffs t
   where t.account_id = locations.account_id and t.live_mode = locations.live_mode and t.location_id = locations.id
     and t.closed_at is null and t.voided_at is null) as tariffs,
  (select coalesce(json_agg(json_build_object('direction', c.direction, 'type', c.type, 'failingSince',
    ${epochMs('c.failing_since')})), '[]')
   from tariff_credentials c
   where c.account_id = locations.account_id and c.live_mode = locations.live_mode and c.location_id = locations.id
     and c.consented_at is not null and c.fetched_at is null) as "pendingTariffs"`

export const locationFromRow = (row: LocationRow): StoredLocation => {
  const { postalAddress, latitude, longitude, tariffs, pendingTariffs, ...location } = row
  return {
    ...location,
    postalAddress: postalAddress === null ? null : JSON.parse(postalAddress),
    geoLocation: latitude === null || longitude === null ? null : { lat: latitude, lng: longitude },
    tariffs: JSON.parse(tariffs),
    ...(pendingTariffs === '[]' ? {} : { pendingTariffs: JSON.parse(pendingTariffs) }),
  }
}

/** The columns of `draftValues`, in the same order. */
export const draftColumns = sql`
  reference_id, display_name, customer_id, timezone, currency_code, postal_address, latitude, longitude, overrides,
  import_market_source_id, export_market_source_id, calendar_id, register, metadata`

export const draftValues = (draft: LocationDraft): Sql => sql`
  ${draft.referenceId}, ${draft.displayName}, ${draft.customerId}, ${draft.timezone}, ${draft.currencyCode},
  ${draft.postalAddress === null ? null : JSON.stringify(draft.postalAddress)},
  ${draft.geoLocation?.lat ?? null}, ${draft.geoLocation?.lng ?? null}, ${JSON.stringify(draft.overrides)},
  ${draft.importSourceId}, ${draft.exportSourceId}, ${draft.calendarId},
  ${draft.register === null ? null : JSON.stringify(draft.register)}::jsonb, ${JSON.stringify(draft.metadata)}`
