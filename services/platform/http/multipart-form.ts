import { Busboy } from '@fastify/busboy'
import { startTimeSlices } from '../concurrency/time-slices.ts'

/** File of a form; `size` in bytes. */
export type UploadedFile = { readonly name: string; readonly size: number; readonly chunks: readonly Uint8Array[] }

/** Parts of a form, in the order of the body. A part with a file name is a file. */
export type MultipartForm = {
  readonly fields: readonly (readonly [name: string, text: string])[]
  readonly files: readonly (readonly [name: string, file: UploadedFile])[]
}

/** Limits of the parts of a form. No page of the service sends a form beyond them. */
const limits = { parts: 256, fieldSize: 65_536, headerPairs: 16, headerSize: 4_096 }

/** Boundary of a media type, of at most 70 characters. Source: RFC 2046, section 5.1.1. */
const boundary = /;\s*boundary=(?:"[^"]{1,70}"|[^\s";]{1,70})\s*(?:;|$)/i

/** Bytes that are parsed between two checks of the time slice. */
const chunkBytes = 65_536

type FormParser = {
  readonly parser: InstanceType<typeof Busboy>
  readonly form: MultipartForm
  /** Resolves to false when the body turns out to be no form, or when the form is beyond a limit. */
  readonly refused: Promise<false>
}

const openParser = (mediaType: string): FormParser => {
  const parser = new Busboy({ headers: { 'content-type': mediaType }, limits, preservePath: true })
  const fields: [string, string][] = []
  const files: [string, UploadedFile][] = []
  const { promise: refused, resolve } = Promise.withResolvers<false>()
  const refuse = (): void => resolve(false)
  parser.on('error', refuse)
  parser.on('partsLimit', refuse)
  parser.on('field', (name, text, _, isCut) => {
    fields.push([name, text])
    if (isCut) refuse()
  })
  parser.on('file', (name, stream, fileName) => {
    const chunks: Uint8Array[] = []
    let size = 0
    stream.on('data', (chunk: Uint8Array) => {
      chunks.push(chunk)
      size += chunk.length
    })
    stream.on('error', refuse)
    stream.on('end', () => files.push([name, { name: fileName, size, chunks }]))
  })
  return { parser, form: { fields, files }, refused }
}

/**
 * Read a form of the media type `multipart/form-data` in slices of the account. Returns null if the body does not follow
 * its media type, or if the form has more than 256 parts or too long headers or texts.
 */
export const readMultipartForm = async (
  bytes: Uint8Array,
  mediaType: string,
  account: string,
): Promise<MultipartForm | null> => {
  if (!boundary.test(mediaType)) return null
  const { parser, form, refused } = openParser(mediaType)
  const slices = startTimeSlices(account)
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    const chunk = bytes.subarray(start, start + chunkBytes)
    const written = new Promise<true>(resolve => parser.write(chunk, () => resolve(true)))
    if (!(await Promise.race([refused, written]))) return null
    if (slices.isOver()) await slices.pause()
  }
  const finished = new Promise<true>(resolve => parser.once('finish', () => resolve(true)))
  parser.end()
  return (await Promise.race([refused, finished])) ? form : null
}
