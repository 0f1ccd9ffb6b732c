import { type CsvError, type Info, parse } from 'csv-parse'
import { Failure } from '../failure.ts'

/** Row of a CSV file: its cells, and its line in the file, from 1. A row of several lines has its last line. */
export type CsvRow = { readonly cells: readonly string[]; readonly line: number }

/** Forms of a CSV file. `delimiter` null: the most frequent one of the header. */
export type CsvForm = {
  readonly delimiter: string | null
  /** Name of an encoding of the WHATWG table. Null: UTF-8, or UTF-16 by its byte order mark. */
  readonly encoding: string | null
  /** Lines before the header. */
  readonly skipLines: number
}

/** Maximum size of a row in bytes, and maximum number of its columns. */
export const csvLimits = { rowBytes: 65_536, columns: 200 } as const

export const csvDelimiters: readonly string[] = [',', ';', '\t', '|']

/** Return the delimiter that occurs most often in a header, outside of quotes. */
const delimiterOf = (header: string): string => {
  const unquoted = header.replace(/"[^"]*"/g, '')
  const counts = csvDelimiters.map(delimiter => unquoted.split(delimiter).length - 1)
  return csvDelimiters[counts.indexOf(Math.max(...counts))] as string
}

const unreadable = (message: string): Failure => new Failure('file_unreadable', message)

const utf16Encoding = (first: Uint8Array): string | null =>
  first[0] === 0xff && first[1] === 0xfe ? 'utf-16le' : first[0] === 0xfe && first[1] === 0xff ? 'utf-16be' : null

/** Decode chunks. UTF-8 stays in bytes: the decoder checks them only. Throws `Failure` for invalid bytes. */
async function* decoded(chunks: AsyncIterable<Uint8Array>, encoding: string | null): AsyncGenerator<Uint8Array> {
  let decoder: InstanceType<typeof TextDecoder> | undefined
  const decode = (bytes: Uint8Array | undefined): Uint8Array => {
    const name = decoder?.encoding ?? 'utf-8'
    try {
      const text = decoder?.decode(bytes, { stream: bytes !== undefined }) ?? ''
      return name === 'utf-8' && bytes !== undefined ? bytes : Buffer.from(name === 'utf-8' ? '' : text)
    } catch {
      const advice =
        name === 'utf-8' ? ' Set --encoding, such as windows-1252.' : ' Set --encoding to that of the file.'
      throw unreadable(`The file is not text in ${name}.${advice}`)
    }
  }
  for await (const chunk of chunks) {
    decoder ??= new TextDecoder(encoding ?? utf16Encoding(chunk) ?? 'utf-8', { fatal: true })
    yield decode(chunk)
  }
  yield decode(undefined)
}

/** Return whether a name is an encoding of the WHATWG table. */
export const isEncoding = (name: string): boolean => {
  try {
    return new TextDecoder(name).encoding !== ''
  } catch {
    return false
  }
}

const firstLine = (bytes: Uint8Array, skipLines: number): string =>
  new TextDecoder().decode(bytes.subarray(0, csvLimits.rowBytes)).split(/\r?\n|\r/)[skipLines] ?? ''

const lineFeed = 10

/** Return a function that checks the length of the lines of chunks. csv-parse does not count delimiters. */
const lineGuard = () => {
  let carried = 0
  return (bytes: Uint8Array): boolean => {
    let start = -carried
    while (start + csvLimits.rowBytes < bytes.length) {
      const end = bytes.lastIndexOf(lineFeed, start + csvLimits.rowBytes)
      if (end < Math.max(start, 0) || start + csvLimits.rowBytes < 0) return false
      start = end + 1
    }
    const last = bytes.lastIndexOf(lineFeed)
    carried = last < 0 ? carried + bytes.length : bytes.length - last - 1
    return true
  }
}

const tooLong = (line: number): Failure =>
  unreadable(`Line ${line}: the row is longer than ${csvLimits.rowBytes / 1024} KiB. A quote may not be closed.`)

const explain = (error: CsvError): Failure => {
  const line = Number(Reflect.get(error, 'lines') ?? 0)
  if (error.code === 'CSV_MAX_RECORD_SIZE') return tooLong(line)
  if (error.code === 'CSV_QUOTE_NOT_CLOSED') return unreadable(`Line ${line}: a quote is not closed.`)
  return unreadable(`The file is not CSV: ${error.message}.`)
}

type RowParser = { readonly write: (bytes: Uint8Array) => Promise<CsvRow[]>; readonly end: () => Promise<CsvRow[]> }

/** Open a parser that returns the rows of each chunk. RFC 4180: quotes, double quotes, line ends in quoted cells. */
const rowParser = (delimiter: string, skipLines: number): RowParser => {
  let rows: CsvRow[] = []
  const parser = parse({
    delimiter,
    bom: true,
    record_delimiter: ['\r\n', '\n'],
    from_line: skipLines + 1,
    max_record_size: csvLimits.rowBytes,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    on_record: (cells: string[], { lines }: Info) => {
      if (cells.length > csvLimits.columns) {
        throw unreadable(
          `Line ${lines}: the row has ${cells.length} columns. At most ${csvLimits.columns} are allowed.`,
        )
      }
      rows.push({ cells, line: lines })
      return null
    },
  })
  let fail: (error: Error) => void = () => undefined
  parser.on('error', error => fail(error))
  parser.resume()
  const taken = (work: (done: () => void) => void): Promise<CsvRow[]> =>
    new Promise((resolve, reject) => {
      fail = error => reject('code' in error && !(error instanceof Failure) ? explain(error as CsvError) : error)
      work(() => {
        const complete = rows
        rows = []
        resolve(complete)
      })
    })
  return {
    write: bytes => taken(done => parser.write(bytes, error => error ?? done())),
    end: () => taken(done => parser.once('end', done).end()),
  }
}

/**
 * Read the rows of a CSV file, chunk by chunk; the header is the first row. Blank lines are left out.
 * Throws `Failure` `file_unreadable` for rows above 64 KiB, more than 200 columns and invalid bytes.
 */
export async function* readCsv(chunks: AsyncIterable<Uint8Array>, form: CsvForm): AsyncGenerator<CsvRow[]> {
  let parser: RowParser | undefined
  const areLinesShort = lineGuard()
  let lastLine = 0
  for await (const bytes of decoded(chunks, form.encoding)) {
    if (bytes.length === 0) continue
    parser ??= rowParser(form.delimiter ?? delimiterOf(firstLine(bytes, form.skipLines)), form.skipLines)
    if (!areLinesShort(bytes)) throw tooLong(lastLine + 1)
    const rows = await parser.write(bytes)
    lastLine = rows.at(-1)?.line ?? lastLine
    yield rows
  }
  if (parser !== undefined) yield await parser.end()
}
