import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from './failure.ts'

const markName = 'moved.json'

/**
 * Mark a data folder as moved, so that no service starts on it. The mark is on disk when the function returns. An earlier
 * mark does not change.
 */
export const markAsMoved = (folder: string, at: number): void => {
  const path = join(folder, markName)
  if (existsSync(path)) return
  writeFileSync(path, `${JSON.stringify({ time_moved: new Date(at).toISOString() })}\n`, { mode: 0o600, flush: true })
  // The name of the file must survive a power cut too.
  const entries = openSync(folder, 'r')
  fsyncSync(entries)
  closeSync(entries)
}

/** Throw `folder_moved` if the data folder is marked as moved. */
export const refuseMovedFolder = (folder: string): void => {
  const path = join(folder, markName)
  if (!existsSync(path)) return
  // A power cut can leave the file empty. Its existence alone counts.
  const time = /"time_moved":"([^"]+)"/.exec(readFileSync(path, 'utf8'))?.[1] ?? 'an unknown time'
  throw new Failure(
    'folder_moved',
    `"wattledger move" copied ${folder} to a cluster at ${time}. Start the roles of the cluster. If the move did not end, run it again. To use the folder instead of the cluster, stop the cluster and delete ${path}. The folder does not have later changes of the cluster.`,
  )
}
