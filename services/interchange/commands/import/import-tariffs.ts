import { CommandError, type CommandInput, type CommandOption } from '../../../command-line/command.ts'
import { callPatiently, refusalOf } from '../../../platform/call-service.ts'
import type { TariffImportWire } from '../../contract/tariff-import.ts'
import { tariffFormats } from '../../domain/tariff-file.ts'
import { openArchive } from '../../platform/archive.ts'
import type { SourceFile } from './import-files.ts'
import type { ImportReport } from './import-report.ts'
import type { ImportTarget } from './import-target.ts'
import type { ImportProgress } from './progress.ts'

/** Options of `import tariffs`: the parameters of the operation. */
export const tariffOptions: Readonly<Record<string, CommandOption>> = {
  format: { value: 'FORMAT', summary: 'Format. Default: from the content.', choices: tariffFormats },
  location: { value: 'ID', summary: 'Location of the tariffs: an id or an own reference.' },
  'valid-from': { value: 'DATE', summary: 'Start of the first contract: a date, or open. Default: as in the file.' },
  'valid-to': { value: 'DATE', summary: 'End of the last contract: a date, or open.' },
  surcharge: { value: 'N', summary: 'Added to each kWh, in major units.' },
  vat: {
    value: 'PERCENT',
    summary: 'Value-added tax in percent. Without a value: the rates of the file.',
    valueForm: /^(\d+(\.\d+)?|true)$/,
  },
  type: { value: 'TYPE', summary: 'Only OCPI tariffs of this type.' },
  group: { value: 'GROUP', summary: 'Customer group of fri-nettleie.' },
  code: { value: 'CODE,…', summary: 'Only these charge codes of datahub-pricelist.' },
  gln: { value: 'GLN,…', summary: 'Only the charges of these owners in datahub-pricelist.' },
  payment: { value: 'METHOD', summary: 'Payment method of octopus, if prices differ by it.' },
  standing: { summary: 'The file of octopus has standing charges.' },
  export: { summary: 'The file of octopus has prices of sold energy.' },
  replace: { summary: 'Void other tariffs in the time of the imported ones.' },
}

/** Imports tariffs to the library of a provider instead of a location. */
export const libraryOptions: Readonly<Record<string, CommandOption>> = {
  library: {
    value: 'PROVIDER',
    summary: 'Offer the tariffs in Connect as those of a supplier, prv_…, not at a location.',
  },
}

export type TariffFileImport = {
  readonly file: SourceFile
  readonly target: ImportTarget
  readonly progress: ImportProgress
  readonly signal: AbortSignal
  readonly options: CommandInput['options']
}

/** Maximum size of a file in bytes. */
const maxBytes = 2 ** 20

/** Read a whole file. Throws `CommandError` above 1 MiB. */
export const readTariffContent = async ({
  file,
  progress,
}: Pick<TariffFileImport, 'file' | 'progress'>): Promise<Buffer<ArrayBuffer>> => {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of openArchive(file.chunks(progress.addBytes))) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new CommandError(`${file.name} is larger than 1 MiB. Split it.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const pathOf = (options: CommandInput['options']): string => {
  const { location = '' } = options
  const isName = /^(loc_.{24}$|(reference|location):)/.test(location)
  const query = new URLSearchParams({ location_id: isName ? location : `reference:${location}` })
  for (const name of Object.keys(tariffOptions)) {
    const value = options[name]
    if (name === 'location' || value === undefined) continue
    query.set(name.replaceAll('-', '_'), value === '' ? 'true' : value)
  }
  if (options['dry-run'] !== undefined) query.set('dry_run', 'true')
  return `/tariffs/import?${query}`
}

/**
 * Send a file to `POST /tariffs/import` and return its report. The service imports all tariffs of the file, or none.
 * A refusal is the error of the report. Throws `CommandError` for a file above 1 MiB.
 * Source: docs/rules/interchange-tariffs.md #report.
 */
export const importTariffs = async (one: TariffFileImport): Promise<ImportReport> => {
  const { file, target, progress, signal, options } = one
  const content = (await readTariffContent(one)).toString('utf8')
  const path = pathOf(options)
  const post = () => target.client.call<TariffImportWire>('POST', path, content, 'application/octet-stream')
  const answer = await callPatiently(post, signal, progress.wait)
  progress.end()
  const body = answer.status === 200 ? answer.body : null
  return {
    format: body?.format ?? options['format'] ?? 'unknown',
    file: file.name,
    sha256: file.sha256(),
    dry_run: options['dry-run'] !== undefined,
    rows: body?.imported.length ?? 0,
    accepted: body?.imported.length ?? 0,
    created: body?.created ?? 0,
    unchanged: body?.unchanged ?? 0,
    blank: 0,
    batches_pending: 0,
    refused_rows: 0,
    refused: [],
    refused_file: null,
    imported: (body?.imported ?? []).map(({ object, id, name, direction, type, from }) => ({
      object,
      id: id ?? '',
      name,
      direction: direction ?? '',
      type,
      from,
    })),
    not_imported: body?.not_imported ?? [],
    noted: body?.noted ?? [],
    ...(body === null ? { error: refusalOf('POST', '/tariffs/import', answer).message } : {}),
  }
}
