import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { Operation, RawBody } from '../../contract/operation.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { semaphore } from '../concurrency/semaphore.ts'
import { startTimeSlices } from '../concurrency/time-slices.ts'

const inflate = promisify(gunzip)

/** Largest body of an operation that names no limit of its own, in bytes. */
export const defaultBodyLimit = 2 ** 20

/** A Content-Type without parameters; every `+json` type is JSON. */
const mediaTypeOf = (contentType: string | null): string => {
  const type = contentType?.split(';')[0]?.trim().toLowerCase() ?? ''
  return type.endsWith('+json') ? 'application/json' : type
}

/** More is under way than the process can do. */
export const busy = refused('unavailable', 'The service is busy; send the request again later')

const tooLarge = (limit: number) => refused('body_too_large', `Send a body of at most ${limit} bytes`)

/** Whose body is read. `hasRoom` tells whether there is room for a body of so many bytes; `onArrival` is called after its last byte came. */
export type BodyReader = {
  readonly account: string
  readonly hasCapacity: (bytes: number) => boolean
  readonly onArrival?: () => void
}

/** Chunks that may be of any size; those of a body with more have so many bytes on average, for each costs some microseconds. */
const uncheckedChunks = 1_024
const minChunkBytes = 32
/** Chunks that are taken between two looks at the clock. */
const chunksPerSlice = 64

/** Tell whether a body has too many tiny chunks: `count` before the last one, and `length` bytes with it. */
export const areChunksTooSmall = (count: number, length: number): boolean =>
  count >= uncheckedChunks && length < count * minChunkBytes

const chunksTooSmall = refused(
  'body_invalid',
  `Send the body in larger chunks: more than ${uncheckedChunks} need at least ${minChunkBytes} bytes each on average`,
)

/** Read a body in its chunks, stopping at the limit, where there is no room for more, and at very many tiny chunks. */
export const readWithinLimit = async (
  stream: ReadableStream<Uint8Array>,
  limit: number,
  { account, hasCapacity }: BodyReader,
): Promise<Result<Uint8Array>> => {
  const chunks: Uint8Array[] = []
  const slices = startTimeSlices(account)
  let length = 0
  for await (const chunk of stream) {
    length += chunk.length
    if (areChunksTooSmall(chunks.length, length)) return chunksTooSmall
    // Chunks that have come are given one after the other in one turn of the event loop, as many as there are.
    if (chunks.length % chunksPerSlice === 0 && slices.isOver()) await slices.pause()
    if (length > limit) return tooLarge(limit)
    if (!hasCapacity(length)) return busy
    chunks.push(chunk)
  }
  return accepted(Buffer.concat(chunks, length))
}

const readBytes = async (request: Request, limit: number, reader: BodyReader): Promise<Result<Uint8Array>> => {
  const announced = request.headers.get('content-length')
  if (announced !== null)
    return Number(announced) <= limit ? accepted(new Uint8Array(await request.arrayBuffer())) : tooLarge(limit)
  return request.body === null ? accepted(new Uint8Array()) : readWithinLimit(request.body, limit, reader)
}

/** Bodies that are inflated at once: one for each thread that the engine has for it, so that many bombs take no more memory than a few. */
const maxConcurrentInflations = 4

const withInflationPermit = semaphore(maxConcurrentInflations)

/** Inflate, stopping at the limit, so that a small body cannot fill the memory. */
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

/** Refuse a charset other than UTF-8: bytes that are read as another one say something else. */
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
 * Read the body of a request whole, inflated, within the operation's limit.
 * An empty body needs no Content-Type. Refuses other media types and codings, bodies whose compressed or inflated size is above the limit,
 * and those that `hasRoom` has no room for.
 */
export const readRequestBody = async (
  request: Request,
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
