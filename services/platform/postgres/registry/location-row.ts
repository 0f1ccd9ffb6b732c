import sql, { raw } from 'sql-template-tag'
import type { Location, LocationDraft } from '../../../domain/registry/location.ts'
import { type ObjectTable, rowReader, selectOf } from '../object-table.ts'

/** Columns of a location: its draft, with the coordinates in two columns. */
type LocationColumns = Omit<LocationDraft, 'geoLocation'> & {
  readonly latitude: number | null
  readonly longitude: number | null
}

/** Table of locations. */
export const locationTable: ObjectTable<LocationColumns> = {
  name: 'locations',
  columns: {
    referenceId: ['reference_id', 'text'],
    displayName: ['display_name', 'text'],
    customerId: ['customer_id', 'text'],
    timezone: ['timezone', 'text'],
    currencyCode: ['currency_code', 'text'],
    postalAddress: ['postal_address', 'json'],
    latitude: ['latitude', 'double precision'],
    longitude: ['longitude', 'double precision'],
    overrides: ['overrides', 'jsonb'],
    importSourceId: ['import_market_source_id', 'text'],
    exportSourceId: ['export_market_source_id', 'text'],
    calendarId: ['calendar_id', 'text'],
    register: ['register', 'jsonb'],
    metadata: ['metadata', 'jsonb'],
  },
}

export type LocationRow = LocationColumns &
  Omit<Location, keyof LocationDraft | 'tariffs' | 'pendingTariffs'> & {
    readonly tariffs: string
    readonly pendingTariffs: string
  }

/** SQL of an instant as integer ms, for JSON. */
export const epochMs = (column: string) => sql`(extract(epoch from ${raw(column)}) * 1000)::bigint`

export const locationColumns = sql`${selectOf(locationTable)}, pricing_revision as "pricingRevision",
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

const readRow = rowReader(locationTable)

export const locationFromRow = (row: LocationRow): Location => {
  const { latitude, longitude, tariffs, pendingTariffs, ...location } = readRow(row)
  return {
    ...location,
    geoLocation: latitude === null || longitude === null ? null : { lat: latitude, lng: longitude },
    tariffs: JSON.parse(tariffs),
    ...(pendingTariffs === '[]' ? {} : { pendingTariffs: JSON.parse(pendingTariffs) }),
  }
}

/** Return the columns of a location to write. */
export const locationToRow = ({ geoLocation, ...draft }: LocationDraft): LocationColumns => ({
  ...draft,
  latitude: geoLocation?.lat ?? null,
  longitude: geoLocation?.lng ?? null,
})
