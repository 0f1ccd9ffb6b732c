import { isDeepStrictEqual } from 'node:util'
import { CommandError, type CommandInput, UsageError } from '../../../command-line/command.ts'
import { withDatabase } from '../../../command-line/open-database.ts'
import { nearestName } from '../../../contract/message-text.ts'
import type { Result } from '../../../domain/refusal.ts'
import { currencyOf } from '../../../platform/geocoding/country.ts'
import type { Query } from '../../../platform/postgres/database.ts'
import {
  findLibraryTariff,
  type LibraryTariff,
  putLibraryTariffs,
} from '../../../platform/postgres/pricing/library-tariffs.ts'
import { findProviders, type StoredProvider } from '../../../platform/postgres/registry/providers.ts'
import { withOperator } from '../../../platform/postgres/transaction.ts'
import { catalogueId } from '../../../platform/provider-catalogue/suppliers.ts'
import { timeZone } from '../../../platform/time-zone.ts'
import { isJsonText, readJsonSource } from '../../contract/json-source.ts'
import { readImportOptions } from '../../contract/tariff-import.ts'
import { detectTariffFormat, readTariffFile } from '../../domain/read-tariff-file.ts'
import type { NotImported } from '../../domain/report.ts'
import type { SourceValue } from '../../domain/source-value.ts'
import {
  type DraftTariff,
  type ImportContext,
  type TariffFile,
  type TariffFormat,
  tariffFormats,
} from '../../domain/tariff-file.ts'
import { readYamlSource } from '../../platform/yaml.ts'
import type { SourceFile } from './import-files.ts'
import type { ImportedObject, ImportReport } from './import-report.ts'

/** Options of tariffs of a location, which a library tariff does not have. */
const locationOnly = ['location', 'valid-from', 'valid-to', 'replace'] as const

/** Return the value of a result. Throws `CommandError` with the message of a refusal. */
const acceptedValue = <T>(file: string, result: Result<T>): T => {
  if (result.ok) return result.value
  const { message, field } = result.refusal
  throw new CommandError(`${file}: ${message}${field === undefined ? '' : ` (${field})`}.`)
}

const readSource = async (bytes: Uint8Array, format: string | undefined): Promise<Result<SourceValue>> =>
  format === 'fri-nettleie' || (format === undefined && !isJsonText(bytes))
    ? readYamlSource(bytes)
    : readJsonSource(bytes)

const formatOf = (name: string, requested: string | undefined, source: SourceValue): TariffFormat => {
  const format = tariffFormats.find(one => one === requested) ?? detectTariffFormat(source)
  if (format === null) throw new UsageError(`The format of ${name} is unknown. Name it with --format.`)
  if (format === 'octopus')
    throw new UsageError('--library does not accept octopus, because its prices are a market. Use "markets import".')
  return format
}

/** Prices of the provider are in the currency of its first country. A contract is in force by UTC. */
const contextOf = ({ countries, displayName }: StoredProvider): ImportContext => {
  const currencyCode = currencyOf(countries[0] ?? '')
  const zone = timeZone('Etc/UTC')
  if (currencyCode === undefined || zone === null)
    throw new CommandError(`The country of ${displayName} has no currency.`)
  return { currencyCode, timeZone: zone, hasCalendar: true, nearestName }
}

const isInForce = ({ terms: { contractStart, contractEnd } }: DraftTariff, at: number): boolean =>
  (contractStart === null || contractStart <= at) && (contractEnd === null || contractEnd > at)

/** Part of the file that a library tariff cannot have. */
const chargeEntry = ({ from }: TariffFile['charges'][number]): readonly NotImported[] =>
  from.map(path => ({ path, reason: 'no_charges', affects: 'bill', message: 'A library tariff has no charges.' }))

