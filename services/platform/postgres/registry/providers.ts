import sql, { type Sql } from 'sql-template-tag'
import type { Result } from '../../../domain/refusal.ts'
import { toTimestamp } from '../column.ts'
import { countRows, type Query, readRows } from '../database.ts'
import { type Page, type Paging, readPage } from '../page.ts'

export type AddressType = 'RESIDENTIAL' | 'COMMERCIAL'

/** Login of a person at a provider: the page, and the address of the app that returns tariffs. */
export type DirectConnection = {
  readonly loginUrl: string
  readonly appUrl: string
  readonly accentColor: string | null
}

/** Supplier of energy, shared by all accounts. A provider without address types serves all of them. */
export type StoredProvider = {
  readonly id: string
  readonly displayName: string
  readonly logoUrl: string | null
  readonly countries: readonly string[]
  readonly addressTypes: readonly AddressType[]
  readonly direct: DirectConnection | null
}

const columns = sql`
  id, display_name as "displayName", logo_url as "logoUrl", countries, address_types as "addressTypes", direct`

/** Return true if a provider serves addresses of a country and type; null is any type. */
export const serves = (
  { countries, addressTypes }: StoredProvider,
  country: string,
  type: AddressType | null,
): boolean => countries.includes(country) && (type === null || addressTypes.length === 0 || addressTypes.includes(type))

const isServing = (country: string | null, addressType: AddressType | null): Sql =>
  sql`(${country}::text is null or ${country} = any(countries))
    and (${addressType}::text is null or address_types = '{}' or ${addressType} = any(address_types))`

/** List the providers of a country that serve a type of address (null: any), by name. */
export const listProviders = (
  query: Query,
  { country, addressType }: { readonly country: string | null; readonly addressType: AddressType | null },
): Promise<readonly StoredProvider[]> =>
  readRows(query)(sql`
    select ${columns} from providers
    where ${isServing(country, addressType)}
    order by lower(display_name), id`)

/** List the addresses of logos, one for each host, at most 200. */
export const listLogos = async (query: Query): Promise<readonly string[]> => {
  const { rows } = await query<{ logo: string }>(sql`
    select min(logo_url) as logo from providers where logo_url is not null
    group by substring(logo_url from '^[^/]*//[^/?#]*') order by 1 limit 200`)
  return rows.map(({ logo }) => logo)
}

/**
 * List providers of a country and a type of address (null: any), in descending order of their ids.
 * Refuses `cursor_not_found`.
 */
export const pageOfProviders = (
  query: Query,
  { country, addressType }: { readonly country: string | null; readonly addressType: AddressType | null },
  paging: Paging,
): Promise<Result<Page<StoredProvider & { readonly createdAt: number }>>> =>
  readPage<StoredProvider & { readonly createdAt: number }>(
    query,
    {
      table: 'providers',
      columns: sql`${columns}, time_created as "createdAt"`,
      scope: sql`true`,
      filter: isServing(country, addressType),
    },
    paging,
  )

/** Find providers by their ids; unknown ones are left out. */
export const findProviders = (query: Query, ids: readonly string[]): Promise<readonly StoredProvider[]> =>
  readRows(query)(sql`select ${columns} from providers where id = any(${ids}) order by id`)

/**
 * Write providers. Existing ones are replaced, or stay unchanged with `skipExisting`. Returns the number of written
 * providers. Operator.
 */
export const putProviders = async (
  operator: Query,
  providers: readonly StoredProvider[],
  at: number,
  { skipExisting = false }: { readonly skipExisting?: boolean } = {},
): Promise<number> => {
  if (providers.length === 0) return 0
  return countRows(operator)(sql`
    insert into providers (id, display_name, logo_url, countries, address_types, direct, time_created)
    select p ->> 'id', p ->> 'displayName', p ->> 'logoUrl', array(select jsonb_array_elements_text(p -> 'countries')),
      array(select jsonb_array_elements_text(p -> 'addressTypes')), nullif(p -> 'direct', 'null'), ${toTimestamp(at)}
    from jsonb_array_elements(${JSON.stringify(providers)}::jsonb) as p
    on conflict (id) do ${
      skipExisting
        ? sql`nothing`
        : sql`update set display_name = excluded.display_name, logo_url = excluded.logo_url,
          countries = excluded.countries, address_types = excluded.address_types, direct = excluded.direct`
    }`)
}
