import { writeFileSync } from 'node:fs'
import type { Command, CommandInput, CommandOption, CommandOutcome } from '../../command-line/command.ts'
import { CommandError, missingFile, missingOptions, UsageError } from '../../command-line/command.ts'
import { callPatiently, type MessageBody, refusalOf, zoneOfLocation } from '../../platform/call-service.ts'
import { keyVariable, readConfig } from '../../platform/config/config.ts'
import type { ColumnGuess } from '../domain/csv/guess-columns.ts'
import { collectFileCosts, type FileCostCollector } from '../domain/green-button/file-costs.ts'
import { presetNames } from '../domain/known-files.ts'
import type { ObjectName } from '../domain/reading.ts'
import { openArchive, peekChunks } from '../platform/archive.ts'
import { isSignedText, textFormatOf } from '../platform/file-format.ts'
import { readObjectName } from '../reading-import/csv-options.ts'
import { greenButtonSource } from '../reading-import/read-green-button.ts'
import type { ReadingSource } from '../reading-import/reading-source.ts'
import { describesFile, suggestOptions } from '../reading-import/suggest-options.ts'
import { headBytes, openTable } from '../reading-import/table-source.ts'
import { parseAnswer } from './export/stored-records.ts'
import { compareCosts } from './import/compare-costs.ts'
import { openSource, type SourceFile } from './import/import-files.ts'
import { importLibrary } from './import/import-library.ts'
import { importObjects, type ObjectKind } from './import/import-objects.ts'
import { importReadings } from './import/import-readings.ts'
import { type ImportReport, importOutcome } from './import/import-report.ts'
import { fileTargetOptions, type ImportTarget, openTarget } from './import/import-target.ts'
import type { TariffFileImport } from './import/import-tariffs.ts'
import { importTariffs, libraryOptions, readTariffContent, tariffOptions } from './import/import-tariffs.ts'
import { startProgress } from './import/progress.ts'
import { csvFormOptions, readingOptions } from './import/reading-options.ts'
import { importSuggested } from './import/suggested-import.ts'
import { undoReadings } from './import/undo-import.ts'

const commonImportOptions: Readonly<Record<string, CommandOption>> = {
  'dry-run': { summary: 'Check the file and change nothing.' },
  report: { value: 'FILE', summary: 'Write the report as JSON to a file.' },
  ...fileTargetOptions,
}

const commonDetails = [
  `The key is read from ${keyVariable}, from the file of --key, or from sandbox.json. Test mode without --live.`,
  'FILE can be -, which is standard input, and a .gz or .zip archive with one file.',
  'Exit codes: 0 all rows, 3 some rows refused, 1 nothing usable or a fault, 2 usage error, 130 interrupted.',
]

type FileImport = Omit<TariffFileImport, 'options'> & { readonly input: CommandInput }

/** Exit code of a command that the user interrupts. */
const interruptedCode = 130

const outcomeOf = ({ options }: CommandInput, reports: readonly ImportReport[]): CommandOutcome => {
  const outcome = importOutcome(reports)
  if (options['report'] !== undefined) writeFileSync(options['report'], `${JSON.stringify(outcome.json, null, 2)}\n`)
  return outcome
}

/** Run a command until its end, or until the user interrupts it. */
const interruptible = async (run: (signal: AbortSignal) => Promise<CommandOutcome>): Promise<CommandOutcome> => {
  const interruption = new AbortController()
  const interrupt = (): void => interruption.abort()
  process.on('SIGINT', interrupt)
  try {
    return await run(interruption.signal)
  } catch (error) {
    if (!interruption.signal.aborted) throw error
    const text = 'Interrupted. Run the same command again to continue.'
    return { text, json: { error: text }, ok: false, exitCode: interruptedCode }
  } finally {
    process.off('SIGINT', interrupt)
  }
}

const importFiles = (
  input: CommandInput,
  importFile: (one: FileImport) => Promise<ImportReport>,
): Promise<CommandOutcome> =>
  interruptible(async signal => {
    const target = await openTarget(input, {
      ...(input.options['compare'] === undefined ? {} : { parse: parseAnswer }),
      writes: input.options['dry-run'] === undefined ? 'this import writes live data' : null,
    })
    const reports: ImportReport[] = []
    for (const name of input.operands) {
      const file = await openSource(name, target.dataFolder)
      const progress = startProgress(name, file.bytes, input.status)
      reports.push(await importFile({ file, target, progress, input, signal }))
    }
    return outcomeOf(input, reports)
  })

/** Options that do not change what a row becomes. */
const optionsOutsideState: readonly string[] = ['report', 'key', 'no-resume', 'json', 'compare']

const stateOptionsOf = (options: CommandInput['options'], { accountId, baseUrl, liveMode }: ImportTarget): string => {
  const entries = Object.entries(options).filter(([name]) => !optionsOutsideState.includes(name))
  return JSON.stringify([accountId, baseUrl, liveMode, ...entries.sort(([a], [b]) => (a < b ? -1 : 1))])
}

