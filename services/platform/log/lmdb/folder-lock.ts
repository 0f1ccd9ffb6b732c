import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createFolder } from '../../create-folder.ts'
import { Failure } from '../../failure.ts'

/**
 * Lock a folder for this process. The lock lasts until the returned function is called or the process ends. Creates the
 * folder if it is missing. Throws `folder_taken` (not retriable) if another process has the lock.
 */
export const lockFolder = (folder: string): (() => void) => {
  createFolder(folder)
  // Node has no file locks. SQLite uses a lock of the kernel: it needs no clean-up and other containers see it.
  const holder = new DatabaseSync(join(folder, 'in-use.lock'), { timeout: 0 })
  try {
    holder.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (cause) {
    holder.close()
    throw new Failure(
      'folder_taken',
      `${folder} is in use by another process. Stop that process or choose another folder.`,
      { cause },
    )
  }
  return () => {
    if (holder.isOpen) holder.close()
  }
}
