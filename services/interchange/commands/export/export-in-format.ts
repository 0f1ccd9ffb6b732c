import { readFileSync, statSync } from 'node:fs'
import { CommandError, type CommandInput, type CommandOutcome, UsageError } from '../../../command-line/command.ts'
import { parseExactJson } from '../../../contract/json/exact-json.ts'
import { isExactNumber, numberText } from '../../../contract/json/exact-number.ts'
import { parseInstant, writeInstant } from '../../../domain/instant.ts'
import type { Interval } from '../../../domain/interval.ts'
import { type CdrFrame, type CdrVersion, readCdrFrame } from '../../domain/ocpi/cdr-frame.ts'
import { type SourceValue, sourceNumber } from '../../domain/source-value.ts'
import { type WrittenTariffFormat, writtenTariffFormats } from '../../domain/write-tariffs.ts'
import { openTarget } from '../import/import-target.ts'
import { type CostSelection, exportCdrs, exportGreenButton, startCounts } from './export-costs.ts'
import { type WrittenFile, writeExportFile } from './export-file.ts'
import { type ExportResult, exportOutcome, isNothing, manifestOf } from './export-report.ts'
import { exportTariffs } from './export-tariffs.ts'
import { type ExportSource, parseAnswer } from './stored-records.ts'

/** Formats of others in which costs can be written. */
export const costFormats = ['green-button', 'ocpi-cdr-2.2.1', 'ocpi-cdr-2.3.0'] as const
type CostFormat = (typeof costFormats)[number]

const cdrVersions: Readonly<Record<Exclude<CostFormat, 'green-button'>, CdrVersion>> = {
  'ocpi-cdr-2.2.1': '2.2.1',
  'ocpi-cdr-2.3.0': '2.3.0',
}

type Options = CommandInput['options']

const required = (options: Options, name: string, advice = ''): string => {
  const value = options[name]
  if (value === undefined) throw new UsageError(`--${name} is missing.${advice}`)
  return value
}

const readTime = (options: Options, name: string): number => {
  const text = required(options, name)
  const at = parseInstant(text)
  if (at === undefined)
    throw new UsageError(`--${name} must be a time such as 2026-01-01T00:00:00+01:00, not "${text}".`)
  return at
}

const readSpan = (options: Options): Interval => {
  const span = { start: readTime(options, 'from'), end: readTime(options, 'to') }
  if (span.end <= span.start) throw new UsageError('--to must be after --from.')
  return span
}

/** Name an object as the API does: an id, or an own reference. */
const nameOf = (text: string | undefined, prefix: string): string | null =>
  text === undefined || text.startsWith(`${prefix}_`) || /^(reference|location|device|customer):/.test(text)
    ? (text ?? null)
    : `reference:${text}`

const readSelection = (options: Options): CostSelection => ({
  span: readSpan(options),
  locationId: nameOf(options['location'], 'loc'),
  deviceId: nameOf(options['device'], 'dev'),
  customerId: nameOf(options['customer'], 'cus'),
  session: options['session'] ?? null,
})

const maxFrameBytes = 64 * 1024

const toSource = (value: unknown): SourceValue => {
  if (typeof value === 'number' || isExactNumber(value)) return sourceNumber(numberText(value))
  if (Array.isArray(value)) return value.map(toSource)
  if (typeof value !== 'object' || value === null) return value as SourceValue
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, toSource(member)]))
}