const toLibraryTariff = (
  { id: providerId }: StoredProvider,
  { name, sourceId, terms }: DraftTariff,
  currencyCode: string,
): LibraryTariff => ({
  id: catalogueId('libraryTariff', providerId, sourceId, terms.direction, terms.type),
  providerId,
  name,
  currencyCode,
  description: null,
  countries: [],
  addressTypes: [],
  direction: terms.direction,
  type: terms.type,
  marketRates: terms.marketRates,
  schedule: terms.schedule,
})

type Status = 'created' | 'changed' | 'unchanged'

/** Write library tariffs, and return what happened to each. A dry run writes nothing. */
const writeTariffs = async (
  query: Query,
  tariffs: readonly LibraryTariff[],
  { at, isDryRun }: { readonly at: number; readonly isDryRun: boolean },
): Promise<readonly Status[]> => {
  const statuses: Status[] = []
  for (const one of tariffs) {
    const stored = await findLibraryTariff(query, one.id)
    const status = stored === null ? 'created' : isDeepStrictEqual(stored, one) ? 'unchanged' : 'changed'
    if (!isDryRun && status !== 'unchanged') await putLibraryTariffs(query, [one], at)
    statuses.push(status)
  }
  return statuses
}

export type LibraryImport = {
  readonly input: CommandInput
  readonly file: SourceFile
  readonly content: Uint8Array
  readonly providerId: string
}

/**
 * Import the tariffs of a file that are in force as library tariffs of a provider, which Connect offers to its customers.
 * Charges are reported as `no_charges`. Connected tariffs do not change.
 * Throws `CommandError` for an unknown provider or a wrong file, `UsageError` for options of a location.
 * Source: docs/rules/interchange-tariffs.md #library.
 */
export const importLibrary = async ({ input, file, content, providerId }: LibraryImport): Promise<ImportReport> => {
  const { options } = input
  const wrong = locationOnly.find(name => options[name] !== undefined)
  if (wrong !== undefined) throw new UsageError(`--library and --${wrong} exclude each other.`)
  const source = acceptedValue(file.name, await readSource(content, options['format']))
  const format = formatOf(file.name, options['format'], source)
  const choices = acceptedValue(file.name, readImportOptions(options))
  const isDryRun = options['dry-run'] !== undefined
  return withDatabase(input, { mayCreate: false }, (database, { at }) =>
    withOperator(database, async ({ query }) => {
      const [provider] = await findProviders(query, [providerId])
      if (provider === undefined)
        throw new CommandError(`There is no supplier ${providerId}. "npx wattledger providers list" lists all.`)
      const context = contextOf(provider)
      const read = acceptedValue(file.name, readTariffFile(format, source, context, choices))
      const drafts = read.tariffs.filter(one => isInForce(one, at))
      const tariffs = drafts.map(one => toLibraryTariff(provider, one, context.currencyCode))
      if (new Set(tariffs.map(({ id }) => id)).size < tariffs.length)
        throw new CommandError(`${file.name} has two tariffs of one name and direction that are in force.`)
      const statuses = await writeTariffs(query, tariffs, { at, isDryRun })
      const count = (wanted: Status): number => statuses.filter(status => status === wanted).length
      const imported: readonly ImportedObject[] = tariffs.map(({ id, name, direction, type }, index) => ({
        object: 'library_tariff',
        id,
        name,
        direction,
        type,
        from: [...new Set(drafts[index]?.from)],
      }))
      const others = read.tariffs.filter(one => !isInForce(one, at)).flatMap(({ from }) => [...new Set(from)])
      return {
        format,
        file: file.name,
        sha256: file.sha256(),
        dry_run: isDryRun,
        rows: tariffs.length,
        accepted: tariffs.length,
        blank: 0,
        batches_pending: 0,
        created: count('created'),
        unchanged: count('unchanged'),
        changed: count('changed'),
        refused_rows: 0,
        refused: [],
        refused_file: null,
        imported,
        not_imported: [...read.notImported, ...read.charges.flatMap(chargeEntry)],
        noted: [...read.noted, ...others.map(path => ({ path, message: 'is not in force now' }))],
      }
    }),
  )
}