/** Return the zone of the location of all readings; null if the rows or the options name it. */
const zoneOfReadings = async (
  { target, signal }: FileImport,
  { location, zone }: CommandInput['options'],
): Promise<string | null> => {
  if (location === undefined || zone !== undefined) return null
  const name = /^(loc_.{24}|(reference|location):.*)$/.test(location) ? location : `reference:${location}`
  return zoneOfLocation(target.client, name, signal)
}

/** Maximum size of standard input in a format that is read twice. */
const maxBufferedBytes = 64 * 2 ** 20

/** Return a function that opens a file several times. Standard input is buffered. */
const reopen = async (
  file: SourceFile,
  chunks: AsyncIterable<Uint8Array>,
): Promise<() => AsyncIterable<Uint8Array>> => {
  if (file.bytes !== null) return () => openArchive(file.chunks(() => undefined))
  const buffered: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > maxBufferedBytes)
      throw new CommandError('Standard input has more than 64 MiB. Save it as a file first.')
    buffered.push(chunk)
  }
  return async function* () {
    yield* buffered
  }
}

/** Create the device of a usage point, unless it exists. */
const makeDevice = async ({ target, signal }: FileImport, reference: string): Promise<ObjectName> => {
  const body = { reference_id: reference }
  const answer = await callPatiently(() => target.client.call('POST', '/devices', body), signal)
  const code = (answer.body as MessageBody | null)?.code
  if (answer.status !== 201 && code !== 'reference_id_taken') throw refusalOf('POST', '/devices', answer)
  return { reference }
}

const openGreenButton = async (
  one: FileImport,
  chunks: AsyncIterable<Uint8Array>,
  costs: FileCostCollector,
): Promise<ReadingSource> => {
  const { options } = one.input
  const location = readObjectName(options['location'], 'loc')
  if (location === null) throw new UsageError('--location is missing. A Green Button file names no location.')
  return greenButtonSource({
    open: await reopen(one.file, chunks),
    location,
    costs,
    deviceOf: reference => (options['dry-run'] === undefined ? makeDevice(one, reference) : Promise.resolve(null)),
  })
}

const openReadingSource = async (one: FileImport, costs: FileCostCollector): Promise<ReadingSource> => {
  const { file, progress, input } = one
  const { options } = input
  const { first, all, close } = await peekChunks(
    openArchive(file.chunks(progress.addBytes), { keepsWorkbook: true }),
    headBytes,
  )
  if (isSignedText(first))
    throw new CommandError(
      `${file.name} has signed readings (OCMF). Wattledger does not verify signatures, so it does not import them. Import the readings as CSV.`,
    )
  const format = options['format'] ?? (textFormatOf(first) === 'xml' ? 'green-button' : 'csv')
  if (format === 'green-button') {
    const source = await openGreenButton(one, all, costs)
    await close()
    return source
  }
  if (options['compare'] !== undefined) throw new UsageError('--compare needs a Green Button file, which has costs.')
  const table = await openTable({ first, all }, options)
  const preset = table.presetOf(options)
  return table.open(preset, await zoneOfReadings(one, preset.options))
}

/** Guess the options of a file without options. Null for standard input, which is read once, and for other formats. */
const guessOf = async ({ file, input }: FileImport): Promise<ColumnGuess | null> => {
  if (file.bytes === null || describesFile(input.options)) return null
  const chunks = openArchive(
    file.chunks(() => undefined),
    { keepsWorkbook: true },
  )
  const { first, all, close } = await peekChunks(chunks, headBytes)
  try {
    if (isSignedText(first) || textFormatOf(first) === 'xml') return null
    const table = await openTable({ first, all }, input.options)
    const preset = table.presetOf(input.options)
    return preset.preset === null ? suggestOptions(await table.headOf(preset.options), preset) : null
  } finally {
    await close()
  }
}

const importReadingFile = async (one: FileImport): Promise<ImportReport> => {
  const { file, target, input, signal } = one
  const run = async (options: CommandInput['options'], isDryRun: boolean): Promise<ImportReport> =>
    importReadings({
      ...one,
      at: input.at,
      isDryRun,
      source: await openReadingSource({ ...one, input: { ...input, options } }, costs),
      stateOptions: options['no-resume'] === undefined ? stateOptionsOf(options, target) : null,
    })
  const { options } = input
  if (options['compare'] !== undefined && options['dry-run'] !== undefined)
    throw new UsageError('--compare needs stored costs. Leave out --dry-run.')
  const costs = collectFileCosts()
  const guess = await guessOf(one)
  if (guess !== null) return importSuggested({ name: file.name, guess, input, run })
  const report = await run(options, options['dry-run'] !== undefined)
  const location = readObjectName(options['location'], 'loc')
  if (options['compare'] === undefined || report.error !== undefined || location === null) return report
  const name = 'id' in location ? location.id : `location:${location.reference}`
  return { ...report, compared: await compareCosts(target, name, costs.sums(), signal) }
}

