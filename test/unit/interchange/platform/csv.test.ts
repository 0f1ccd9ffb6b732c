import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type CsvForm, type CsvRow, readCsv } from '../../../../services/interchange/platform/csv.ts'

const form: CsvForm = { delimiter: ',', encoding: null, skipLines: 0 }

/** Cut bytes into chunks of the given sizes; the last chunk is the rest. */
async function* cut(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let start = 0
  for (const size of sizes) {
    yield bytes.subarray(start, start + size)
    start += size
  }
  yield bytes.subarray(start)
}

const read = async (text: string, given: Partial<CsvForm> = {}, sizes: readonly number[] = []): Promise<CsvRow[]> =>
  (await Array.fromAsync(readCsv(cut(Buffer.from(text), sizes), { ...form, ...given }))).flat()

/** If a carriage return alone ends the first line, it ends all lines. */
const withLineFeeds = (text: string): string => (/^[^\r\n]*\r[^\n]/.test(text) ? text.replaceAll('\r', '\n') : text)

/** Rows of the whole text at once by the library alone; null if it is not CSV. */
const readAtOnce = (text: string, skipLines: number): CsvRow[] | null => {
  const rows: CsvRow[] = []
  try {
    parse(Buffer.from(withLineFeeds(text)), {
      bom: true,
      delimiter: ',',
      record_delimiter: ['\r\n', '\n'],
      from_line: skipLines + 1,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      on_record: (cells: string[], { lines }) => {
        rows.push({ cells, line: lines })
        return null
      },
    })
    return rows
  } catch {
    return null
  }
}

const plain = fc.constantFrom('a', 'é', '€', ' ', ',', ',', '\n', '\n', '\r\n')
const special = fc.constantFrom('"', '""', '"b,c"', '"x\ny"', '\r')
const textOf = (parts: readonly fc.Arbitrary<string>[]) =>
  fc.array(fc.oneof(...parts), { maxLength: 30 }).map(all => all.join(''))
/** Plain rows, then rows that only the parser can read. */
const anyText = fc
  .tuple(fc.constantFrom('', '\ufeff'), textOf([plain]), textOf([plain, special]))
  .map(all => all.join(''))
const cuts = fc.array(fc.nat(6), { maxLength: 8 })

describe('rows of a CSV file', () => {
  it('are those of the parser, wherever the chunks are cut and quotes begin', async () => {
    let unlike = 0
    await fc.assert(
      fc.asyncProperty(anyText, cuts, fc.nat(3), async (text, sizes, skipLines) => {
        const expected = readAtOnce(text, skipLines)
        const rows = await read(text, { skipLines }, sizes).catch(() => null)
        if (expected === null) unlike += 1
        expect(rows).toEqual(expected)
      }),
      { numRuns: 3_000 },
    )
    expect(unlike).toBeGreaterThan(0)
  })

  it('have the line of the file, also after the first quote', async () => {
    const text = 'time,value\n1,2\n\n3,4\r\n5,"6\n7"\n8,9'
    expect(await read(text)).toEqual([
      { cells: ['time', 'value'], line: 1 },
      { cells: ['1', '2'], line: 2 },
      { cells: ['3', '4'], line: 4 },
      { cells: ['5', '6\n7'], line: 6 },
      { cells: ['8', '9'], line: 7 },
    ])
    const [last] = (await read(text, { skipLines: 4 }, [16, 9])).slice(-1)
    expect(last).toEqual({ cells: ['8', '9'], line: 7 })
  })

  it('are divided by the mark of the whole header, also if a chunk ends within it', async () => {
    const rows = await read('note\na,b;c;d\n1;2;3', { delimiter: null, skipLines: 1 }, [7, 2])
    expect(rows.map(({ cells }) => cells)).toEqual([
      ['a,b', 'c', 'd'],
      ['1', '2', '3'],
    ])
  })

  it.each([
    ['blank lines before the header', '\n\r\na;b\n1,5;2\n'],
    ['carriage returns', 'a;b\r1,5;2\r'],
    ['carriage returns, cut behind the first', 'a;b\r\r1,5;2'],
  ])('are found with %s', async (_, text) => {
    const rows = await read(text, { delimiter: null }, [4, 1])
    expect(rows.map(({ cells }) => cells)).toEqual([
      ['a', 'b'],
      ['1,5', '2'],
    ])
  })

  it.each([
    ['a row of 64 KiB', `a\n\nb${'c'.repeat(65_536)}\n`, 'Line 3: the row is longer than 64 KiB'],
    [
      'a row of 64 KiB after carriage returns',
      `a\r\rb${'c'.repeat(65_536)}\r`,
      'Line 3: the row is longer than 64 KiB',
    ],
    ['201 columns', `a\n\n${','.repeat(200)}\n`, 'Line 3: the row has 201 columns'],
    ['201 columns after a quote', `"a"\n\n${','.repeat(200)}\n`, 'Line 3: the row has 201 columns'],
    ['a quote that is not closed', 'a\nb\n"c\n', 'a quote is not closed'],
  ])('are refused with their line: %s', async (_, text, message) => {
    await expect(read(text)).rejects.toThrow(message)
  })

  it('are refused with bytes that are no text', async () => {
    const chunks = cut(Uint8Array.of(97, 0xc3, 10), [])
    await expect(Array.fromAsync(readCsv(chunks, form))).rejects.toThrow('The file is not text in utf-8')
  })
})
