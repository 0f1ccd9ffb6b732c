import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readdir, rename, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { TableFormat } from '../../domain/table-format.ts'
import { createFolder } from '../../platform/create-folder.ts'

/** Claim of an export, which is part of the name of its file: two processes never write the same file. */
export type ExportClaim = { readonly id: string; readonly claim: string; readonly format: TableFormat }

/** Files of exports. A file that is being written ends with `.part`. */
export type ExportFolder = {
  readonly path: string
  readonly partOf: (file: ExportClaim) => string
  readonly fileOf: (file: ExportClaim) => string
  /** Rename a complete part to its final name. Its bytes are on the disk then. */
  readonly complete: (file: ExportClaim) => Promise<void>
  /** Delete all files whose claim is not known. `known` receives the claims of all files. */
  readonly sweep: (known: (claims: readonly string[]) => Promise<ReadonlySet<string>>) => Promise<void>
  readonly freeBytes: () => Promise<number>
}

/** Names are `<export id>.<claim>.<format>`, with `.part` and other endings for files that are being written. */
const namePattern = /^exp_[0-9a-f]{24}\.([0-9a-f-]{36})\./

/** Open a folder of exports, which is created if missing. */
export const openExportFolder = (path: string): ExportFolder => {
  createFolder(path, 0o700)
  const fileOf = ({ id, claim, format }: ExportClaim): string => join(path, `${id}.${claim}.${format}`)
  const partOf = (file: ExportClaim): string => `${fileOf(file)}.part`
  return {
    path,
    partOf,
    fileOf,
    complete: async file => {
      const handle = await open(partOf(file), 'r')
      try {
        await handle.sync()
      } finally {
        await handle.close()
      }
      await rename(partOf(file), fileOf(file))
    },
    sweep: async known => {
      const names = (await readdir(path)).flatMap(name => {
        const claim = namePattern.exec(name)?.[1]
        return claim === undefined ? [] : [{ name, claim }]
      })
      if (names.length === 0) return
      const claims = await known(names.map(({ claim }) => claim))
      for (const { name, claim } of names) if (!claims.has(claim)) await rm(join(path, name), { force: true })
    },
    freeBytes: async () => {
      const { bavail, bsize } = await statfs(path)
      return bavail * bsize
    },
  }
}

/** Return the size of a file in bytes; 0 if there is none. */
export const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  )

/** Return the SHA-256 of a file in hexadecimal digits. */
export const sha256Of = async (path: string, signal: AbortSignal): Promise<string> => {
  const hash = createHash('sha256')
  for await (const bytes of createReadStream(path, { highWaterMark: 1_048_576, signal })) hash.update(bytes as Buffer)
  return hash.digest('hex')
}
