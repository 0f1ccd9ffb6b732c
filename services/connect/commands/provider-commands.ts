import { readFileSync } from 'node:fs'
import { type Command, CommandError, success, UsageError } from '../../command-line/command.ts'
import { withDatabase } from '../../command-line/open-database.ts'
import { table } from '../../command-line/table.ts'
import { type ProviderFile, readProviderFile } from '../../contract/registry/provider-file.ts'
import { writeInstant } from '../../domain/instant.ts'
import {
  countLibraryTariffs,
  type LibraryTariff,
  putLibraryTariffs,
} from '../../platform/postgres/pricing/library-tariffs.ts'
import {
  type AddressType,
  listProviders,
  putProviders,
  type StoredProvider,
} from '../../platform/postgres/registry/providers.ts'
import { withOperator } from '../../platform/postgres/transaction.ts'
import { catalogueId } from '../../platform/provider-catalogue/suppliers.ts'
import { summaryNames } from '../domain/page.ts'
import { listTariffReports, setSummaryName } from '../postgres/connect-sessions.ts'

type ProviderEntry = ProviderFile['providers'][number]

const toProvider = (entry: ProviderEntry): StoredProvider => {
  const { direct, countries } = entry
  return {
    id: entry.id ?? catalogueId('provider', countries[0] ?? '', entry.display_name),
    displayName: entry.display_name,
    logoUrl: entry.logo_url ?? null,
    countries,
    addressTypes: entry.address_types ?? [],
    direct:
      direct === undefined
        ? null
        : {
            loginUrl: direct.login_url,
            appUrl: direct.app_url ?? new URL(direct.login_url).origin,
            accentColor: direct.accent_color ?? null,
          },
  }
}

const toLibraryTariffs = (
  providerId: string,
  { library_tariffs: tariffs = [] }: ProviderEntry,
): readonly LibraryTariff[] =>
  tariffs.map(one => ({
    id: one.id ?? catalogueId('libraryTariff', providerId, one.name, one.terms.direction, one.terms.type),
    providerId,
    name: one.name,
    description: one.description ?? null,
    countries: one.countries ?? [],
    addressTypes: one.address_types ?? [],
    currencyCode: one.currency_code,
    direction: one.terms.direction,
    type: one.terms.type,
    marketRates: one.terms.marketRates,
    schedule: one.terms.schedule,
  }))

const readFile = (path: string): ProviderFile => {
  try {
    const read = readProviderFile(readFileSync(path))
    if (!read.ok) {
      const { message, field } = read.refusal
      throw new CommandError(`Invalid ${path}: ${message}${field === undefined ? '' : ` (${field})`}.`)
    }
    return read.value
  } catch (error) {
    if (error instanceof Error && 'code' in error) throw new CommandError(`Cannot read ${path}: ${error.message}.`)
    throw error
  }
}

const importCommand: Command = {
  name: 'providers import',
  operands: ['FILE'],
  summary: 'Import suppliers and their library tariffs.',
  details: [
    'FILE is JSON; members with ? are optional:',
    '  {"providers": [{"id"?, "display_name", "countries", "address_types"?, "logo_url"?,',
    '    "direct"?: {"login_url", "app_url"?}, "library_tariffs"?: [{"name", "currency_code", "schedule", …}]}]}',
    'A supplier is identified by its id, or by first country and name. A repeated import updates the supplier.',
    'Connected tariffs do not change.',
  ],
  options: {},
  run: input => {
    const [path = ''] = input.operands
    const { providers } = readFile(path)
    return withDatabase(input, { mayCreate: false }, async (database, { at }) => {
      const written = providers.map(toProvider)
      const tariffs = providers.flatMap((one, index) => toLibraryTariffs(written[index]?.id ?? '', one))
      await withOperator(database, async ({ query }) => {
        await putProviders(query, written, at)
        await putLibraryTariffs(query, tariffs, at)
      })
      const json = {
        providers: written.map(({ id, displayName }) => ({ id, display_name: displayName })),
        library_tariffs: tariffs.length,
      }
      return success(`Imported ${written.length} suppliers with ${tariffs.length} library tariffs.`, json)
    })
  },
}

const addressTypes: readonly AddressType[] = ['RESIDENTIAL', 'COMMERCIAL']

const listCommand: Command = {
  name: 'providers list',
  operands: [],
  summary: 'List suppliers.',
  details: ['Lists the suppliers of Connect by name.'],
  options: {
    country: { value: 'CODE', summary: 'Only suppliers of this country, such as GB.' },
    'address-type': { value: 'TYPE', summary: 'Only suppliers of this type of address.', choices: addressTypes },
  },
  run: input =>
    withDatabase(input, { mayCreate: false }, async ({ operator }) => {
      const country = input.options['country']?.toUpperCase() ?? null
      const addressType = addressTypes.find(one => one === input.options['address-type']) ?? null
      const providers = await listProviders(operator, { country, addressType })
      const counts = await countLibraryTariffs(operator)
      const rows = providers.map(one => [
        one.id,
        one.countries.join(' '),
        one.displayName,
        one.direct === null ? '' : 'login',
        String(counts.get(one.id) ?? ''),
      ])
      const json = providers.map(({ displayName, logoUrl, addressTypes: shownAddressTypes, direct, ...one }) => ({
        id: one.id,
        display_name: displayName,
        logo_url: logoUrl,
        countries: one.countries,
        address_types: shownAddressTypes,
        direct: direct === null ? null : { login_url: direct.loginUrl, app_url: direct.appUrl },
        library_tariffs: counts.get(one.id) ?? 0,
      }))
      return success(table(['id', 'countries', 'name', 'login', 'tariffs'], rows, 'No suppliers match.'), json)
    }),
}

const maxReports = 1_000

const reportsCommand: Command = {
  name: 'providers reports',
  operands: [],
  summary: 'List tariffs that customers reported as wrong.',
  details: ['Lists the last 1,000 reports from the summary page of Connect, newest first.'],
  options: {},
  run: input =>
    withDatabase(input, { mayCreate: false }, async ({ operator }) => {
      const found = await listTariffReports(operator, maxReports)
      const rows = found.map(one => [writeInstant(one.at), one.accountId, one.tariffId ?? '', one.providerName ?? ''])
      const json = found.map(one => ({
        account_id: one.accountId,
        live_mode: one.liveMode,
        location_id: one.locationId,
        tariff_id: one.tariffId,
        provider: one.providerName,
        time_created: writeInstant(one.at),
      }))
      return success(table(['time', 'account', 'tariff', 'provider'], rows, 'No reports yet.'), json)
    }),
}

const summaryRouteCommand: Command = {
  name: 'providers summary-route',
  operands: ['ACCOUNT', 'NAME'],
  summary: 'Set the name of the Connect summary page for an account.',
  details: [
    'NAME is tariffs_summary (default) or tariff_summary. It applies to new tokens of the current API version.',
    'route_options.summary_route of POST /connect/token overrides it for one token.',
  ],
  options: {},
  run: input => {
    const [account = '', name = ''] = input.operands
    if (!summaryNames.some(one => one === name)) throw new UsageError(`NAME must be ${summaryNames.join(' or ')}.`)
    return withDatabase(input, { mayCreate: false }, async ({ operator }) => {
      if (!(await setSummaryName(operator, account, name))) throw new CommandError(`There is no account ${account}.`)
      return success(`The summary page of ${account} is now ${name}.`, { account_id: account, summary_route: name })
    })
  },
}

/** Commands for Connect: suppliers, reports of wrong tariffs, name of the summary page. */
export const providerCommands: readonly Command[] = [importCommand, listCommand, reportsCommand, summaryRouteCommand]
