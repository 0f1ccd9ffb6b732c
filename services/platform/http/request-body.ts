import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { Operation, RawBody } from '../../contract/operation.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { semaphore } from '../concurrency/semaphore.ts'
import { nextSlice, startTimeSlices } from '../concurrency/time-slices.ts'

const inflate = promisify(gunzip)

/** Headers of a request. All names are in lower case. */
export type RequestHeaders = Pick<Headers, 'get' | 'has'>

/** Parts of a request that the operations depend on. */
export type ReceivedRequest = Pick<Request, 'method' | 'url' | 'body' | 'arrayBuffer'> & {
  readonly headers: RequestHeaders
  /** Aborted if the client disconnects. Undefined if no operation of the path needs it. */
  readonly signal?: AbortSignal
  /** Return the body without a wait if the whole body has arrived, otherwise null. */
  readonly arrivedBody?: () => Uint8Array | null
}

/** Default max body size of an operation, in bytes. */
export const defaultBodyLimit = 2 ** 20

/** A longer body is read in several turns of the event loop. A shorter body is read in a few ms. */
const shortBodyBytes = 2 ** 16

/** Let other work run before the next step with a long body: parse, validate, or perform the operation. */
export const nextTurnFor = async ({ bytes }: RawBody, account: string): Promise<void> => {
  if (bytes.length > shortBodyBytes) await nextSlice(account)
}

/** Return a Content-Type without parameters. Each `+json` type is JSON. */
const mediaTypeOf = (contentType: string | null): string => {
  const type = contentType?.split(';')[0]?.trim().toLowerCase() ?? ''
  return type.endsWith('+json') ? 'application/json' : type
}

/** Refusal of a process that is at capacity. */
export const busy = refused('unavailable', 'The service is busy; send the request again later')

const tooLarge = (limit: number) => refused('body_too_large', `Send a body of at most ${limit} bytes`)

/**
 * `hasCapacity` returns whether the process has capacity for this many bytes.
 * `onArrival` is called after the last byte.
 */
export type BodyReader = {
  readonly account: string
  readonly hasCapacity: (bytes: number) => boolean
  readonly onArrival?: () => void
}

/**
 * Number of chunks without a min size.
 * A body with more chunks needs `minChunkBytes` on average, as each chunk costs microseconds.
 */
const uncheckedChunks = 1_024
const minChunkBytes = 32
/** Chunks between two checks of the clock. */
const chunksPerSlice = 64
/** The clock is checked before each chunk of at least this size, because megabytes of them take tens of ms. */
const largeChunkBytes = 16_384

/** Return whether a body has too many tiny chunks. `count` excludes the last chunk, `length` includes its bytes. */
export const areChunksTooSmall = (count: number, length: number): boolean =>
  count >= uncheckedChunks && length < count * minChunkBytes

const chunksTooSmall = refused(
  'body_invalid',
  `Send the body in larger chunks: more than ${uncheckedChunks} need at least ${minChunkBytes} bytes each on average`,
)

/**
 * Read a body in chunks. `expectedBytes` is its length if the client has announced it, else 0.
 * Stops at the size limit, without capacity, and after too many tiny chunks.
 */
export const readWithinLimit = async (
  stream: ReadableStream<Uint8Array>,
  limit: number,
  { account, hasCapacity }: BodyReader,
  expectedBytes = 0,
): Promise<Result<Uint8Array>> => {
  const slices = startTimeSlices(account)
  let bytes: Uint8Array = new Uint8Array(expectedBytes)
  let [chunks, length] = [0, 0]
  for await (const chunk of stream) {
    const start = length
    length += chunk.length
    if (areChunksTooSmall(chunks, length)) return chunksTooSmall
    // The stream gives all chunks that have arrived in one turn of the event loop.
    const isChecked = chunks % chunksPerSlice === 0 || chunk.length >= largeChunkBytes
    if (isChecked && slices.isOver()) await slices.pause()
    if (length > limit) return tooLarge(limit)
    if (!hasCapacity(length)) return busy
    if (length > bytes.length) bytes = enlarged(bytes, start, length)
    bytes.set(chunk, start)
    chunks += 1
  }
  return accepted(bytes.subarray(0, length))
}

