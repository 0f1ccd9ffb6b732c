import sql from 'sql-template-tag'
import type { ScheduleEntry, TariffDirection, TariffType } from '../../../domain/tariff/tariff.ts'
import { toTimestamp } from '../column.ts'
import type { Query } from '../database.ts'
import type { AddressType } from '../registry/providers.ts'
import { pricesAsTexts } from './price-json.ts'
import { readTariffRows, scheduleFromText } from './tariff-row.ts'

/**
 * Tariff that a provider offers to the public. Without countries or address types, it is offered in the whole area of
 * the provider.
 */
export type LibraryTariff = {
  readonly id: string
  readonly providerId: string
  readonly name: string
  readonly description: string | null
  readonly countries: readonly string[]
  readonly addressTypes: readonly AddressType[]
  readonly currencyCode: string
  readonly direction: TariffDirection
  readonly type: TariffType
  readonly marketRates: boolean
  readonly schedule: readonly ScheduleEntry[]
}

type Row = Omit<LibraryTariff, 'marketRates' | 'schedule'> & { readonly terms: string; readonly marketRates: boolean }

const columns = sql`
  id, provider_id as "providerId", name, description, countries, address_types as "addressTypes",
  currency_code as "currencyCode", direction, type,
  coalesce((terms ->> 'market_rates')::boolean, false) as "marketRates", terms::text as terms`

const fromRow = ({ terms, ...row }: Row): LibraryTariff => ({ ...row, schedule: scheduleFromText(terms) })

/** Conditions of a library search: providers, address and kind of the tariff. */
export type LibraryFilter = {
  readonly providerIds: readonly string[]
  readonly country: string
  /** Null is any type. */
  readonly addressType: AddressType | null
  readonly currencyCode: string
  readonly direction: TariffDirection
  readonly type: TariffType
}

/** List the matching library tariffs, by name. */
export const listLibraryTariffs = async (query: Query, filter: LibraryFilter): Promise<readonly LibraryTariff[]> => {
  const { rows } = await query<Row>(sql`
    select ${columns} from library_tariffs
    where provider_id = any(${filter.providerIds}) and (countries = '{}' or ${filter.country} = any(countries))
      and (${filter.addressType}::text is null or address_types = '{}' or ${filter.addressType} = any(address_types))
      and currency_code = ${filter.currencyCode} and direction = ${filter.direction} and type = ${filter.type}
    order by lower(name), id`)
  return readTariffRows(rows, fromRow)
}

/** Find a library tariff; null if there is none. */
export const findLibraryTariff = async (query: Query, id: string): Promise<LibraryTariff | null> => {
  const { rows } = await query<Row>(sql`select ${columns} from library_tariffs where id = ${id}`)
  const [row] = rows
  return row === undefined ? null : fromRow(row)
}

/**
 * Write library tariffs; existing ones are replaced. Tariffs that were created from a library tariff stay unchanged.
 * Operator.
 */
export const putLibraryTariffs = async (
  operator: Query,
  tariffs: readonly LibraryTariff[],
  at: number,
): Promise<void> => {
  for (const one of tariffs) {
    const terms = JSON.stringify({ schedule: one.schedule, market_rates: one.marketRates }, pricesAsTexts)
    await operator(sql`
      insert into library_tariffs (id, provider_id, name, description, countries, address_types, currency_code,
        direction, type, terms, time_created)
      values (${one.id}, ${one.providerId}, ${one.name}, ${one.description}, ${one.countries}::text[],
        ${one.addressTypes}::text[], ${one.currencyCode}, ${one.direction}, ${one.type}, ${terms}, ${toTimestamp(at)})
      on conflict (id) do update set provider_id = excluded.provider_id, name = excluded.name,
        description = excluded.description,
        countries = excluded.countries, address_types = excluded.address_types, currency_code = excluded.currency_code,
        direction = excluded.direction, type = excluded.type, terms = excluded.terms`)
  }
}

/** Count the library tariffs of each provider that has any. Operator. */
export const countLibraryTariffs = async (operator: Query): Promise<ReadonlyMap<string, number>> => {
  const { rows } = await operator<{ id: string; count: number }>(sql`
    select provider_id as id, count(*) as count from library_tariffs group by provider_id`)
  return new Map(rows.map(({ id, count }) => [id, count]))
}
