import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import type { FileAnswer } from '../../contract/operation.ts'
import { Failure } from '../failure.ts'
import type { Answer } from './answer.ts'

/** Part of a file: first byte, and the byte after the last one. */
type ByteRange = { readonly start: number; readonly end: number }

const rangePattern = /^bytes=(\d{0,15})-(\d{0,15})$/

/**
 * Read a Range header. Null for the whole file: no header, several ranges or another unit. `none`: the range has no byte
 * of the file. Source: RFC 9110, 14.
 */
const readRange = (header: string | null, bytes: number): ByteRange | 'none' | null => {
  const [, first = '', last = ''] = rangePattern.exec(header ?? '') ?? []
  if (first === '' && last === '') return null
  if (first === '') {
    const start = Math.max(0, bytes - Number(last))
    return start < bytes ? { start, end: bytes } : 'none'
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return null
  return start < bytes ? { start, end: last === '' ? bytes : Math.min(bytes, Number(last) + 1) } : 'none'
}

const chunkBytes = 262_144

async function* chunksOf(path: string, { start, end }: ByteRange): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  if (start === end) return
  for await (const chunk of createReadStream(path, { start, end: end - 1, highWaterMark: chunkBytes }))
    yield chunk as Uint8Array<ArrayBuffer>
}

/** Throw if the file does not exist: the status is not sent yet. */
const confirmFile = async (path: string): Promise<void> => {
  const handle = await open(path, 'r').catch(cause => {
    throw new Failure('export_file_away', 'The file of an export cannot be read.', { retriable: true, cause })
  })
  await handle.close()
}

/**
 * Write a file, or the part of it that the request names. `If-Range` with another ETag gives the whole file, and
 * `If-None-Match` with the same ETag gives 304. Source: RFC 9110, 13 and 14.
 */
export const fileAnswer = async (
  { path, bytes, etag, name }: FileAnswer,
  { headers }: Pick<Request, 'headers'>,
  answer: Answer,
): Promise<Answer> => {
  const common = {
    ...answer.headers,
    ETag: etag,
    'Accept-Ranges': 'bytes',
    'Content-Disposition': `attachment; filename="${name}"`,
  }
  const matches = headers
    .get('if-none-match')
    ?.split(',')
    .some(one => one.trim() === etag || one.trim() === '*')
  if (matches === true) return { ...answer, status: 304, headers: common, body: '' }
  const ifRange = headers.get('if-range')
  const range = ifRange !== null && ifRange !== etag ? null : readRange(headers.get('range'), bytes)
  if (range === 'none')
    return { ...answer, status: 416, headers: { ...common, 'Content-Range': `bytes */${bytes}` }, body: '' }
  await confirmFile(path)
  const { start, end } = range ?? { start: 0, end: bytes }
  const partial = range === null ? {} : { 'Content-Range': `bytes ${start}-${end - 1}/${bytes}` }
  return {
    ...answer,
    status: range === null ? 200 : 206,
    headers: { ...common, ...partial, 'Content-Length': String(end - start) },
    body: chunksOf(path, { start, end }),
    isBinary: true,
  }
}
