import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readText } from './artefacts.ts'

/** Flags of every Java program here: they start fast and stay small. An archive of classes is only read by the same ones. */
export const javaFlags = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xshare:auto']

const startMs = 60_000

/** A Java program under its own number; a killed one can be started again. */
export type JavaProcess = {
  readonly pid: number
  readonly exited: () => Promise<void>
  readonly kill: (signal: NodeJS.Signals) => void
}

const reaper = join(import.meta.dirname, 'reaper.ts')

/** Have the programs of a folder end, and the folder go away, once the process `owner` is gone, however it ends. */
const reap = (folder: string, owner: number): void => {
  mkdirSync(join(folder, 'pids'))
  spawn(process.execPath, [reaper, String(owner), folder], { detached: true, stdio: 'ignore' }).unref()
}

/** Make a folder whose programs end with the process `owner`. */
export const makeReapedFolder = (owner: number): string => {
  const folder = mkdtempSync(join(tmpdir(), 'wattledger-java-'))
  reap(folder, owner)
  return folder
}

/** The folder that all processes of `owner` share; it goes away with it. */
export const sharedFolder = (owner: number): string => {
  const folder = join(tmpdir(), `wattledger-shared-${owner}`)
  if (mkdirSync(folder, { recursive: true }) !== undefined) reap(folder, owner)
  return folder
}

/** End the programs of a folder and remove it; its reaper ends with it. */
export const removeReapedFolder = async (folder: string, processes: readonly JavaProcess[]): Promise<void> => {
  for (const one of processes) one.kill('SIGKILL')
  await Promise.all(processes.map(one => one.exited()))
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

/**
 * Start a Java program that belongs to a reaped folder and wait until its output holds `ready`.
 * Rejects with its output where it ends before.
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
  // The child alone keeps nobody waiting: a test run ends beside a broker that is shared.
  const exited = async (): Promise<void> => {
    while (!hasEnded(child)) await sleep(10)
  }
  const pid = child.pid
  if (pid === undefined) throw new Error('java did not start')
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

/** Ports of the loopback that are free at the moment. */
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
