import type { Command, CommandInput, CommandOption, CommandOutcome } from '../../command-line/command.ts'
import { CommandError, missingOptions, success, UsageError } from '../../command-line/command.ts'
import type { ExportManifest } from '../../contract/exports/export.ts'
import { parseDate } from '../../domain/civil-date.ts'
import { startOfDayNumber, type TimeZone } from '../../domain/civil-time.ts'
import { parseInstant, writeInstant } from '../../domain/instant.ts'
import { tableFormats } from '../../domain/table-format.ts'
import { CallError, zoneOfLocation } from '../../platform/call-service.ts'
import { keyVariable } from '../../platform/config/config.ts'
import { timeZone } from '../../platform/time-zone.ts'
import { writtenTariffFormats } from '../domain/write-tariffs.ts'
import { costFormats, exportInFormat } from './export/export-in-format.ts'
import { runExport } from './export/export-job.ts'
import { parseAnswer, sessionSpan } from './export/stored-records.ts'
import { fileTargetOptions, openTarget } from './import/import-target.ts'

/** Kinds of exports, with the options that each has. */
const kinds = {
  records: ['location', 'device', 'customer', 'session', 'pieces', 'raw'],
  costs: ['location', 'device', 'customer', 'session', 'aggregation', 'direction', 'currency', 'frame'],
  tariffs: ['location'],
  events: ['location'],
  statements: ['location'],
} as const

type ExportKind = keyof typeof kinds

/** Formats of others, which the command writes itself. */
const otherFormats: Readonly<Record<ExportKind, readonly string[]>> = {
  records: [],
  costs: costFormats,
  tariffs: writtenTariffFormats,
  events: [],
  statements: [],
}

const summaries: Readonly<Record<ExportKind, string>> = {
  records: 'Export records with their costs.',
  costs: 'Export costs by hour, day or month.',
  tariffs: 'Export the tariffs that apply in a period.',
  events: 'Export events.',
  statements: 'Export FINAL statements.',
}

const filterOptions = {
  location: { value: 'ID', summary: 'Only this location; reference:NAME is your own reference.' },
  device: { value: 'ID', summary: 'Only this device; reference:NAME is your own reference.' },
  customer: { value: 'ID', summary: 'Only the locations of this customer.' },
  session: { value: 'ID', summary: 'Only this session_reference_id. Without --from and --to: all of it.' },
  pieces: { summary: 'One row for each piece of a record, with its price.' },
  raw: { summary: 'CSV: write texts as they are, also those that begin like a formula.' },
  aggregation: { value: 'UNIT', summary: 'HOUR, DAY or MONTH. Default: DAY.', choices: ['HOUR', 'DAY', 'MONTH'] },
  direction: { value: 'D', summary: 'Tariff direction. Default: IMPORT.', choices: ['IMPORT', 'EXPORT', 'LOCAL'] },
  frame: { value: 'FILE', summary: 'Token, location and party of charge detail records (ocpi-cdr).' },
  currency: { value: 'CODE', summary: 'Currency, if there are costs in several.' },
} as const satisfies Readonly<Record<string, CommandOption>>

/** Exit code of a command that the user interrupts. */
const interruptedCode = 130

const datePattern = /^\d{4}-\d{2}-\d{2}$/

/** Read an instant with its offset, or a date: the midnight of a zone, or of UTC without a zone. */
const readTime = (name: string, text = '', zone: TimeZone | null = null): string => {
  const day = datePattern.test(text) ? parseDate(text) : undefined
  const midnight = day === undefined || zone === null ? `${text}T00:00:00Z` : writeInstant(startOfDayNumber(zone, day))
  const instant = datePattern.test(text) ? midnight : text
  if (parseInstant(instant) === undefined)
    throw new UsageError(
      `--${name} must be a date such as 2026-01-01, or an instant such as 2026-01-01T00:00:00+01:00.`,
    )
  return instant
}

/** Format of the file: the option, or the ending of its name. */
const formatOf = ({ format, out = '' }: CommandInput['options']): string => {
  const ending = out.slice(out.lastIndexOf('.') + 1)
  const chosen = format ?? tableFormats.find(one => one === ending)
  if (chosen === undefined)
    throw new UsageError(
      `--format is missing, because the name of the file does not end with a format. Choose one of ${tableFormats.join(', ')}.`,
    )
  return chosen
}

const bodyOf = (kind: ExportKind, options: CommandInput['options']): object => {
  const { location, device, customer, session, aggregation, direction, currency } = options
  const [start, end] = [readTime('from', options['from']), readTime('to', options['to'])]
  if ((parseInstant(end) ?? 0) <= (parseInstant(start) ?? 0)) throw new UsageError('--to must be after --from.')
  const members = {
    location_id: location,
    device_id: device,
    customer_id: customer,
    session_reference_id: session,
    aggregation,
    tariff_direction: direction,
    currency_code: currency,
    pieces: options['pieces'] === undefined ? undefined : true,
    raw: options['raw'] === undefined ? undefined : true,
  }
  return {
    kind,
    format: formatOf(options),
    start_time: start,
    end_time: end,
    // JSON leaves out undefined members.
    ...members,
  }
}

const textOf = (out: string, { rows, bytes }: ExportManifest): string =>
  `${out}: ${rows.toLocaleString('en')} rows, ${bytes.toLocaleString('en')} bytes. The sums are in ${out}.manifest.json.`

const frameContent = 'a JSON file with party, token and location'