const readFrameText = (file: string): string => {
  try {
    if (statSync(file).size > maxFrameBytes) throw new Error('it has more than 64 KiB')
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new CommandError(`${file} is not readable: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Read the frame of charge detail records. Throws `UsageError` with all missing, wrong and unknown members. */
const readFrame = (options: Options, version: CdrVersion): CdrFrame => {
  const advice = ' Name a JSON file with party, token and location: docs/formats-out.md has an example.'
  const file = required(options, 'frame', advice)
  const parsed = parseExactJson(readFrameText(file))
  if (!parsed.ok) throw new CommandError(`${file} is not JSON. ${parsed.refusal.message}`)
  const frame = readCdrFrame(toSource(parsed.value), version)
  if ('party' in frame) return frame
  const faults = frame.map(({ path, message }) => `${path} ${message}`).join('; ')
  throw new UsageError(`${file} is not complete: ${faults}.`)
}

/** Texts of an export, and its sums after the last text. */
type Writing = Pick<ExportResult, 'kind' | 'span' | 'sums'> & { readonly texts: AsyncIterable<string> }

const isCostFormat = (format: string): format is CostFormat => costFormats.some(one => one === format)
const isTariffFormat = (format: string): format is WrittenTariffFormat =>
  writtenTariffFormats.some(one => one === format)

const filterNames = ['location', 'device', 'customer', 'session']

const prepareCosts = (
  format: CostFormat,
  { options, at }: Pick<CommandInput, 'options' | 'at'>,
): ((source: ExportSource, counts: ReturnType<typeof startCounts>) => Writing) => {
  const selection = readSelection(options)
  const span = [writeInstant(selection.span.start), writeInstant(selection.span.end)] as const
  if (format === 'green-button') {
    const { locationId, deviceId, customerId, session } = selection
    if ((locationId === null && deviceId === null) || customerId !== null || session !== null)
      throw new UsageError('A Green Button file has one location or device: set --location or --device alone.')
    return (source, counts) => ({
      kind: 'costs',
      span,
      sums: counts.sums,
      texts: exportGreenButton(source, selection, at, counts),
    })
  }
  const version = cdrVersions[format]
  const details = { frame: readFrame(options, version), version, at }
  return (source, counts) => ({
    kind: 'costs',
    span,
    sums: counts.sums,
    texts: exportCdrs(source, selection, details, counts),
  })
}

const prepareTariffs = (
  format: WrittenTariffFormat,
  options: Options,
): ((source: ExportSource, counts: ReturnType<typeof startCounts>) => Writing) => {
  const location = nameOf(required(options, 'location'), 'loc') ?? ''
  return (source, counts) => ({
    kind: 'tariffs',
    span: null,
    sums: null,
    texts: exportTariffs(source, location, format, counts),
  })
}

const interruptedCode = 130

/**
 * Export costs or tariffs in a format of others. FILE has its name when it is complete. Throws `UsageError` before anything
 * is read, `CommandError` if FILE exists, and `CallError` for a refusal of the service.
 * Source: docs/formats-out.md #formats-of-others.
 */
export const exportInFormat = async (
  kind: 'costs' | 'tariffs',
  input: Pick<CommandInput, 'options' | 'variables' | 'at'>,
): Promise<CommandOutcome> => {
  const { options } = input
  const file = required(options, 'out')
  const format = required(options, 'format')
  const prepare =
    kind === 'costs' && isCostFormat(format)
      ? prepareCosts(format, input)
      : kind === 'tariffs' && isTariffFormat(format)
        ? prepareTariffs(format, options)
        : null
  if (prepare === null) throw new UsageError(`${kind} cannot be written as ${format}.`)
  const interruption = new AbortController()
  const interrupt = (): void => interruption.abort()
  process.on('SIGINT', interrupt)
  try {
    const { client } = await openTarget(input, { parse: parseAnswer, writes: null })
    const counts = startCounts()
    const { texts, ...known } = prepare({ client, signal: interruption.signal }, counts)
    const filters = Object.fromEntries(
      filterNames.flatMap(name => (options[name] === undefined ? [] : [[name, options[name]]])),
    )
    const madeAt = writeInstant(input.at)
    const resultOf = (written: WrittenFile): Omit<ExportResult, 'file'> => ({
      ...known,
      ...written,
      format,
      filters,
      madeAt,
      rows: counts.rows,
      notExported: counts.notExported,
    })
    const written = await writeExportFile(file, texts, one =>
      isNothing(resultOf(one)) ? null : manifestOf(resultOf(one)),
    )
    return exportOutcome({ ...resultOf(written), file })
  } catch (error) {
    if (!interruption.signal.aborted) throw error
    const text = 'Interrupted. No file is written.'
    return { text, json: { error: text }, ok: false, exitCode: interruptedCode }
  } finally {
    process.off('SIGINT', interrupt)
  }
}
