import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Failure } from '../../failure.ts'

/**
 * Hold a folder for this process alone until the returned function is called or the process ends, however it ends.
 * The folder is made if it is missing. Throws `folder_taken` (not retriable) where another holder lives.
 */
export const lockFolder = (folder: string): (() => void) => {
  mkdirSync(folder, { recursive: true })
  // Node has no file locks. SQLite's exclusive lock is one of the kernel: it needs no clean-up and is seen from other containers.
  const holder = new DatabaseSync(join(folder, 'in-use.lock'), { timeout: 0 })
  try {
    holder.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (cause) {
    holder.close()
    throw new Failure('folder_taken', `${folder} is in use by another process; stop it, or choose another folder`, {
      retriable: false,
      cause,
    })
  }
  return () => {
    if (holder.isOpen) holder.close()
  }
}
