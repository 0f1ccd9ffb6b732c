import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { type ApiVersion, apiVersionDates } from '../../contract/api-version.ts'
import { answerLimits, type Chunks, discardChunks, isChunks, streamOf, tableLimits } from './chunks.ts'

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

/** Return whether a list such as `gzip;q=0.5, *` contains a value. `q=0` excludes the value. */
export const acceptsValue = (header: string | null, value: string): boolean => {
  for (const part of header?.split(',') ?? []) {
    const [name = '', ...parameters] = part.split(';').map(one => one.trim().toLowerCase())
    if (name !== value) continue
    const quality = parameters.find(one => one.startsWith('q='))
    return quality === undefined || Number(quality.slice(2)) > 0
  }
  return false
}

/** Properties of a request that its answer depends on. */
type AnsweredRequest = { readonly method: string; readonly acceptEncoding: string | null }

/** Create a streamed response. It has no Content-Length. */
const streamResponse = async (
  chunks: Chunks,
  { status, isLong, isBinary }: Pick<Answer, 'status' | 'isLong' | 'isBinary'>,
  headers: Record<string, string>,
  { method, acceptEncoding }: AnsweredRequest,
): Promise<Response> => {
  const isCoded = isBinary !== true && acceptsValue(acceptEncoding, 'gzip')
  if (isCoded) headers['Content-Encoding'] = 'gzip'
  if (method === 'HEAD') {
    await discardChunks(chunks)
    return new Response(null, { status, headers })
  }
  const stream = streamOf(chunks, isLong === true ? tableLimits : answerLimits)
  return new Response(isCoded ? stream.pipeThrough(new CompressionStream('gzip')) : stream, { status, headers })
}

/** Create the response of an answer. Long bodies are compressed if the client accepts gzip. */
export const toResponse = async (answer: Answer, requestId: string, request: AnsweredRequest): Promise<Response> => {
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
  if (isChunks(answer.body)) return streamResponse(answer.body, answer, { ...headers, Vary: vary }, request)
  const length = typeof answer.body === 'string' ? Buffer.byteLength(answer.body) : answer.body.length
  if (length < minCompressibleBytes) return writeResponse(answer.body, length, answer.status, headers)
  headers['Vary'] = vary
  if (!acceptsValue(request.acceptEncoding, 'gzip')) return writeResponse(answer.body, length, answer.status, headers)
  const compressed = await compress(answer.body)
  headers['Content-Encoding'] = 'gzip'
  return writeResponse(compressed, compressed.length, answer.status, headers)
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

const writeResponse = (
  body: string | Uint8Array<ArrayBuffer>,
  length: number,
  status: number,
  headers: Record<string, string>,
): Response => {
  headers['Content-Length'] = String(length)
  return new Response(length === 0 ? null : body, { status, headers })
}
