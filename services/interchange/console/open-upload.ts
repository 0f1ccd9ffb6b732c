import { objectText } from '../../console/kit/object-text.ts'
import { type ServiceCalls, zoneOfLocation } from '../../platform/call-service.ts'
import { UsageError } from '../../platform/failure.ts'
import { findColumns } from '../domain/csv/columns.ts'
import { isReadingField } from '../domain/csv/csv-readings.ts'
import { openArchive, peekChunks } from '../platform/archive.ts'
import { isSignedText, textFormatOf } from '../platform/file-format.ts'
import { type ReadingOptions, readReadingColumns } from '../reading-import/csv-options.ts'
import type { ReadingSource } from '../reading-import/reading-source.ts'
import { completeOptions, suggestOptions, withoutDescription } from '../reading-import/suggest-options.ts'
import { headBytes, openTable } from '../reading-import/table-source.ts'

/** A file that is ready to be read. `guess`: sentences about options that were guessed; null if none was. */
export type OpenedFile = { readonly source: ReadingSource; readonly guess: readonly string[] | null }

/** What the menus of the page show: names of worksheets, headings, and the options with those that the file proposes. */
export type UploadMenus = {
  readonly sheets: readonly string[]
  readonly headings: readonly string[]
  readonly options: ReadingOptions
  /** Numbers of the columns by field. */
  readonly columns: ReadonlyMap<string, string>
}

/** Largest content of a compressed file, and its largest multiple of the file. */
const uploadLimits = { bytes: 256 * 2 ** 20, ratio: 200 }

/** Return the zone of the location of all readings; null without a location, or if the options name a zone. */
const zoneOfReadings = (
  calls: ServiceCalls,
  { location, zone }: ReadingOptions,
  signal: AbortSignal,
): Promise<string | null> =>
  location === undefined || zone !== undefined
    ? Promise.resolve(null)
    : zoneOfLocation(calls, objectText(location), signal)

/** Return the chosen columns by their numbers. A choice that the header does not have is left out. */
const numbersOf = (headings: readonly string[], options: ReadingOptions): ReadonlyMap<string, string> => {
  const chosen = [...readReadingColumns(options)].flatMap(([field, choice]): [string, string][] => {
    const columns = findColumns(headings, new Map([[field, choice]]), isReadingField)
    const indexes = 'problem' in columns ? undefined : columns.indexes.get(field)
    return indexes === undefined ? [] : [[field, indexes.map(index => index + 1).join('+')]]
  })
  return new Map(chosen)
}

type OpenOptions = { readonly calls: ServiceCalls; readonly account: string; readonly signal: AbortSignal }

/**
 * Open an uploaded file with its options, and with a guess of those that are not given. `onMenus` receives the menus before
 * the options are checked, so that a wrong choice can be corrected. Returns the questions that the user must answer first.
 * Throws `UsageError` for wrong options, `CallError`, and `Failure` for a damaged file.
 */
export const openUpload = async (
  bytes: AsyncIterable<Uint8Array>,
  given: ReadingOptions,
  { calls, account, signal }: OpenOptions,
  onMenus: (menus: UploadMenus) => void,
): Promise<OpenedFile | { readonly questions: readonly string[] }> => {
  const { first, all } = await peekChunks(openArchive(bytes, { keepsWorkbook: true, limits: uploadLimits }), headBytes)
  if (isSignedText(first) || textFormatOf(first) === 'xml')
    throw new UsageError('This page reads CSV and XLSX. Import other files with "npx wattledger import readings".')
  const table = await openTable({ first, all }, given, account)
  const { sheets } = table
  onMenus({ sheets, headings: [], options: given, columns: new Map() })
  const found = table.presetOf(given)
  const head = found.reader === undefined ? await table.headOf(found.options) : []
  // The rows are asked again about what the user did not decide.
  const isUnknown = found.preset === null && given['layout'] === undefined
  const guess = isUnknown ? suggestOptions(head, table.presetOf(withoutDescription(given))) : null
  const completed = guess === null ? { options: given, open: [] } : completeOptions(guess, given)
  const options = { ...completed.options, ...(found.preset === null ? {} : { preset: found.preset }) }
  const headings = head[0]?.cells ?? []
  onMenus({ sheets, headings, options, columns: numbersOf(headings, options) })
  if (completed.open.length > 0) return { questions: completed.open.map(({ text }) => text) }
  const preset = guess === null ? found : table.presetOf(completed.options)
  const source = table.open(preset, await zoneOfReadings(calls, preset.options, signal))
  const isGuessed = Object.entries(completed.options).some(([name, text]) => given[name] !== text)
  return { source, guess: isGuessed ? (guess?.doubts ?? []) : null }
}
