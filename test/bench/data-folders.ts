import { removeData } from '../support/system/running-system.ts'

const folders: string[] = []

/**
 * Remove a data folder at the end of the whole run. On a file system without a journal, recently deleted files slow
 * down the creation of files. An earlier deletion would make the next figure a third slower.
 */
export const removeAfterRun = (folder: string): void => {
  if (folders.length === 0) process.once('exit', () => folders.forEach(removeData))
  folders.push(folder)
}
