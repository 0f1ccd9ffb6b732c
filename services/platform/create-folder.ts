import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

const codeOf = (error: unknown): unknown => (error instanceof Error ? Reflect.get(error, 'code') : undefined)

/**
 * Create a folder with its missing parents. An existing folder stays as it is. Throws the system error that names the
 * folder. The recursive `mkdirSync` of Node.js does not return if the parent exists and accepts no folders, as `/proc`.
 */
export const createFolder = (path: string, mode = 0o777): void => {
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return
    if (codeOf(error) !== 'ENOENT' || existsSync(dirname(path))) throw error
    createFolder(dirname(path), mode)
    createFolder(path, mode)
  }
}
