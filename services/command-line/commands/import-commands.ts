import { writeFileSync } from 'node:fs'
import { keyVariable } from '../../platform/config/config.ts'
import { openArchive } from '../../platform/interchange/archive.ts'
import type { Command, CommandInput, CommandOption, CommandOutcome } from '../command.ts'
import { UsageError } from '../command.ts'
import { csvFormOptions, readCsvForm, readCsvRules, readingOptions, readReadingColumns } from '../import/csv-options.ts'
import { openSource, type SourceFile } from '../import/import-files.ts'
import { importObjects, type ObjectKind } from '../import/import-objects.ts'
import { importReadings } from '../import/import-readings.ts'
import { type ImportReport, importOutcome } from '../import/import-report.ts'
import { askPatiently, fileTargetOptions, type ImportTarget, openTarget } from '../import/import-target.ts'
import { type ImportProgress, startProgress } from '../import/progress.ts'
import { csvReadingSource } from '../import/read-csv-readings.ts'

const commonImportOptions: Readonly<Record<string, CommandOption>> = {
  'dry-run': { summary: 'Check the file and send nothing.' },
  report: { value: 'FILE', summary: 'Write the report as JSON to a file.' },
  ...fileTargetOptions,
}

const commonDetails = [
  `The key is read from ${keyVariable}, from the file of --key, or from sandbox.json. Test mode without --live.`,
  'FILE can be -, which is standard input, and a .gz or .zip archive with one file.',
  'Exit codes: 0 all rows, 3 some rows refused, 1 nothing usable or a fault, 2 usage error, 130 interrupted.',
]

type FileImport = {
  readonly file: SourceFile
  readonly target: ImportTarget
  readonly progress: ImportProgress
  readonly input: CommandInput
  readonly signal: AbortSignal
}

/** Exit code of a command that the user interrupts. */
const interruptedCode = 130

const importFiles = async (
  input: CommandInput,
  importFile: (one: FileImport) => Promise<ImportReport>,
): Promise<CommandOutcome> => {
  if (input.operands.length === 0) throw new UsageError('FILE is missing.')
  const interruption = new AbortController()
  const interrupt = (): void => interruption.abort()
  process.on('SIGINT', interrupt)
  try {
    const target = await openTarget(input)
    const reports: ImportReport[] = []
    for (const name of input.operands) {
      const file = await openSource(name, target.dataFolder)
      const progress = startProgress(name, file.bytes, input.status)
      reports.push(await importFile({ file, target, progress, input, signal: interruption.signal }))
    }
    const outcome = importOutcome(reports)
    if (input.options['report'] !== undefined)
      writeFileSync(input.options['report'], `${JSON.stringify(outcome.json, null, 2)}\n`)
    return outcome
  } catch (error) {
    if (!interruption.signal.aborted) throw error
    const text = 'Interrupted. Run the same command again to continue.'
    return { text, json: { error: text }, ok: false, exitCode: interruptedCode }
  } finally {
    process.off('SIGINT', interrupt)
  }
}

/** Options that do not change what a row becomes. */
const optionsOutsideState: readonly string[] = ['report', 'key', 'no-resume', 'json']

const stateOptionsOf = (options: CommandInput['options'], { accountId, baseUrl, liveMode }: ImportTarget): string => {
  const entries = Object.entries(options).filter(([name]) => !optionsOutsideState.includes(name))
  return JSON.stringify([accountId, baseUrl, liveMode, ...entries.sort(([a], [b]) => (a < b ? -1 : 1))])
}

/** Return the zone of the location of all readings; null if the rows or the options name it. */
const zoneOfLocation = async ({ target, input: { options }, signal }: FileImport): Promise<string | null> => {
  const { location, zone } = options
  if (location === undefined || zone !== undefined) return null
  const name = /^(loc_.{24}|(reference|location):.*)$/.test(location) ? location : `reference:${location}`
  const path = `/locations/${encodeURIComponent(name)}`
  const { timezone } = await askPatiently<{ readonly timezone: string }>(target.client, 'GET', path, signal)
  return timezone
}

const importReadingFile = async (one: FileImport): Promise<ImportReport> => {
  const { file, target, progress, input, signal } = one
  const { options } = input
  const chunks = openArchive(file.chunks(progress.addBytes))
  const rules = readCsvRules(options, await zoneOfLocation(one))
  return importReadings({
    ...{ file, target, progress, signal, at: input.at },
    source: csvReadingSource(chunks, readCsvForm(options), readReadingColumns(options), rules),
    isDryRun: options['dry-run'] !== undefined,
    stateOptions: options['no-resume'] === undefined ? stateOptionsOf(options, target) : null,
  })
}

const importReadingsCommand: Command = {
  name: 'import readings',
  operands: ['FILE…'],
  summary: 'Import meter readings from CSV files.',
  details: [
    'Sends each row as a record. A row that is sent twice counts once, so an import can be repeated.',
    'An interrupted import continues at its last row. FILE.import-state.json has the progress until the end.',
    'FILE.refused.csv has the refused rows with their lines and reasons. The other rows are stored.',
    'Fields of --columns: start end time value register unit location location_reference device device_reference',
    'session record direction confidence day.',
    ...commonDetails,
  ],
  options: {
    format: { value: 'FORMAT', summary: 'Format. Default: from the content.', choices: ['csv'] },
    ...csvFormOptions,
    ...readingOptions,
    'no-resume': { summary: 'Begin at the first row.' },
    ...commonImportOptions,
  },
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
  run: input =>
    importFiles(input, ({ file, target, progress, signal }) =>
      importObjects({ kind, file, target, progress, signal, options: input.options }),
    ),
})

export const importCommands: readonly Command[] = [
  importReadingsCommand,
  objectCommand('locations'),
  objectCommand('devices'),
]
