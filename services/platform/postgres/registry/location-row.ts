import sql, { raw, type Sql } from 'sql-template-tag'
import type { Location, LocationDraft } from '../../../domain/registry/location.ts'

export type LocationRow = Omit<Location, 'postalAddress' | 'geoLocation' | 'tariffs' | 'pendingTariffs'> & {
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

export const locationFromRow = (row: LocationRow): Location => {
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