const importReadingsCommand: Command = {
  name: 'import readings',
  operands: ['FILE…'],
  summary: 'Import meter readings from CSV, XLSX or Green Button files.',
  details: [
    'Sends each row as a record. A row that is sent twice counts once, so an import can be repeated.',
    'An interrupted import continues at its last row. FILE.import-state.json has the progress until the end.',
    'FILE.refused.csv has the refused rows with their lines and reasons. The other rows are stored.',
    'Keep it until the import has ended: an import that continues without it begins at the first row again.',
    'A dry run shows the first readings and days as they would be stored. It writes FILE.dry-run.refused.csv instead.',
    'Without options, the columns are guessed: the import shows a preview and the command, and asks before it sends.',
    'Fields of --columns: start end time value value_export register register_export unit location',
    'location_reference device device_reference session record direction confidence day.',
    ...commonDetails,
  ],
  options: {
    format: { value: 'FORMAT', summary: 'Format. Default: from the content.', choices: ['csv', 'green-button'] },
    preset: {
      value: 'NAME',
      summary: 'Known file. Default: by its headings, unless --columns is set.',
      choices: presetNames,
    },
    ...csvFormOptions,
    ...readingOptions,
    compare: { summary: 'Print the costs of a Green Button file beside the stored ones.' },
    'no-resume': { summary: 'Begin at the first row.' },
    ...commonImportOptions,
  },
  missing: missingFile,
  run: input => importFiles(input, importReadingFile),
}

const objectCommand = (kind: ObjectKind): Command => ({
  name: `import ${kind}`,
  operands: ['FILE…'],
  summary: `Import ${kind} from CSV or NDJSON files.`,
  details: [
    `Columns have the names of the fields of POST /${kind}. metadata.NAME is a text of your own.`,
    'Each row needs a reference_id. A known one stays unchanged, or is changed with --update.',
    ...commonDetails,
  ],
  options: {
    format: { value: 'FORMAT', summary: 'Format. Default: from the content.', choices: ['csv', 'ndjson'] },
    ...csvFormOptions,
    update: { summary: `Change ${kind} that exist.` },
    ...commonImportOptions,
  },
  missing: missingFile,
  run: input =>
    importFiles(input, ({ file, target, progress, signal }) =>
      importObjects({ kind, file, target, progress, signal, options: input.options }),
    ),
})

/** Import files to the library of a supplier, in the database of the installation. */
const importToLibrary = async (input: CommandInput, providerId: string): Promise<CommandOutcome> => {
  const { dataFolder } = readConfig(input.variables)
  const reports: ImportReport[] = []
  for (const name of input.operands) {
    const file = await openSource(name, dataFolder)
    const progress = startProgress(name, file.bytes, input.status)
    const content = await readTariffContent({ file, progress })
    reports.push(await importLibrary({ input, file, content, providerId }))
  }
  return outcomeOf(input, reports)
}

const importTariffsCommand: Command = {
  name: 'import tariffs',
  operands: ['FILE…'],
  summary: 'Import tariffs and charges from files of other formats.',
  details: [
    'Sends each file to POST /tariffs/import. All tariffs of a file are imported, or none.',
    'The report names each part that is imported, not imported with its reason, or noted.',
    'A file that is imported again changes nothing.',
    '--library needs no key: like "providers import" it writes to the database of WATTLEDGER_DATA_DIR.',
    ...commonDetails,
  ],
  options: { ...tariffOptions, ...libraryOptions, ...commonImportOptions },
  missing: ({ operands, options }) => [
    ...missingFile({ operands }),
    ...(options['library'] === undefined ? missingOptions(options, ['location']) : []),
  ],
  run: input => {
    const { library } = input.options
    if (library !== undefined) return importToLibrary(input, library)
    return importFiles(input, ({ file, target, progress, signal }) =>
      importTariffs({ file, target, progress, signal, options: input.options }),
    )
  },
}

const undoImportCommand: Command = {
  name: 'import undo',
  operands: ['ID'],
  summary: 'Undo an import of readings of the last 24 hours.',
  details: [
    '"import readings" prints the ID at its end. An import of the console has its ID on the page "Import readings".',
    'A record that the import replaced gets the value before it. A record that only this import sent is withdrawn.',
    'A record that another submission has sent since stays as it is. Costs follow.',
    'Shows the counts first and asks. An interrupted undo is repeated with the same command.',
    'Exit codes: 0 all records, 3 some records left, 1 a fault, 2 usage error, 130 interrupted.',
  ],
  options: {
    'dry-run': { summary: 'Show what an undo would change, and change nothing.' },
    yes: { summary: 'Undo without a question.' },
    ...fileTargetOptions,
  },
  missing: ({ operands }) => (operands.length === 0 ? ['ID'] : []),
  run: input =>
    interruptible(async signal => {
      const writes = input.options['dry-run'] === undefined ? 'this undo changes live data' : null
      const target = await openTarget(input, { writes })
      const [importId = ''] = input.operands
      const progress = startProgress(importId, null, input.status)
      return undoReadings({ target, importId, progress, signal }, input)
    }),
}

export const importCommands: readonly Command[] = [
  importReadingsCommand,
  undoImportCommand,
  objectCommand('locations'),
  objectCommand('devices'),
  importTariffsCommand,
]
