import { pipeline, Readable } from 'node:stream'
import { createInflateRaw } from 'node:zlib'
import { Failure } from '../../failure.ts'

/** Part of a zip file: its compressed bytes. `method` 0 is stored, 8 is deflated. */
type ZipPart = { readonly method: number; readonly bytes: Uint8Array }

/** Parts of a zip file by name. */
export type ZipParts = ReadonlyMap<string, ZipPart>

/** Limits of a part: inflated size in bytes, and ratio of inflated to compressed size above 1 MiB. */
export type PartLimits = { readonly bytes: number; readonly ratio: number }

const uncheckedBytes = 2 ** 20
const maxParts = 10_000
const chunkBytes = 65_536

const [endSignature, partSignature, headerSignature] = [0x06054b50, 0x02014b50, 0x04034b50]
const [endBytes, maxCommentBytes, partBytes, headerBytes] = [22, 65_535, 46, 30]

const damaged = (cause?: unknown): Failure =>
  new Failure('file_unreadable', 'The workbook is damaged or incomplete. Save it again as .xlsx.', { cause })

const findEnd = (view: DataView): number => {
  const first = Math.max(0, view.byteLength - endBytes - maxCommentBytes)
  for (let at = view.byteLength - endBytes; at >= first; at -= 1)
    if (view.getUint32(at, true) === endSignature) return at
  throw damaged()
}

/** Read the directory at the end of a zip file. Throws `Failure` `file_unreadable` for damaged and encrypted files. */
export const readZipParts = (file: Uint8Array): ZipParts => {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength)
  const parts = new Map<string, ZipPart>()
  try {
    const end = findEnd(view)
    const count = view.getUint16(end + 10, true)
    let at = view.getUint32(end + 16, true)
    if (count > maxParts) throw damaged()
    for (let index = 0; index < count; index += 1) {
      if (view.getUint32(at, true) !== partSignature) throw damaged()
      const [flags, method] = [view.getUint16(at + 8, true), view.getUint16(at + 10, true)]
      const [size, header] = [view.getUint32(at + 20, true), view.getUint32(at + 42, true)]
      const nameBytes = view.getUint16(at + 28, true)
      const name = Buffer.from(file.subarray(at + partBytes, at + partBytes + nameBytes)).toString('utf8')
      if ((flags & 1) !== 0 || (method !== 0 && method !== 8) || view.getUint32(header, true) !== headerSignature)
        throw damaged()
      const start = header + headerBytes + view.getUint16(header + 26, true) + view.getUint16(header + 28, true)
      if (start + size > file.byteLength) throw damaged()
      parts.set(name, { method, bytes: file.subarray(start, start + size) })
      at += partBytes + nameBytes + view.getUint16(at + 30, true) + view.getUint16(at + 32, true)
    }
  } catch (error) {
    throw error instanceof RangeError ? damaged(error) : error
  }
  return parts
}

/** Inflate a part in chunks. Throws `Failure` `file_unreadable` for damaged bytes, and above the limits. */
export async function* inflatePart({ method, bytes }: ZipPart, limits: PartLimits): AsyncGenerator<Uint8Array> {
  const slices = function* () {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
  }
  const max = Math.min(limits.bytes, Math.max(uncheckedBytes, bytes.length * limits.ratio))
  let inflated = 0
  const source = Readable.from(slices())
  const chunks = method === 0 ? source : createInflateRaw({ chunkSize: chunkBytes })
  // The error reaches the reader of `chunks` too.
  if (chunks !== source) pipeline(source, chunks as ReturnType<typeof createInflateRaw>, () => undefined)
  try {
    for await (const chunk of chunks as AsyncIterable<Uint8Array>) {
      inflated += chunk.length
      if (inflated > max)
        throw new Failure(
          'file_unreadable',
          `A part of the workbook inflates to more than ${limits.ratio} times its size, or ${limits.bytes / 2 ** 20} MiB. Save the worksheet as CSV.`,
        )
      yield chunk
    }
  } catch (error) {
    throw error instanceof Failure ? error : damaged(error)
  }
}
