import { removeData } from '../support/system/running-system.ts'

const folders: string[] = []

/**
 * Remove data once the whole run is over. A file system without a journal looks through what was deleted in the last minutes each time a
 * file is made: what one measure deletes would slow down the next one, by a third and more.
 */
export const removeAfterRun = (folder: string): void => {
  if (folders.length === 0) process.once('exit', () => folders.forEach(removeData))
  folders.push(folder)
}
