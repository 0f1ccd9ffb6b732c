import { createHash } from 'node:crypto'
import { existsSync, linkSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname } from 'node:path'
import { CommandError } from '../../../command-line/command.ts'

/** Part of a file on the disk. It is removed at the end; the complete file has its own name. */
export type FilePart = AsyncDisposable & {
  /** Append bytes. Resolves when the file has them. */
  readonly append: (bytes: Uint8Array) => Promise<void>
  /** Resolves when the disk has all bytes. */
  readonly sync: () => Promise<void>
  /**
   * Write FILE.manifest.json, and give the synced part the name FILE. There is no FILE before, so after a crash between
   * the two there is no file that the manifest does not describe. Only one of two commands can do it. Rejects with
   * `CommandError` if the file exists or one of the two cannot be written. A manifest without a file is replaced.
   */
  readonly complete: (manifest: object) => Promise<void>
}

const explain = (path: string, error: unknown): CommandError =>
  new CommandError(`${path} cannot be written: ${error instanceof Error ? error.message : String(error)}`)

const explained = <T>(path: string, work: Promise<T>): Promise<T> =>
  work.catch((error: unknown) => {
    throw error instanceof CommandError ? error : explain(path, error)
  })

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : null)

const manifestOf = (path: string): string => `${path}.manifest.json`

const refuseExisting = (path: string): void => {
  if (existsSync(path)) throw new CommandError(`${path} exists. Choose another name for --out, or delete the file.`)
}

/** Part of the name of each part of this computer. A process id says nothing about the processes of others. */
const ownName = hostname()

/** Name of a file until it is complete. Each command has its own, so that no two of them write into one file. */
const partOf = (path: string, pid = process.pid): string => `${path}.${ownName}-${pid}.part`

/** Return whether another process of this computer has the id. */
const isOtherProcess = (pid: number): boolean => {
  if (pid === process.pid) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

/** Process ids of the parts of a file that commands on this computer have begun. */
const partOwners = (path: string): readonly number[] => {
  const prefix = `${basename(path)}.${ownName}-`
  return readdirSync(dirname(path))
    .filter(name => name.startsWith(prefix) && /^[0-9]+\.part$/.test(name.slice(prefix.length)))
    .map(name => Number.parseInt(name.slice(prefix.length), 10))
}

/** Identity of a file that no other file has, also not one of the same name. Null if there is no file. */
const identityOf = (path: string): string | null => {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? null : `${found.ino}-${found.mtimeNs}`
}

const removeIfSame = (path: string, identity: string | null): void => {
  if (identity !== null && identityOf(path) === identity) rmSync(path, { force: true })
}

/**
 * Refuse a file that another command writes, and remove the parts of killed commands. Returns the identity of a manifest
 * without a file, which the complete file replaces.
 */
const claim = (path: string): string | null => {
  const owners = partOwners(path)
  const writer = owners.find(isOtherProcess)
  if (writer !== undefined)
    throw new CommandError(
      `The process ${writer} writes ${path}. Wait for it, or choose another name for --out. If that process is not an export, delete ${partOf(path, writer)}.`,
    )
  // A writer that ended since then has given its file the name.
  refuseExisting(path)
  for (const pid of owners) rmSync(partOf(path, pid), { force: true })
  return identityOf(manifestOf(path))
}

/** Add a name to a file; no other file may have it. A file system without links renames the file. */
const giveName = (from: string, to: string): void => {
  try {
    linkSync(from, to)
  } catch (error) {
    if (codeOf(error) === 'EEXIST' || existsSync(to)) throw error
    renameSync(from, to)
  }
}

/** Names of a file: its own, of its part, and the identity of the manifest that it replaces. */
type Names = { readonly path: string; readonly part: string; readonly replaced: string | null }

const complete = async ({ path, part, replaced }: Names, manifest: object): Promise<void> => {
  const manifestPath = manifestOf(path)
  refuseExisting(path)
  try {
    removeIfSame(manifestPath, replaced)
    writeFileSync(manifestPath, `${JSON.stringify(manifest, null, 2)}\n`, { flag: 'wx', flush: true })
  } catch (error) {
    throw codeOf(error) === 'EEXIST'
      ? new CommandError(`Another command completes ${path}: ${manifestPath} exists. Choose another name for --out.`)
      : explain(manifestPath, error)
  }
  const written = identityOf(manifestPath)
  try {
    giveName(part, path)
  } catch (error) {
    removeIfSame(manifestPath, written)
    refuseExisting(path)
    throw explain(path, error)
  }
  // The names of the two files must survive a power cut too.
  await using folder = await explained(path, open(dirname(path), 'r'))
  await explained(path, folder.sync())
}

/**
 * Create the part of a file. Throws `CommandError` if the file exists, another command writes it, or its folder is not
 * writable. `append` and `sync` reject with `CommandError` if the part cannot be written. The parts of killed commands are
 * removed.
 */
export const openPart = async (path: string): Promise<FilePart> => {
  const part = partOf(path)
  const replaced = await explained(path, (async () => claim(path))())
  const file = await explained(part, open(part, 'wx'))
  return {
    append: bytes => explained(part, file.appendFile(bytes)),
    sync: () => explained(part, file.sync()),
    complete: manifest => complete({ path, part, replaced }, manifest),
    [Symbol.asyncDispose]: async () => {
      await file.close()
      rmSync(part, { force: true })
    },
  }
}

/** Size and SHA-256 of a written file. */
export type WrittenFile = { readonly bytes: number; readonly sha256: string }

/**
 * Write texts to FILE and their manifest to FILE.manifest.json. FILE has its name when it is complete. An error leaves no
 * file. `manifestFor`: content of the manifest, called after the last text; null leaves no file. Throws `CommandError` if
 * FILE exists or cannot be written.
 */
export const writeExportFile = async (
  path: string,
  texts: AsyncIterable<string>,
  manifestFor: (written: WrittenFile) => object | null,
): Promise<WrittenFile> => {
  await using part = await openPart(path)
  const hash = createHash('sha256')
  let bytes = 0
  for await (const text of texts) {
    const chunk = Buffer.from(text)
    hash.update(chunk)
    bytes += chunk.length
    await part.append(chunk)
  }
  await part.sync()
  const written = { bytes, sha256: hash.digest('hex') }
  const manifest = manifestFor(written)
  if (manifest !== null) await part.complete(manifest)
  return written
}
