import { execFile } from 'node:child_process'
import { readFile, readlink, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Content of `postmaster.pid` in the data folder of a running server. */
export type Postmaster = { readonly pid: number; readonly socketFolder: string; readonly isReady: boolean }

export const SOCKET_PORT = 5432

/** Read the pid file in a data folder; null if there is none or it is incomplete. */
export const readPostmaster = async (cluster: string): Promise<Postmaster | null> => {
  const lines = await readFile(pidFile(cluster), 'utf8').then(
    text => text.split('\n'),
    () => [],
  )
  const pid = Number(lines[0])
  if (!Number.isInteger(pid) || pid <= 0) return null
  return { pid, socketFolder: lines[4] ?? '', isReady: (lines[7] ?? '').startsWith('ready') }
}

export const pidFile = (cluster: string): string => join(cluster, 'postmaster.pid')

export const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * Return true if a process is the server of this data folder, not another process that received the number of a dead
 * one.
 */
export const isPostmasterOf = async (pid: number, cluster: string): Promise<boolean> => {
  if (!isAlive(pid)) return false
  const folder = await realpath(cluster)
  if (process.platform === 'linux') return (await readlink(`/proc/${pid}/cwd`).catch(() => '')) === folder
  const { stdout } = await promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)]).catch(() => ({
    stdout: '',
  }))
  return stdout.includes('postgres') && stdout.includes(folder)
}
