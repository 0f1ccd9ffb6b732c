import { gzipSync } from 'node:zlib'
import { zipSync } from 'fflate'
import { describe, expect, it } from 'vitest'
import { openArchive } from '../../../services/interchange/platform/archive.ts'
import { csvLimits, readCsv } from '../../../services/interchange/platform/csv.ts'
import { readLines } from '../../../services/interchange/platform/file-format.ts'
import { readXmlEntries, xmlLimits } from '../../../services/interchange/platform/xml.ts'

/** Chunk of a file as a stream delivers it. */
const chunkBytes = 65_536

async function* chunksOf(content: string | Uint8Array): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(content)
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
}

async function* endless(text: string, head = ''): AsyncGenerator<Uint8Array> {
  yield Buffer.from(head)
  const chunk = Buffer.from(text.repeat(Math.ceil(chunkBytes / text.length)))
  for (;;) yield chunk
}

type Parse = (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<unknown>

const csv: Parse = chunks => readCsv(chunks, { delimiter: null, encoding: null, skipLines: 0 })
const archive: Parse = chunks => openArchive(chunks)

/** Read a file to its end. Returns the number of items, or the message of its failure. */
const readAll = async (parse: Parse, chunks: AsyncIterable<Uint8Array>): Promise<number | string> => {
  let count = 0
  try {
    for await (const item of parse(chunks)) count += Array.isArray(item) ? item.length : 1
    return count
  } catch (error) {
    return error instanceof Error && error.name === 'Failure' ? error.message : `bug: ${error}`
  }
}

const maxGrowthBytes = 256 * 2 ** 20

/** Read a hostile file, with bounded memory and time. */
const readHostile = async (parse: Parse, chunks: AsyncIterable<Uint8Array>): Promise<number | string> => {
  const before = process.memoryUsage().rss
  const startedAt = process.cpuUsage()
  const result = await readAll(parse, chunks)
  const { user, system } = process.cpuUsage(startedAt)
  expect(process.memoryUsage().rss - before).toBeLessThan(maxGrowthBytes)
  expect((user + system) / 1e6).toBeLessThan(20)
  return result
}

const bomb = Buffer.alloc(32 * 2 ** 20)

/** Nest gzip or zip content in elements. */
const nested = (depth: number): string => '<a>'.repeat(depth) + '</a>'.repeat(depth)
const feed = (content: string): string => `<feed><entry>${content}</entry></feed>`

describe('a hostile archive', () => {
  it('that inflates too far is refused early', async () => {
    expect(await readHostile(archive, chunksOf(gzipSync(bomb)))).toContain('more than 200 times its size')
    expect(await readHostile(archive, chunksOf(zipSync({ 'a.csv': bomb })))).toContain('more than 200 times its size')
  })

  it('with several files, without any, cut or changed is refused', async () => {
    const [one, two] = [zipSync({ a: Buffer.from('x,y\n') }), zipSync({ a: Buffer.from('x'), b: Buffer.from('y') })]
    expect(await readHostile(archive, chunksOf(one))).toBe(1)
    expect(await readHostile(archive, chunksOf(two))).toContain('several files')
    expect(await readHostile(archive, chunksOf(one.subarray(0, 20)))).toContain('zip file')
    const cut = gzipSync('x,y\n'.repeat(10_000)).subarray(0, 40)
    expect(await readHostile(archive, chunksOf(cut))).toContain('damaged or incomplete')
    const random = Buffer.concat([Buffer.from('PK\u0003\u0004'), Buffer.alloc(100_000, 0x5a)])
    expect(await readHostile(archive, chunksOf(random))).toContain('zip file')
  })
})

describe('a hostile CSV file', () => {
  it('has rows of at most 64 KiB', async () => {
    const row = (bytes: number) => `a,b\n1,${'x'.repeat(bytes - 2)}\n`
    expect(await readHostile(csv, chunksOf(row(csvLimits.rowBytes)))).toBe(2)
    expect(await readHostile(csv, chunksOf(row(csvLimits.rowBytes + 1)))).toContain('longer than 64 KiB')
  })

  it('has at most 200 columns', async () => {
    const row = (columns: number) => `${Array(columns).fill('x').join(',')}\n`
    expect(await readHostile(csv, chunksOf(row(csvLimits.columns)))).toBe(1)
    expect(await readHostile(csv, chunksOf(row(csvLimits.columns + 1)))).toContain('201 columns')
  })

  it.each([
    ['an open quote', endless('x', 'a,b\n1,"')],
    ['an endless row', endless('x', 'a,b\n1,')],
    ['quotes without an end', endless('""', 'a,b\n1,"')],
    ['delimiters without an end', endless(',', 'a,b\n')],
    ['no text', endless('\u0000', 'a,b\n')],
    ['bytes that are no UTF-8', chunksOf(Buffer.from([0x61, 0x0a, 0xff, 0xfe]))],
  ])('with %s is refused', async (_, chunks) => {
    expect(typeof (await readHostile(csv, chunks))).toBe('string')
  })

  it('with a line of JSON above 64 KiB is refused', async () => {
    expect(await readHostile(readLines, endless(' ', '{'))).toContain('longer than 64 KiB')
  })
})

describe('a hostile XML file', () => {
  it('has elements of at most 32 levels', async () => {
    expect(await readHostile(readXmlEntries, chunksOf(feed(nested(xmlLimits.depth - 2))))).toBe(1)
    expect(await readHostile(readXmlEntries, chunksOf(feed(nested(xmlLimits.depth - 1))))).toContain('nested')
    expect(await readHostile(readXmlEntries, endless('<a>'))).toContain('nested')
  })

  it.each([
    ['a document type', '<!DOCTYPE feed SYSTEM "file:///etc/passwd"><feed/>'],
    ['entities', '<!DOCTYPE f [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><feed><entry>&b;</entry></feed>'],
    ['an entity in an entry', '<feed><entry><!ENTITY a "a"></entry></feed>'],
  ])('with %s is refused', async (_, text) => {
    expect(await readHostile(readXmlEntries, chunksOf(text))).toContain('Remove them')
  })

  it('keeps the ends of entries in comments, attributes and CDATA', async () => {
    const inner = '<!-- </entry> --><a b="</entry>">x</a><![CDATA[</entry>]]>'
    expect(await readHostile(readXmlEntries, chunksOf(`${feed(inner)}\n`))).toBe(1)
    const entities = [...(await Array.fromAsync(readXmlEntries(chunksOf(feed('<a>&lt;&unknown;</a>')))))]
    expect(entities).toEqual([{ line: 1, value: { a: '&lt;&unknown;' } }])
  })

  it.each([
    ['that is cut', '<feed><entry><a>'],
    ['with crossed tags', '<feed><entry><a><b></a></b></entry></feed>'],
    ['with text after its end', '<entry><a/></entry><'],
  ])('%s is refused', async (_, text) => {
    expect(typeof (await readHostile(readXmlEntries, chunksOf(text)))).toBe('string')
  })

  it('with an endless entry, comment or tag is refused', async () => {
    expect(await readHostile(readXmlEntries, endless('<a/>', '<feed><entry>'))).toContain('longer than 64 MiB')
    expect(await readHostile(readXmlEntries, endless('-', '<feed><!--'))).toContain('longer than 1 MiB')
    expect(await readHostile(readXmlEntries, endless('x', '<feed '))).toContain('longer than 1 MiB')
  })
})
