import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readText } from './artefacts.ts'

/**
 * Flags of all Java programs, for a fast start and little memory. A class archive requires the flags of its creation.
 */
export const javaFlags = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xshare:auto']

const startMs = 60_000

/** A running Java program. */
export type JavaProcess = {
  readonly pid: number
  readonly exited: () => Promise<void>
  readonly kill: (signal: NodeJS.Signals) => void
}

const reaper = join(import.meta.dirname, 'reaper.ts')

/** Start a reaper that ends the programs of a folder and removes the folder after the process `owner` has ended. */
const startReaper = (folder: string, owner: number): void => {
  mkdirSync(join(folder, 'pids'))
  spawn(process.execPath, [reaper, String(owner), folder], { detached: true, stdio: 'ignore' }).unref()
}

/** Create a folder whose programs end when the process `owner` ends. */
export const makeReapedFolder = (owner: number): string => {
  const folder = mkdtempSync(join(tmpdir(), 'wattledger-java-'))
  startReaper(folder, owner)
  return folder
}

/** Return the folder that all child processes of `owner` share. It is removed when `owner` ends. */
export const sharedFolder = (owner: number): string => {
  const folder = join(tmpdir(), `wattledger-shared-${owner}`)
  if (mkdirSync(folder, { recursive: true }) !== undefined) startReaper(folder, owner)
  return folder
}

/** End the programs of a folder and remove the folder. Its reaper then ends. */
export const removeReapedFolder = async (folder: string, processes: readonly JavaProcess[]): Promise<void> => {
  for (const one of processes) one.kill('SIGKILL')
  await Promise.all(processes.map(one => one.exited()))
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

/**
 * Start a Java program in a folder with a reaper, and wait until its output contains `ready`.
 * Rejects with the output if the program ends before or does not become ready in time.
 */
export const startJava = async (
  folder: string,
  name: string,
  args: readonly string[],
  ready: string,
): Promise<JavaProcess> => {
  const output = join(folder, `${name}.${process.pid}.${performance.now()}.log`)
  const file = openSync(output, 'a')
  const child = spawn('java', [`-Dwattledger.folder=${folder}`, ...args], {
    detached: true,
    stdio: ['ignore', file, file],
    cwd: folder,
  })
  child.unref()
  // The child process is detached, so that a test run can end while a shared broker runs.
  const exited = async (): Promise<void> => {
    while (!hasEnded(child)) await sleep(10)
  }
  const pid = child.pid
  if (pid === undefined) throw new Error('Java did not start.')
  writeFileSync(join(folder, 'pids', name), String(pid))
  for (const end = performance.now() + startMs; !readText(output).includes(ready); await sleep(20)) {
    if (hasEnded(child) || performance.now() > end) {
      child.kill('SIGKILL')
      throw new Error(`${name} did not start:\n${readText(output).slice(-4_000)}`)
    }
  }
  return { pid, exited, kill: signal => void (hasEnded(child) || child.kill(signal)) }
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

/** Return ports of the loopback interface that are free now. */
export const freePorts = async (count: number): Promise<readonly number[]> => {
  const servers = Array.from({ length: count }, () => createServer())
  try {
    return await Promise.all(
      servers.map(
        server =>
          new Promise<number>((resolve, reject) => {
            server.on('error', reject)
            server.listen(0, '127.0.0.1', () => {
              const address = server.address()
              resolve(typeof address === 'object' && address !== null ? address.port : 0)
            })
          }),
      ),
    )
  } finally {
    for (const server of servers) server.close()
  }
}
