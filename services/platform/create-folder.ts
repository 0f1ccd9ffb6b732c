import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** Create a folder. Null if it exists now; the error if its parent is missing. Throws other errors. */
const tryToCreate = (path: string, mode: number): Error | null => {
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return null
    if (error instanceof Error && Reflect.get(error, 'code') === 'ENOENT') return error
    throw error
  }
  return null
}

/**
 * Create a folder with its missing parents. An existing folder does not change. Several processes can create the same
 * folder. Throws the system error that names the folder. The recursive `mkdirSync` of Node.js does not return if the
 * parent exists and accepts no folders, such as `/proc`.
 */
export const createFolder = (path: string, mode = 0o777): void => {
  if (tryToCreate(path, mode) === null) return
  const parent = dirname(path)
  if (!existsSync(parent)) createFolder(parent, mode)
  // Another process may have created the parent meanwhile, so that the second call succeeds.
  const error = tryToCreate(path, mode)
  if (error !== null) throw error
}