/** Options that an export requires. A session and a format of tariffs need no time. */
const missingOf = (kind: ExportKind, options: CommandInput['options']): readonly string[] => {
  const { format = '', session } = options
  const isOther = otherFormats[kind].includes(format)
  if (isOther && kind === 'tariffs') return missingOptions(options, ['location', 'out'])
  const times = session === undefined ? ['from', 'to'] : []
  const frame = format.startsWith('ocpi-cdr') ? missingOptions(options, ['frame']) : []
  return [...missingOptions(options, [...times, 'out']), ...frame.map(name => `${name} (${frameContent})`)]
}

/** Return the options with the instants of their dates: of one location, dates are its local days. */
const withLocalDates = async (input: CommandInput): Promise<CommandInput['options']> => {
  const { options } = input
  const { location, from = '', to = '' } = options
  if (location === undefined || !(datePattern.test(from) || datePattern.test(to))) return options
  for (const [name, text] of Object.entries({ from, to })) if (text !== '') readTime(name, text)
  const { client } = await openTarget(input, { writes: null })
  const name = await zoneOfLocation(client, location, new AbortController().signal).catch((error: unknown) => {
    // The request of the export is refused with the reason.
    if (error instanceof CallError && error.status === 404) return null
    throw error
  })
  const zone = name === null ? null : timeZone(name)
  const instants = Object.entries({ from, to }).map(([name, text]) => [
    name,
    text === '' ? undefined : readTime(name, text, zone),
  ])
  return { ...options, ...Object.fromEntries(instants) }
}

/** Return the options with the time of the session, if they name a session without a time. */
const withSessionTime = async (input: CommandInput): Promise<CommandInput['options']> => {
  const { options } = input
  const { session, from, to } = options
  if (session === undefined || (from !== undefined && to !== undefined)) return options
  const { client } = await openTarget(input, { parse: parseAnswer, writes: null })
  const span = await sessionSpan({ client, signal: new AbortController().signal }, session)
  if (span === null) throw new CommandError(`No stored record has the session "${session}".`)
  return { ...options, from: from ?? writeInstant(span.start), to: to ?? writeInstant(span.end) }
}

const exportFile = async (kind: ExportKind, given: CommandInput): Promise<CommandOutcome> => {
  const { format = '', out = '', session } = given.options
  if (kind === 'costs' && session !== undefined && !otherFormats.costs.includes(format))
    throw new UsageError('--session needs --format ocpi-cdr-2.2.1 or ocpi-cdr-2.3.0, or "export records".')
  const local = { ...given, options: await withLocalDates(given) }
  const input = { ...given, options: await withSessionTime(local) }
  const { options, status } = input
  const { from, to } = options
  if (otherFormats[kind].includes(format)) {
    const span = kind === 'tariffs' ? {} : { from: readTime('from', from), to: readTime('to', to) }
    return exportInFormat(kind === 'costs' ? 'costs' : 'tariffs', { ...input, options: { ...options, ...span } })
  }
  const body = bodyOf(kind, options)
  const interruption = new AbortController()
  const interrupt = (): void => interruption.abort()
  process.on('SIGINT', interrupt)
  try {
    const target = await openTarget(input, { writes: null })
    const manifest = await runExport({ target, body, out, status, signal: interruption.signal })
    return success(textOf(out, manifest), { file: out, ...manifest })
  } catch (error) {
    if (!interruption.signal.aborted) throw error
    const text = 'Interrupted. There is no file.'
    return { text, json: { error: text }, ok: false, exitCode: interruptedCode }
  } finally {
    process.off('SIGINT', interrupt)
  }
}

const reportDetail = 'The report names each part that the format cannot express.'

/** Help of the formats of others. */
const otherDetails: Readonly<Record<ExportKind, readonly string[]>> = {
  records: [],
  costs: [
    'green-button has a reading with its cost for each record of a location or device.',
    'ocpi-cdr has a record for each charging session whose last record starts in the time.',
    reportDetail,
  ],
  tariffs: ['urdb and ocpi need --location instead of --from and --to.', reportDetail],
  events: [],
  statements: [],
}

const exportCommand = (kind: ExportKind): Command => ({
  name: `export ${kind}`,
  operands: [],
  summary: summaries[kind],
  details: [
    'The service writes the file, and the command downloads it. FILE.manifest.json has rows, sums and SHA-256.',
    'The file has its name when it is complete; before that its name ends with .part.',
    `The key is read from ${keyVariable}, from the file of --key, or from sandbox.json. Its mode decides; --live reads live data with sandbox.json.`,
    ...otherDetails[kind],
    'Exit codes: 0 done, 3 some parts not written, 1 failed, 2 usage error, 130 interrupted.',
  ],
  options: {
    from: { value: 'T', summary: 'Start: an instant, or a date: midnight of the one --location, else of UTC.' },
    to: { value: 'T', summary: 'End, exclusive.' },
    out: { value: 'FILE', summary: 'File to write.', isRequired: true },
    format: {
      value: 'F',
      summary: 'Format. Default: from the name of the file.',
      choices: [...tableFormats, ...otherFormats[kind]],
    },
    ...Object.fromEntries(kinds[kind].map(name => [name, filterOptions[name]])),
    ...fileTargetOptions,
  },
  missing: ({ options }) => missingOf(kind, options),
  run: input => exportFile(kind, input),
})

export const exportCommands: readonly Command[] = (Object.keys(kinds) as ExportKind[]).map(exportCommand)
