import type { Operation } from '../../contract/operation.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { type TableFormat, tableFormats, tableMediaTypes } from '../../domain/table-format.ts'

/** Entry of a list such as `text/csv;q=0.5, *`. `index` is its position in the list. */
type Preference = { readonly name: string; readonly quality: number; readonly index: number }

const readPreferences = (header: string): readonly Preference[] =>
  header.split(',').map((part, index) => {
    const [name = '', ...parameters] = part.split(';').map(one => one.trim().toLowerCase())
    const quality = Number(parameters.find(one => one.startsWith('q='))?.slice(2) ?? 1)
    return { name, quality: Number.isNaN(quality) ? 0 : quality, index }
  })

/** Return whether a list such as `gzip;q=0.5, *` names a value. `q=0` excludes the value. */
export const acceptsValue = (header: string | null, value: string): boolean =>
  header?.toLowerCase().includes(value) === true &&
  (readPreferences(header).find(({ name }) => name === value)?.quality ?? 0) > 0

/** Find the most specific entry for a media type. Source: RFC 9110, 12.5.1. */
const preferenceFor = (preferences: readonly Preference[], mediaType: string): Preference | undefined => {
  const ranges = [mediaType, `${mediaType.slice(0, mediaType.indexOf('/'))}/*`, '*/*']
  for (const range of ranges) {
    const found = preferences.find(({ name }) => name === range)
    if (found !== undefined) return found
  }
  return undefined
}

/** Sort the highest quality first, then named types before wildcards, then the order of the header. */
const byPreference = (a: Preference, b: Preference): number =>
  b.quality - a.quality || Number(a.name.includes('*')) - Number(b.name.includes('*')) || a.index - b.index

const jsonMediaType = 'application/json'

/** List the media types of the answers of an operation, the default first. */
const mediaTypesOf = ({ csv, ndjson, tables = [], tablesOnly }: Operation): readonly string[] => {
  const first = tablesOnly === true ? [] : [ndjson === true ? tableMediaTypes.ndjson : jsonMediaType]
  return [
    ...new Set([...first, ...(csv === true ? [tableMediaTypes.csv] : []), ...tables.map(one => tableMediaTypes[one])]),
  ]
}

/** Format of an answer that is not the default one. */
type ChosenFormat = { readonly wantsCsv: boolean; readonly tableFormat?: TableFormat }

const defaultFormat: Result<ChosenFormat> = accepted({ wantsCsv: false })

/**
 * Choose the format of an answer by the header `Accept`. Without the header the operation has its default format.
 * Refuses `not_acceptable` if the operation has none of the accepted media types; the message lists its types.
 * Calls of Connect always have JSON.
 * Source: docs/rules/versions-and-transport.md #formats-of-answers.
 */
export const negotiateFormat = (operation: Operation, header: string | null): Result<ChosenFormat> => {
  if (header === null || header.trim() === '' || header === '*/*' || operation.cors === true) return defaultFormat
  const mediaTypes = mediaTypesOf(operation)
  const preferences = readPreferences(header)
  const candidates = mediaTypes.flatMap(mediaType => {
    const preference = preferenceFor(preferences, mediaType)
    return preference === undefined || preference.quality <= 0 ? [] : [{ mediaType, preference }]
  })
  const [best] = candidates.toSorted((a, b) => byPreference(a.preference, b.preference))
  if (best === undefined)
    return refused('not_acceptable', `Send Accept with ${mediaTypes.join(' or ')}: this operation has no other format`)
  if (best.mediaType === mediaTypes[0]) return defaultFormat
  const format = tableFormats.find(one => tableMediaTypes[one] === best.mediaType)
  const isTable = format !== undefined && operation.tables?.includes(format) === true
  return accepted({
    wantsCsv: format === 'csv' && operation.csv === true,
    ...(isTable ? { tableFormat: format } : {}),
  })
}
