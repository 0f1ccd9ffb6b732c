import { pipeline, Readable } from 'node:stream'
import { createInflateRaw } from 'node:zlib'
import { Failure } from '../../../platform/failure.ts'

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
const [wideLocatorSignature, wideEndSignature] = [0x07064b50, 0x06064b50]
const [endBytes, maxCommentBytes, partBytes, headerBytes, wideLocatorBytes] = [22, 65_535, 46, 30, 20]
/** Extra field with the numbers of zip64, and the number of 4 bytes that says that it has the value. */
const [wideField, isWide] = [1, 0xffff_ffff]

const damaged = (cause?: unknown): Failure =>
  new Failure('file_unreadable', 'The workbook is damaged or incomplete. Save it again as .xlsx.', { cause })

const findEnd = (view: DataView): number => {
  const first = Math.max(0, view.byteLength - endBytes - maxCommentBytes)
  for (let at = view.byteLength - endBytes; at >= first; at -= 1)
    if (view.getUint32(at, true) === endSignature) return at
  throw damaged()
}

const readWide = (view: DataView, at: number): number => Number(view.getBigUint64(at, true))

/** Find the directory: the number of its entries and its place. A zip64 file has both before its end. */
const findDirectory = (view: DataView): { readonly count: number; readonly start: number } => {
  const end = findEnd(view)
  const locator = end - wideLocatorBytes
  if (locator < 0 || view.getUint32(locator, true) !== wideLocatorSignature)
    return { count: view.getUint16(end + 10, true), start: view.getUint32(end + 16, true) }
  const wideEnd = readWide(view, locator + 8)
  if (view.getUint32(wideEnd, true) !== wideEndSignature) throw damaged()
  return { count: readWide(view, wideEnd + 32), start: readWide(view, wideEnd + 48) }
}

/** Return the compressed size and the place of an entry of the directory. Those of zip64 are in its extra field. */
const placeOf = (view: DataView, at: number): { readonly size: number; readonly header: number } => {
  const [size, header] = [view.getUint32(at + 20, true), view.getUint32(at + 42, true)]
  if (size !== isWide && header !== isWide) return { size, header }
  let field = at + partBytes + view.getUint16(at + 28, true)
  const end = field + view.getUint16(at + 30, true)
  while (field < end && view.getUint16(field, true) !== wideField) field += 4 + view.getUint16(field + 2, true)
  if (field >= end) throw damaged()
  // The field has only the numbers that do not fit elsewhere, in this order.
  let next = field + 4 + (view.getUint32(at + 24, true) === isWide ? 8 : 0)
  const take = (): number => {
    next += 8
    return readWide(view, next - 8)
  }
  return { size: size === isWide ? take() : size, header: header === isWide ? take() : header }
}

/** Read the directory of a zip file or zip64 file. Throws `Failure` `file_unreadable` for damaged and encrypted files. */
export const readZipParts = (file: Uint8Array): ZipParts => {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength)
  const parts = new Map<string, ZipPart>()
  try {
    const { count, start: directory } = findDirectory(view)
    let at = directory
    if (count > maxParts) throw damaged()
    for (let index = 0; index < count; index += 1) {
      if (view.getUint32(at, true) !== partSignature) throw damaged()
      const [flags, method] = [view.getUint16(at + 8, true), view.getUint16(at + 10, true)]
      const { size, header } = placeOf(view, at)
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
