import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { Operation, RawBody } from '../../contract/operation.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { turns } from './turns.ts'

const inflate = promisify(gunzip)

/** Largest body of an operation that names no limit of its own, in bytes. */
export const defaultBodyLimit = 2 ** 20

/** A Content-Type without parameters; every `+json` type is JSON. */
const mediaTypeOf = (contentType: string | null): string => {
  const type = contentType?.split(';')[0]?.trim().toLowerCase() ?? ''
  return type.endsWith('+json') ? 'application/json' : type
}

const tooLarge = (limit: number) => refused('body_too_large', `Send a body of at most ${limit} bytes`)

/** Read a body whose length was not announced, stopping at the limit. */
const readCounted = async (stream: ReadableStream<Uint8Array>, limit: number): Promise<Uint8Array | undefined> => {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of stream) {
    length += chunk.length
    if (length > limit) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length)
}

const readBytes = async (request: Request, limit: number): Promise<Uint8Array | undefined> => {
  const announced = request.headers.get('content-length')
  if (announced !== null) return Number(announced) <= limit ? new Uint8Array(await request.arrayBuffer()) : undefined
  return request.body === null ? new Uint8Array() : readCounted(request.body, limit)
}

/** Bodies that are inflated at once: one for each thread that the engine has for it, so that many bombs take no more memory than a few. */
const inflatedAtOnce = 4

const inTurn = turns(inflatedAtOnce)

/** Inflate, stopping at the limit, so that a small body cannot fill the memory. */
const inflateBytes = async (bytes: Uint8Array, limit: number): Promise<Result<Uint8Array>> => {
  try {
    return accepted(await inTurn(() => inflate(bytes, { maxOutputLength: limit })))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (code === 'ERR_BUFFER_TOO_LARGE') return tooLarge(limit)
    if (code.startsWith('Z_')) return refused('body_invalid', 'The body is not valid gzip; send it again, whole')
    throw error
  }
}

const mediaTypeRefusal = (operation: Operation, mediaType: string): Result<never> | null => {
  const taken = ['application/json', ...(operation.mediaTypes ?? [])]
  if (operation.anyMediaType === true || taken.includes(mediaType)) return null
  return refused('media_type_unsupported', `Set Content-Type to ${taken.join(' or ')}`)
}

/**
 * Read the body of a request whole, inflated, within the operation's limit.
 * An empty body needs no Content-Type. Refuses other media types and codings, and bodies whose compressed or inflated size is above the limit.
 */
export const readRequestBody = async (request: Request, operation: Operation): Promise<Result<RawBody>> => {
  const limit = operation.bodyLimit ?? defaultBodyLimit
  const mediaType = mediaTypeOf(request.headers.get('content-type'))
  const coding = request.headers.get('content-encoding')?.trim().toLowerCase() ?? 'identity'
  if (coding !== 'identity' && coding !== 'gzip') return refused('media_type_unsupported', 'Set Content-Encoding to gzip, or leave it out')
  const mayBeEmpty = mediaType === ''
  const wrongType = mayBeEmpty ? null : mediaTypeRefusal(operation, mediaType)
  if (wrongType !== null) return wrongType
  const bytes = await readBytes(request, limit)
  if (bytes === undefined) return tooLarge(limit)
  if (mayBeEmpty && bytes.length > 0) return mediaTypeRefusal(operation, mediaType) ?? accepted({ bytes, mediaType })
  if (coding === 'identity' || bytes.length === 0) return accepted({ bytes, mediaType })
  const inflated = await inflateBytes(bytes, limit)
  return inflated.ok ? accepted({ bytes: inflated.value, mediaType }) : inflated
}
