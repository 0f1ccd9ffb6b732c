import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { type FileHandle, open, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { createFolder } from '../../platform/create-folder.ts'
import { Failure } from '../../platform/failure.ts'

/** Limits of a stream. Source: docs/rules/export.md #limits. */
const limits = { idleMs: 60_000, maxBytes: 20 * 2 ** 30, minFreeBytes: 512 * 2 ** 20 } as const
/** Shortest and longest pause in ms before the next look for new bytes of the file. */
const pauseMs = { min: 5, max: 100 } as const
const chunkBytes = 256 * 1_024
/** Bytes after which the free space is checked again. */
const spaceCheckBytes = 64 * 2 ** 20

/** Writes a file of the engine. Aborting the signal ends it. */
export type WriteTable = (path: string, signal: AbortSignal) => Promise<void>

export type TableChunks = AsyncIterableIterator<Uint8Array<ArrayBuffer>>

/** Streams of tables of a process. */
export type TableStreams = {
  /**
   * Return the bytes of a table while the engine writes it. The first bytes exist when the promise resolves. The engine
   * ends after the last byte, after a failure, or when the reader stops. An account has one stream at a time.
   */
  readonly open: (accountId: string, write: WriteTable, signal: AbortSignal) => Promise<Result<TableChunks>>
}

/** A file that the engine writes. `result` is null while it writes. */
type GrowingFile = { readonly path: string; result: { readonly failure: unknown } | null }

const openWhenCreated = async (file: GrowingFile): Promise<FileHandle | null> => {
  for (let wait: number = pauseMs.min; ; wait = Math.min(wait * 2, pauseMs.max)) {
    const isOver = file.result !== null
    const handle = await open(file.path, 'r').catch(error => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      return null
    })
    if (handle !== null || isOver) return handle
    await sleep(wait)
  }
}

const throwFailure = ({ result }: GrowingFile): void => {
  if (result !== null && result.failure !== null) throw result.failure
}

const checkSpace = async (folder: string, bytes: number): Promise<void> => {
  const { bavail, bsize } = await statfs(folder)
  if (bytes > limits.maxBytes || bavail * bsize < limits.minFreeBytes)
    throw new Failure('export_too_large', 'The table does not fit on the disk.')
}

/** Read the bytes of a file until its writer has ended. The name of the file is removed at once. */
async function* readGrowing(folder: string, file: GrowingFile): AsyncGenerator<Uint8Array<ArrayBuffer>, undefined> {
  const handle = await openWhenCreated(file)
  throwFailure(file)
  if (handle === null) return undefined
  try {
    await rm(file.path, { force: true })
    let position = 0
    let checkAt = 0
    let wait: number = pauseMs.min
    for (let idleSince = performance.now(); ; ) {
      const isOver = file.result !== null
      throwFailure(file)
      const { bytesRead, buffer } = await handle.read(new Uint8Array(chunkBytes), 0, chunkBytes, position)
      if (bytesRead > 0) {
        position += bytesRead
        if (position >= checkAt) {
          await checkSpace(folder, (await handle.stat()).size)
          checkAt = position + spaceCheckBytes
        }
        wait = pauseMs.min
        yield buffer.subarray(0, bytesRead)
        idleSince = performance.now()
        continue
      }
      if (isOver) return undefined
      if (position > 0 && performance.now() - idleSince > limits.idleMs)
        throw new Failure('export_idle', 'The engine wrote nothing for 60 s.')
      await sleep(wait)
      wait = Math.min(wait * 2, pauseMs.max)
    }
  } finally {
    await handle.close()
  }
}

/** Put a step that was read already before the others. */
const withFirst = (
  first: IteratorResult<Uint8Array<ArrayBuffer>, undefined>,
  rest: AsyncGenerator<Uint8Array<ArrayBuffer>, undefined>,
  end: () => Promise<void>,
): TableChunks => {
  let pending: typeof first | null = first
  const chunks: TableChunks = {
    [Symbol.asyncIterator]: () => chunks,
    next: async () => {
      try {
        const step = pending ?? (await rest.next())
        pending = null
        if (step.done === true) await end()
        return step
      } catch (error) {
        await end()
        throw error
      }
    },
    return: async () => {
      await end()
      await rest.return(undefined)
      return { done: true, value: undefined }
    },
  }
  return chunks
}

const streamRunning = refused('too_many_exports', 'The account has a running stream of a table. Wait until it ends')

/**
 * Create the streams of a process. The engine writes a table at full speed into a file without a name. The
 * reader follows at its own pace, so a slow reader does not occupy the engine.
 */
const streamsIn = (folder: string): TableStreams => {
  const accounts = new Set<string>()
  return {
    open: async (accountId, write, signal) => {
      if (accounts.has(accountId)) return streamRunning
      accounts.add(accountId)
      const file: GrowingFile = { path: join(folder, `${randomUUID()}.part`), result: null }
      const stopping = new AbortController()
      const stop = (): void => stopping.abort()
      signal.addEventListener('abort', stop, { once: true })
      const writing = write(file.path, stopping.signal).then(
        () => {
          file.result = { failure: null }
        },
        (failure: unknown) => {
          file.result = { failure }
        },
      )
      const end = async (): Promise<void> => {
        signal.removeEventListener('abort', stop)
        stop()
        await writing
        await rm(file.path, { force: true })
        accounts.delete(accountId)
      }
      const bytes = readGrowing(folder, file)
      try {
        const first = await bytes.next()
        signal.removeEventListener('abort', stop)
        return accepted(withFirst(first, bytes, end))
      } catch (error) {
        await end()
        throw error
      }
    },
  }
}

/**
 * Open the streams of a process in a folder of their own. `parent`: the data folder if this process owns it, so that
 * files of a killed process are removed at the next start; null uses the folder for temporary files.
 */
export const openTableStreams = (parent: string | null, opening: AsyncDisposableStack): TableStreams => {
  const folder =
    parent === null ? mkdtempSync(join(tmpdir(), 'wattledger-streams-')) : join(parent, 'exports', 'streams')
  if (parent !== null) rmSync(folder, { recursive: true, force: true })
  createFolder(folder, 0o700)
  opening.defer(() => rmSync(folder, { recursive: true, force: true }))
  return streamsIn(folder)
}
