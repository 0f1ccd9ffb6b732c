import { createHash } from 'node:crypto'
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { CommandError } from '../command.ts'

/** Size and SHA-256 of a written file. */
export type WrittenFile = { readonly bytes: number; readonly sha256: string }

const openPart = (path: string): number => {
  try {
    return openSync(path, 'w')
  } catch (error) {
    throw new CommandError(`${path} is not writable: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/**
 * Write texts to FILE.part, and rename it to FILE at the end. An error removes FILE.part and leaves FILE as it is.
 * Throws `CommandError` if the folder is not writable.
 */
export const writeExportFile = async (path: string, texts: AsyncIterable<string>): Promise<WrittenFile> => {
  const part = `${path}.part`
  const file = openPart(part)
  const hash = createHash('sha256')
  let bytes = 0
  let isOpen = true
  try {
    for await (const text of texts) {
      const chunk = Buffer.from(text)
      hash.update(chunk)
      bytes += chunk.length
      for (let written = 0; written < chunk.length; ) written += writeSync(file, chunk, written)
    }
    fsyncSync(file)
    closeSync(file)
    isOpen = false
    renameSync(part, path)
  } catch (error) {
    if (isOpen) closeSync(file)
    rmSync(part, { force: true })
    throw error
  }
  return { bytes, sha256: hash.digest('hex') }
}
