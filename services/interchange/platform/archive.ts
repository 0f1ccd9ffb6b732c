import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { Unzip, type UnzipFile, UnzipInflate } from 'fflate'
import { Failure } from '../../platform/failure.ts'

/** Limits of an archive: inflated size in bytes, and ratio of inflated to compressed size. */
export type ArchiveLimits = { readonly bytes: number; readonly ratio: number }

/** Limits of the command line. Below 1 MiB the ratio does not count, as small texts can be very repetitive. */
export const archiveLimits: ArchiveLimits = { bytes: 64 * 2 ** 30, ratio: 200 }
const uncheckedBytes = 2 ** 20

/** Number of bytes that are inflated between two checks of the limits. */
const chunkBytes = 65_536

type Chunks = AsyncIterable<Uint8Array>

const invalid = (message: string, cause?: unknown): Failure => new Failure('file_unreadable', message, { cause })

/** Check the inflated bytes of an archive against the compressed bytes that were read so far. */
const sizeCheck = (limits: ArchiveLimits) => {
  let inflated = 0
  return (more: number, compressed: number): Failure | undefined => {
    inflated += more
    if (inflated > limits.bytes) return invalid(`The archive inflates to more than ${limits.bytes / 2 ** 30} GiB.`)
    if (inflated <= uncheckedBytes || inflated <= compressed * limits.ratio) return undefined
    return invalid(
      `The archive inflates to more than ${limits.ratio} times its size. Send the file without an archive.`,
    )
  }
}

async function* gunzipped(chunks: Chunks, limits: ArchiveLimits): AsyncGenerator<Uint8Array> {
  let compressed = 0
  const counted = async function* () {
    for await (const chunk of chunks) {
      compressed += chunk.length
      yield chunk
    }
  }
  const gunzip = createGunzip({ chunkSize: chunkBytes })
  // The error reaches the reader of `gunzip` too.
  pipeline(counted, gunzip, () => undefined)
  const check = sizeCheck(limits)
  try {
    for await (const chunk of gunzip as AsyncIterable<Uint8Array>) {
      const failure = check(chunk.length, compressed)
      if (failure !== undefined) throw failure
      yield chunk
    }
  } catch (error) {
    throw error instanceof Failure ? error : invalid('The gzip file is damaged or incomplete.', error)
  }
}

/** Streams of the only entry of a zip file. Further entries, encrypted ones and unknown methods are refused. */
async function* unzipped(chunks: Chunks, limits: ArchiveLimits): AsyncGenerator<Uint8Array> {
  let pending: Uint8Array[] = []
  let compressed = 0
  let isFinal = false
  let failure: Failure | undefined
  const check = sizeCheck(limits)
  const names: string[] = []
  const onEntry = (entry: UnzipFile): void => {
    if (entry.name.endsWith('/')) return
    names.push(entry.name)
    if (names.length > 1) failure ??= invalid(`The zip file has several files: ${names.join(' and ')}. Send one.`)
    entry.ondata = (error, bytes, isLast) => {
      // fflate calls again with an error that is thrown here, so the failure waits for the end of the push.
      failure ??= error === null ? check(bytes.length, compressed) : invalid('The zip file is damaged.', error)
      isFinal ||= isLast
      if (failure === undefined) pending.push(bytes)
    }
    entry.start()
  }
  const unzip = new Unzip(onEntry)
  unzip.register(UnzipInflate)
  const push = (bytes: Uint8Array, isLast: boolean): Uint8Array[] => {
    try {
      compressed += bytes.length
      unzip.push(bytes, isLast)
    } catch (error) {
      failure ??= invalid('The zip file is damaged, or uses an unknown method.', error)
    }
    if (failure !== undefined) throw failure
    const taken = pending
    pending = []
    return taken
  }
  for await (const chunk of chunks) {
    // A chunk of 64 KiB could inflate to 64 MiB at once, before a check.
    for (let at = 0; at < chunk.length; at += 1024) yield* push(chunk.subarray(at, at + 1024), false)
  }
  yield* push(new Uint8Array(0), true)
  if (names.length === 0) throw invalid('The zip file has no file.')
  if (!isFinal) throw invalid('The zip file is incomplete.')
}

/** Stream whose first bytes are known. An empty stream has no first bytes. */
export type PeekedChunks = { readonly first: Uint8Array; readonly all: Chunks; readonly close: () => Promise<void> }

/**
 * Read the first chunks of a stream, until they have `minBytes`. `all` is the whole stream; `close` ends it if `all` is not
 * read.
 */
export const peekChunks = async (chunks: Chunks, minBytes = 1): Promise<PeekedChunks> => {
  const iterator = chunks[Symbol.asyncIterator]()
  const read: Uint8Array[] = []
  let bytes = 0
  while (bytes < minBytes) {
    const next = await iterator.next()
    if (next.done === true) break
    read.push(next.value)
    bytes += next.value.length
  }
  const close = async (): Promise<void> => {
    await iterator.return?.()
  }
  const all = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield* read
      for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value
    } finally {
      await close()
    }
  }
  const [only = new Uint8Array(0)] = read
  return { first: read.length < 2 ? only : Buffer.concat(read), all: all(), close }
}

/** Names of the parts with which the zip file of a workbook begins. */
const workbookPart = /^(?:\[Content_Types\]\.xml|_rels\/|docProps\/|xl\/)/

const startsWith = (first: Uint8Array, ...bytes: readonly number[]): boolean =>
  bytes.every((byte, index) => first[index] === byte)

const isZip = (first: Uint8Array): boolean => startsWith(first, 0x50, 0x4b, 3, 4)

/** Return whether a file is a workbook in .xlsx, by its first bytes. */
export const isWorkbook = (first: Uint8Array): boolean =>
  isZip(first) && workbookPart.test(Buffer.from(first.subarray(30, 60)).toString('latin1'))

/** Number of bytes that show whether a zip file is a workbook. */
const firstBytes = 64

/**
 * Return the content of a file: of the only file in a gzip or zip archive, by its first bytes, or the bytes as they are.
 * A workbook in .xlsx stays unchanged if `keepsWorkbook`, else it is refused. Throws `Failure` `file_unreadable`.
 */
export async function* openArchive(
  chunks: Chunks,
  { keepsWorkbook = false, limits = archiveLimits }: { keepsWorkbook?: boolean; limits?: ArchiveLimits } = {},
): AsyncGenerator<Uint8Array> {
  const { first, all } = await peekChunks(chunks, firstBytes)
  if (startsWith(first, 0xd0, 0xcf, 0x11, 0xe0))
    throw invalid('The file is a workbook in .xls, or with a password. Save it as .xlsx without a password, or as CSV.')
  if (isWorkbook(first)) {
    if (!keepsWorkbook) throw invalid('The file is a workbook in .xlsx. Save its worksheet as CSV.')
    yield* all
  } else if (startsWith(first, 0x1f, 0x8b)) yield* gunzipped(all, limits)
  else if (isZip(first)) yield* unzipped(all, limits)
  else yield* all
}

/** Read a file in chunks. `onBytes` receives the number of bytes of each chunk. */
export async function* readFileChunks(path: string, onBytes: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  await using file = await open(path)
  for await (const chunk of file.createReadStream({ highWaterMark: 2 ** 17, autoClose: false })) {
    onBytes(chunk.length)
    yield chunk
  }
}
