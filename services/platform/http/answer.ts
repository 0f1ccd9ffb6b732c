import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { type ApiVersion, apiVersionDates } from '../../contract/api-version.ts'
import type { FileAnswer } from '../../contract/operation.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { Failure } from '../failure.ts'
import { answerLimits, type Chunks, discardChunks, isChunks, streamOf, tableLimits } from './chunks.ts'
import { acceptsValue } from './negotiate.ts'
import type { ReceivedRequest } from './request-body.ts'

const gzipAsync = promisify(gzip)

/** Size in bytes below which answers are not compressed. */
const minCompressibleBytes = 1_024

/** An answer before it is written. */
export type Answer = {
  readonly status: number
  readonly apiVersion: ApiVersion
  readonly mediaType: string
  readonly body: string | Uint8Array<ArrayBuffer> | Chunks
  readonly headers: Readonly<Record<string, string>>
  /** The answer is a table of any size: its client has more time. */
  readonly isLong?: boolean
  /** The body is not compressed again. */
  readonly isBinary?: boolean
}

/** Properties of a request that its answer depends on. */
type AnsweredRequest = { readonly method: string; readonly acceptEncoding: string | null }

/** An answer as it is sent. */
export type WrittenAnswer = {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string | Uint8Array<ArrayBuffer> | ReadableStream | null
}

/** Write a streamed answer. It has no Content-Length. */
const writeStream = async (
  chunks: Chunks,
  { status, isLong, isBinary }: Pick<Answer, 'status' | 'isLong' | 'isBinary'>,
  headers: Record<string, string>,
  { method, acceptEncoding }: AnsweredRequest,
): Promise<WrittenAnswer> => {
  const isCoded = isBinary !== true && acceptsValue(acceptEncoding, 'gzip')
  if (isCoded) headers['Content-Encoding'] = 'gzip'
  if (method === 'HEAD') {
    await discardChunks(chunks)
    return { status, headers, body: null }
  }
  const stream = streamOf(chunks, isLong === true ? tableLimits : answerLimits)
  return { status, headers, body: isCoded ? stream.pipeThrough(new CompressionStream('gzip')) : stream }
}

/** Write an answer. Long bodies are compressed if the client accepts gzip. */
export const writtenAnswer = async (
  answer: Answer,
  requestId: string,
  request: AnsweredRequest,
): Promise<WrittenAnswer> => {
  const headers: Record<string, string> = {
    'Content-Type': answer.mediaType,
    'X-Request-Id': requestId,
    'Api-Version': apiVersionDates[answer.apiVersion],
    'Cache-Control': 'no-store',
    // Browsers must not guess a script or page from the content.
    'X-Content-Type-Options': 'nosniff',
    ...answer.headers,
  }
  const vary = headers['Vary'] === undefined ? 'Accept-Encoding' : `${headers['Vary']}, Accept-Encoding`
  if (isChunks(answer.body)) return writeStream(answer.body, answer, { ...headers, Vary: vary }, request)
  const length = typeof answer.body === 'string' ? Buffer.byteLength(answer.body) : answer.body.length
  if (length < minCompressibleBytes) return writeBody(answer.body, length, answer.status, headers)
  headers['Vary'] = vary
  if (!acceptsValue(request.acceptEncoding, 'gzip')) return writeBody(answer.body, length, answer.status, headers)
  const compressed = await compress(answer.body)
  headers['Content-Encoding'] = 'gzip'
  return writeBody(compressed, compressed.length, answer.status, headers)
}

const compressedBodies = new WeakMap<Uint8Array, ReturnType<typeof gzipAsync>>()

/**
 * Compress a body. The result of a byte array is cached with the array, because static routes return the same array.
 */
export const compress = (body: string | Uint8Array<ArrayBuffer>): ReturnType<typeof gzipAsync> => {
  if (typeof body === 'string') return gzipAsync(body, { level: 4 })
  const known = compressedBodies.get(body)
  if (known !== undefined) return known
  const made = gzipAsync(body, { level: 4 })
  compressedBodies.set(body, made)
  return made
}

const writeBody = (
  body: string | Uint8Array<ArrayBuffer>,
  length: number,
  status: number,
  headers: Record<string, string>,
): WrittenAnswer => {
  headers['Content-Length'] = String(length)
  return { status, headers, body: length === 0 ? null : body }
}

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

/** Return the tags of a condition; `*` matches every file. */
const tagsOf = (header: string): readonly string[] => header.split(',').map(one => one.trim())

/** Compare tags strongly: a weak tag never matches. Source: RFC 9110, 8.8.3.2. */
const matchesStrongly = (header: string, etag: string): boolean =>
  tagsOf(header).some(one => one === etag || one === '*')

const matchesWeakly = (header: string, etag: string): boolean =>
  tagsOf(header).some(one => one.replace(/^W\//, '') === etag || one === '*')

const changedFile = refused(
  'precondition_failed',
  'The file has another ETag than If-Match: download the whole file again, without If-Match',
)
const emptyRange = (bytes: number) =>
  refused('range_not_satisfiable', `The range has no byte of the file: it has ${bytes} bytes`)

/**
 * Write a file, or the part of it that the request names. `If-Match` without the ETag is refused with
 * `precondition_failed`, a range outside the file with `range_not_satisfiable`. `If-None-Match` with the ETag gives 304.
 * `If-Range` with another ETag gives the whole file. `answer.headers` also belong to a refusal.
 * Source: RFC 9110, 13 and 14.
 */
export const fileAnswer = async (
  { path, bytes, etag, name }: FileAnswer,
  { headers }: Pick<ReceivedRequest, 'headers'>,
  answer: Answer & { readonly headers: Record<string, string> },
): Promise<Result<Answer>> => {
  const ifMatch = headers.get('if-match')
  if (ifMatch !== null && !matchesStrongly(ifMatch, etag)) return changedFile
  const common = {
    ...answer.headers,
    ETag: etag,
    'Accept-Ranges': 'bytes',
    'Content-Disposition': `attachment; filename="${name}"`,
  }
  const ifNoneMatch = headers.get('if-none-match')
  if (ifNoneMatch !== null && matchesWeakly(ifNoneMatch, etag))
    return accepted({ ...answer, status: 304, headers: common, body: '' })
  const ifRange = headers.get('if-range')
  const range = ifRange !== null && ifRange.trim() !== etag ? null : readRange(headers.get('range'), bytes)
  if (range === 'none') {
    answer.headers['Content-Range'] = `bytes */${bytes}`
    return emptyRange(bytes)
  }
  await confirmFile(path)
  const { start, end } = range ?? { start: 0, end: bytes }
  const partial = range === null ? {} : { 'Content-Range': `bytes ${start}-${end - 1}/${bytes}` }
  return accepted({
    ...answer,
    status: range === null ? 200 : 206,
    headers: { ...common, ...partial, 'Content-Length': String(end - start) },
    body: chunksOf(path, { start, end }),
    isBinary: true,
  })
}
