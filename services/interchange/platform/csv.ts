import { type CsvError, type Info, parse } from 'csv-parse'
import { Failure } from '../../platform/failure.ts'

/** Row of a CSV file: its cells, and its line in the file, from 1. A row of several lines has its last line. */
export type CsvRow = { readonly cells: readonly string[]; readonly line: number }

/** Forms of a CSV file. `delimiter` null: the most frequent one of the header. */
export type CsvForm = {
  readonly delimiter: string | null
  /** Name of an encoding of the WHATWG table. Null: UTF-8, or UTF-16 by its byte order mark. */
  readonly encoding: string | null
  /** Lines before the header. */
  readonly skipLines: number
  /** Maximum number of columns. Absent: that of `csvLimits`. */
  readonly maxColumns?: number
}

/** Length of the text in which the header is searched. */
const maxHeadLength = 1_048_576

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

/** Part of a file: its text, and the bytes of this text in UTF-8. A character can be cut: it is in the next text. */
type TextPart = { readonly text: string; readonly bytes: Uint8Array }

/** Decode chunks. A byte order mark is left out. Throws `Failure` for invalid bytes. */
async function* decoded(chunks: AsyncIterable<Uint8Array>, encoding: string | null): AsyncGenerator<TextPart> {
  let decoder: InstanceType<typeof TextDecoder> | undefined
  const decode = (bytes: Uint8Array | undefined): TextPart => {
    const name = decoder?.encoding ?? 'utf-8'
    try {
      const text = decoder?.decode(bytes, { stream: bytes !== undefined }) ?? ''
      return { text, bytes: name === 'utf-8' ? (bytes ?? new Uint8Array()) : Buffer.from(text) }
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

/**
 * Return whether a carriage return alone ends the first line of a text; null if the text has no complete line. Then it ends
 * all lines.
 */
const endsLinesWithReturns = (text: string): boolean | null => {
  const [lineEnd] = /\r\n|\n|\r[\s\S]/.exec(text) ?? []
  return lineEnd === undefined ? null : lineEnd.length === 2 && lineEnd !== '\r\n'
}

/** Return the first lines of a text by its first bytes. The last line can be incomplete. Invalid bytes are replaced. */
export const csvHeadLines = (first: Uint8Array, encoding: string | null): readonly string[] => {
  const name = encoding !== null && isEncoding(encoding) ? encoding : (utf16Encoding(first) ?? 'utf-8')
  return new TextDecoder(name).decode(first).split(/\r\n|\n|\r/)
}

const withLineFeeds = (text: string): TextPart => {
  const lines = text.replaceAll('\r', '\n')
  return { text: lines, bytes: Buffer.from(lines) }
}

/** Return whether a name is an encoding of the WHATWG table. */
export const isEncoding = (name: string): boolean => {
  try {
    return new TextDecoder(name).encoding !== ''
  } catch {
    return false
  }
}

/** Return the first line with text after the skipped lines; null if none is complete. `isEnd`: no text follows. */
const headerOf = (text: string, skipLines: number, isEnd: boolean): string | null => {
  const lines = text.split('\n')
  const complete = isEnd ? lines : lines.slice(0, -1)
  return complete.slice(skipLines).find(line => line.trim() !== '') ?? null
}

const lineFeed = 10
const carriageReturn = 13

const lineFeedsIn = (text: string): number => text.split('\n').length - 1

/**
 * Return a function that finds the first line of a chunk that is too long: the number of line ends before it, or null.
 * csv-parse does not count delimiters.
 */
const longLineFinder = () => {
  let carried = 0
  return (bytes: Uint8Array): number | null => {
    let start = -carried
    while (start + csvLimits.rowBytes < bytes.length) {
      const end = bytes.lastIndexOf(lineFeed, start + csvLimits.rowBytes)
      if (end < Math.max(start, 0) || start + csvLimits.rowBytes < 0)
        return lineFeedsIn(Buffer.from(bytes.subarray(0, Math.max(start, 0))).toString('latin1'))
      start = end + 1
    }
    const last = bytes.lastIndexOf(lineFeed)
    carried = last < 0 ? carried + bytes.length : bytes.length - last - 1
    return null
  }
}

const tooLong = (line: number): Failure =>
  unreadable(`Line ${line}: the row is longer than ${csvLimits.rowBytes / 1024} KiB. A quote may not be closed.`)

const tooManyColumns = (line: number, count: number, max: number): Failure =>
  unreadable(`Line ${line}: the row has ${count} columns. At most ${max} are allowed.`)

const explain = (error: CsvError, earlierLines: number): Failure => {
  const line = earlierLines + Number(Reflect.get(error, 'lines') ?? 0)
  if (error.code === 'CSV_MAX_RECORD_SIZE') return tooLong(line)
  if (error.code === 'CSV_QUOTE_NOT_CLOSED') return unreadable(`Line ${line}: a quote is not closed.`)
  return unreadable(`The file is not CSV: ${error.message}.`)
}

type RowParser = { readonly write: (text: string) => Promise<CsvRow[]>; readonly end: () => Promise<CsvRow[]> }

/**
 * Open a parser that returns the rows of each text. RFC 4180: quotes, double quotes, line ends in quoted cells.
 * `earlierLines`: lines of the file before the first text.
 */
const rowParser = (delimiter: string, skipLines: number, earlierLines: number, maxColumns: number): RowParser => {
  let rows: CsvRow[] = []
  const parser = parse({
    delimiter,
    record_delimiter: ['\r\n', '\n'],
    from_line: Math.max(skipLines - earlierLines, 0) + 1,
    max_record_size: csvLimits.rowBytes,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    on_record: (cells: string[], { lines }: Info) => {
      if (cells.length > maxColumns) throw tooManyColumns(earlierLines + lines, cells.length, maxColumns)
      rows.push({ cells, line: earlierLines + lines })
      return null
    },
  })
  let fail: (error: Error) => void = () => undefined
  parser.on('error', error => fail(error))
  parser.resume()
  const taken = (work: (done: () => void) => void): Promise<CsvRow[]> =>
    new Promise((resolve, reject) => {
      fail = error =>
        reject('code' in error && !(error instanceof Failure) ? explain(error as CsvError, earlierLines) : error)
      work(() => {
        const complete = rows
        rows = []
        resolve(complete)
      })
    })
  return {
    write: text => taken(done => parser.write(text, error => error ?? done())),
    end: () => taken(done => parser.once('end', done).end()),
  }
}

/** Texts that only the parser can read: a quote, or a carriage return within a line. */
const needsParser = (text: string): boolean => text.includes('"') || (text.includes('\r') && /\r(?!\n)/.test(text))

/**
 * Open a reader that splits lines without quotes at the delimiter, ten times as fast as the parser. From the first text
 * that needs the parser on, the parser reads. The rows are the same.
 */
const rowReader = (delimiter: string, skipLines: number, maxColumns: number): RowParser => {
  let parser: RowParser | undefined
  let line = 0
  let rest = ''
  const openParser = (): RowParser => {
    parser = rowParser(delimiter, skipLines, line, maxColumns)
    return parser
  }
  const split = (text: string): CsvRow[] => {
    const rows: CsvRow[] = []
    for (let start = 0, end = text.indexOf('\n'); end >= 0; start = end + 1, end = text.indexOf('\n', start)) {
      line += 1
      const lineEnd = end > start && text.charCodeAt(end - 1) === carriageReturn ? end - 1 : end
      if (line <= skipLines || lineEnd === start) continue
      const cells = text.slice(start, lineEnd).split(delimiter)
      if (cells.length > maxColumns) throw tooManyColumns(line, cells.length, maxColumns)
      rows.push({ cells, line })
    }
    return rows
  }
  return {
    write: async text => {
      if (parser !== undefined) return parser.write(text)
      const all = rest + text
      const end = all.lastIndexOf('\n') + 1
      if (!needsParser(all.slice(0, end))) {
        rest = all.slice(end)
        return split(all.slice(0, end))
      }
      rest = ''
      return openParser().write(all)
    },
    end: async () => {
      if (parser !== undefined) return parser.end()
      const last = openParser()
      const rows = await last.write(rest)
      return [...rows, ...(await last.end())]
    },
  }
}

/**
 * Read the rows of a CSV file, chunk by chunk; the header is the first row. Blank lines are left out.
 * Throws `Failure` `file_unreadable` for rows above 64 KiB, more than 200 columns and invalid bytes.
 */
export async function* readCsv(chunks: AsyncIterable<Uint8Array>, form: CsvForm): AsyncGenerator<CsvRow[]> {
  const { delimiter, encoding, skipLines, maxColumns = csvLimits.columns } = form
  let reader: RowParser | undefined
  let head = ''
  const openReader = (header: string | null): RowParser =>
    rowReader(delimiter ?? delimiterOf(header ?? ''), skipLines, maxColumns)
  const findLongLine = longLineFinder()
  let lastLine = 0
  let usesReturns: boolean | null = null
  for await (const part of decoded(chunks, encoding)) {
    usesReturns ??= endsLinesWithReturns(head + part.text)
    if (usesReturns === true) head = head.replaceAll('\r', '\n')
    const { text, bytes } = usesReturns === true ? withLineFeeds(part.text) : part
    const linesBefore = findLongLine(bytes)
    if (linesBefore !== null) throw tooLong(lastLine + linesBefore + 1)
    if (reader === undefined) {
      head += text
      // The delimiter is known from the whole header.
      const header = headerOf(head, skipLines, false)
      if (header === null && head.length < maxHeadLength) continue
      reader = openReader(header)
    }
    const rows = await reader.write(head === '' ? text : head)
    head = ''
    lastLine = rows.at(-1)?.line ?? lastLine
    yield rows
  }
  if (reader === undefined) {
    if (head === '') return
    reader = openReader(headerOf(head, skipLines, true))
    yield await reader.write(head)
  }
  yield await reader.end()
}
