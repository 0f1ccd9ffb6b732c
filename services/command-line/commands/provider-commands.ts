import { readFileSync } from 'node:fs'
import { type ProviderFile, readProviderFile } from '../../contract/registry/provider-file.ts'
import { summaryNames } from '../../domain/connect/page.ts'
import { writeInstant } from '../../domain/instant.ts'
import { listTariffReports, setSummaryName } from '../../platform/postgres/connect/connect-sessions.ts'
import {
  type AddressType,
  listProviders,
  putProviders,
  type StoredProvider,
} from '../../platform/postgres/connect/providers.ts'
import {
  countLibraryTariffs,
  type LibraryTariff,
  putLibraryTariffs,
} from '../../platform/postgres/pricing/library-tariffs.ts'
import { withOperator } from '../../platform/postgres/transaction.ts'
import { catalogueId } from '../../platform/provider-catalogue/suppliers.ts'
import { type Command, CommandError, success, UsageError } from '../command.ts'
import { withDatabase } from '../open-database.ts'
import { table } from '../table.ts'

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
    if (!read.ok)
      throw new CommandError(
        `${path}: ${read.refusal.message}${read.refusal.field === undefined ? '' : ` (${read.refusal.field})`}`,
      )
    return read.value
  } catch (error) {
    if (error instanceof Error && 'code' in error) throw new CommandError(`${path} cannot be read: ${error.message}`)
    throw error
  }
}

const importCommand: Command = {
  name: 'providers import',
  operands: ['FILE'],
  summary: 'Import suppliers and their library tariffs.',
  details:
    'FILE is JSON: {"providers": [{"display_name", "countries", "address_types"?, "logo_url"?, "direct"? {"login_url", "app_url"?},\n"library_tariffs"? [{"name", "currency_code", "schedule", …}]}]}. A supplier is known by its id, else by its first country and name: importing\nit again changes it. Tariffs that were connected before stay as they are.',
  options: {},
  run: input => {
    const [path = ''] = input.operands
    const { providers } = readFile(path)
    return withDatabase(input, { mayCreate: false }, async database => {
      const written = providers.map(toProvider)
      const tariffs = providers.flatMap((one, index) => toLibraryTariffs(written[index]?.id ?? '', one))
      await withOperator(database, async ({ query }) => {
        await putProviders(query, written, input.at)
        await putLibraryTariffs(query, tariffs, input.at)
      })
      const json = {
        providers: written.map(({ id, displayName }) => ({ id, display_name: displayName })),
        library_tariffs: tariffs.length,
      }
      return success(`  ${written.length} suppliers with ${tariffs.length} library tariffs imported`, json)
    })
  },
}

const addressTypes: readonly AddressType[] = ['RESIDENTIAL', 'COMMERCIAL']

const listCommand: Command = {
  name: 'providers list',
  operands: [],
  summary: 'List suppliers.',
  details: 'All suppliers that Connect offers, by name; those of one country, or of one type of address.',
  options: {
    country: { value: 'CODE', summary: 'Only those of a country, such as GB.' },
    'address-type': { value: 'TYPE', summary: 'Only those that serve such addresses.', choices: addressTypes },
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
        ...{
          id: one.id,
          display_name: displayName,
          logo_url: logoUrl,
          countries: one.countries,
          address_types: shownAddressTypes,
        },
        direct: direct === null ? null : { login_url: direct.loginUrl, app_url: direct.appUrl },
        library_tariffs: counts.get(one.id) ?? 0,
      }))
      return success(table(['id', 'countries', 'name', 'login', 'tariffs'], rows, '  no suppliers'), json)
    }),
}

const maxReports = 1_000

const reportsCommand: Command = {
  name: 'providers reports',
  operands: [],
  summary: 'List tariffs that people called wrong.',
  details: 'What was reported on the summary page of Connect, newest first, up to 1,000.',
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
      return success(table(['time', 'account', 'tariff', 'provider'], rows, '  nothing was reported'), json)
    }),
}

const summaryRouteCommand: Command = {
  name: 'providers summary-route',
  operands: ['ACCOUNT', 'NAME'],
  summary: 'Set how an account wants the summary page of Connect to be called.',
  details:
    'NAME is tariffs_summary (the default) or tariff_summary. It holds for tokens that are made from now on, in the current layout. A token may choose for itself: route_options.summary_route of POST /connect/token.',
  options: {},
  run: input => {
    const [account = '', name = ''] = input.operands
    if (!summaryNames.some(one => one === name)) throw new UsageError(`NAME must be ${summaryNames.join(' or ')}`)
    return withDatabase(input, { mayCreate: false }, async ({ operator }) => {
      if (!(await setSummaryName(operator, account, name))) throw new CommandError(`there is no account ${account}`)
      return success(`  the summary of ${account} is called ${name}`, { account_id: account, summary_route: name })
    })
  },
}

/** What the operator does for Connect: suppliers, reports of wrong tariffs, the name of the summary. */
export const providerCommands: readonly Command[] = [importCommand, listCommand, reportsCommand, summaryRouteCommand]