/** Return an array of at least twice the length, that begins with the first `length` bytes of another one. */
const enlarged = (bytes: Uint8Array, length: number, needed: number): Uint8Array => {
  const larger = new Uint8Array(Math.max(needed, 2 * bytes.length))
  larger.set(bytes.subarray(0, length))
  return larger
}

/** A longer body is read in chunks, because `arrayBuffer` copies all bytes in one turn of the event loop. */
const maxBytesAtOnce = 2 ** 20

const readBytes = async (request: ReceivedRequest, limit: number, reader: BodyReader): Promise<Result<Uint8Array>> => {
  const announced = request.headers.get('content-length')
  if (announced !== null && Number(announced) > limit) return tooLarge(limit)
  if (announced !== null && Number(announced) <= maxBytesAtOnce)
    return accepted(request.arrivedBody?.() ?? new Uint8Array(await request.arrayBuffer()))
  return request.body === null
    ? accepted(new Uint8Array())
    : readWithinLimit(request.body, limit, reader, Number(announced ?? 0))
}

/** Max concurrent inflations: one for each thread of Node's pool. Many gzip bombs so need no more memory than four. */
const maxConcurrentInflations = 4

const withInflationPermit = semaphore(maxConcurrentInflations)

/** Inflate a body up to the limit, so that a small body cannot exhaust the memory. */
const inflateBytes = async (bytes: Uint8Array, limit: number): Promise<Result<Uint8Array>> => {
  try {
    return accepted(await withInflationPermit(() => inflate(bytes, { maxOutputLength: limit })))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (code === 'ERR_BUFFER_TOO_LARGE') return tooLarge(limit)
    if (code.startsWith('Z_')) return refused('body_invalid', 'The body is not valid gzip; send it again, whole')
    throw error
  }
}

/** Refuse a charset other than UTF-8. */
const charsetRefusal = (contentType: string | null): Result<never> | null => {
  for (const parameter of contentType?.split(';').slice(1) ?? []) {
    const [name = '', value = ''] = parameter.split('=', 2).map(part => part.trim().toLowerCase())
    const isUtf8 = ['utf-8', 'utf8', '"utf-8"', '"utf8"'].includes(value)
    if (name === 'charset' && !isUtf8)
      return refused(
        'media_type_unsupported',
        'Send the body in UTF-8, and set the charset of Content-Type to utf-8, or leave it out',
      )
  }
  return null
}

const mediaTypeRefusal = (operation: Operation, mediaType: string): Result<never> | null => {
  const acceptedTypes = ['application/json', ...(operation.mediaTypes ?? [])]
  if (operation.anyMediaType === true || acceptedTypes.includes(mediaType)) return null
  return refused('media_type_unsupported', `Set Content-Type to ${acceptedTypes.join(' or ')}`)
}

/**
 * Read and inflate the body of a request. An empty body needs no Content-Type.
 * Refuses other media types and codings, a compressed or inflated size above the limit, and a body without capacity.
 */
export const readRequestBody = async (
  request: ReceivedRequest,
  operation: Operation,
  reader: BodyReader,
): Promise<Result<RawBody>> => {
  const limit = operation.bodyLimit ?? defaultBodyLimit
  const mediaType = mediaTypeOf(request.headers.get('content-type'))
  const coding = request.headers.get('content-encoding')?.trim().toLowerCase() ?? 'identity'
  if (coding !== 'identity' && coding !== 'gzip')
    return refused('media_type_unsupported', 'Set Content-Encoding to gzip, or leave it out')
  const mayBeEmpty = mediaType === ''
  const wrongCharset = operation.anyMediaType === true ? null : charsetRefusal(request.headers.get('content-type'))
  const wrongType = wrongCharset ?? (mayBeEmpty ? null : mediaTypeRefusal(operation, mediaType))
  if (wrongType !== null) return wrongType
  const read = await readBytes(request, limit, reader)
  reader.onArrival?.()
  if (!read.ok) return read
  const bytes = read.value
  if (mayBeEmpty && bytes.length > 0) return mediaTypeRefusal(operation, mediaType) ?? accepted({ bytes, mediaType })
  const inflated = coding === 'identity' || bytes.length === 0 ? read : await inflateBytes(bytes, limit)
  if (!inflated.ok) return inflated
  return reader.hasCapacity(inflated.value.length) ? accepted({ bytes: inflated.value, mediaType }) : busy
}
