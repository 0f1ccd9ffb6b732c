import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readMultipartForm } from '../../../../services/platform/http/multipart-form.ts'

const boundary = 'a-boundary'
const mediaType = `multipart/form-data; boundary=${boundary}`
const read = (text: string, type = mediaType) => readMultipartForm(Buffer.from(text), type, 'acc_1')

const field = (name: string, text: string): string =>
  `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`
const end = `--${boundary}--\r\n`

const textOf = (chunks: readonly Uint8Array[]): string => Buffer.concat(chunks).toString()

describe('a form with files', () => {
  it('is read as a browser sends it', async () => {
    const letters = fc.string({ unit: 'grapheme', maxLength: 30 }).map(text => text.replace(/\r\n?|\n/g, '\r\n'))
    const name = fc.string({ minLength: 1, maxLength: 20, unit: fc.constantFrom('a', 'é', '漢', ' ', '.', '_', '7') })
    const part = fc.record({ name, text: letters, file: fc.option(name) })
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 20 }), async parts => {
        const form = new FormData()
        for (const { name: key, text, file } of parts)
          if (file === null) form.append(key, text)
          else form.append(key, new Blob([text]), file)
        const sent = new Response(form)
        const type = sent.headers.get('content-type') ?? ''
        const got = await readMultipartForm(new Uint8Array(await sent.arrayBuffer()), type, 'acc_1')
        const fields = parts.filter(({ file }) => file === null)
        const files = parts.filter(({ file }) => file !== null)
        expect(got?.fields).toEqual(fields.map(one => [one.name, one.text]))
        expect(got?.files.map(([key, file]) => [key, file.name, textOf(file.chunks), file.size])).toEqual(
          files.map(one => [one.name, one.file, one.text, Buffer.byteLength(one.text)]),
        )
      }),
      { numRuns: 300 },
    )
  })

  it('can have a file of many MiB, with any bytes', async () => {
    const bytes = Buffer.alloc(5_000_000)
    for (let at = 0; at < bytes.length; at += 1) bytes[at] = (at * 7 + (at >> 8)) % 256
    const form = new FormData()
    form.append('file', new Blob([bytes]), 'readings.xlsx')
    form.append('after', 'yes')
    const sent = new Response(form)
    const type = sent.headers.get('content-type') ?? ''
    const got = await readMultipartForm(new Uint8Array(await sent.arrayBuffer()), type, 'acc_1')
    expect(Buffer.concat(got?.files[0]?.[1].chunks ?? []).equals(bytes)).toBe(true)
    expect(got?.fields).toEqual([['after', 'yes']])
  })

  it.each([
    ['256 parts', field('a', 'b').repeat(256) + end, 256],
    ['257 parts', field('a', 'b').repeat(257) + end, null],
    ['a text of 64 KiB', field('a', 'b'.repeat(65_536)) + end, 1],
    ['a longer text', field('a', 'b'.repeat(65_537)) + end, null],
    ['no end', field('a', 'b'), null],
    ['a cut part', field('a', 'b').slice(0, -8), null],
    ['no boundary in the body', 'a=b', null],
    ['an empty body', '', null],
    ['no parts', end, 0],
  ])('of %s', async (_, text, count) => {
    expect((await read(text))?.fields.length ?? null).toBe(count)
  })

  it.each(['multipart/form-data', 'multipart/form-data; boundary=', `multipart/form-data; boundary=${'x'.repeat(71)}`])(
    'needs a boundary: %s',
    async type => expect(await read(field('a', 'b') + end, type)).toBeNull(),
  )
})
