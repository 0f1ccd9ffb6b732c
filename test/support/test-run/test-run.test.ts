import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { mountSmallDisk, mountsWithin, unmountDisk } from '../stores/small-disk.ts'

const root = join(import.meta.dirname, '../../..')

const read = (pid: string, name: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}

/** List the commands of the processes that name a folder in their arguments or environment. */
const processesOf = (folder: string): readonly string[] =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .filter(name => read(name, 'cmdline').includes(folder) || read(name, 'environ').includes(folder))
    .map(name => read(name, 'cmdline').replaceAll('\0', ' ').slice(0, 200))

const begin = (note: string): ChildProcess => {
  const args = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--config',
    'test/support/test-run/interrupted/vitest.config.ts',
  ]
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('WATTLEDGER_') && name !== 'VITEST'),
  )
  return spawn(process.execPath, args, {
    cwd: root,
    detached: true,
    stdio: 'ignore',
    env: { ...inherited, TMPDIR: '/tmp', INTERRUPTED_NOTE: note },
  })
}

/** Return true if this process may mount disks. The interrupted run then has a disk. */
const mayMount = (): boolean => {
  const disk = join(tmpdir(), 'may-mount')
  const isMounted = mountSmallDisk(disk, 1)
  if (isMounted) unmountDisk(disk)
  return isMounted
}

describe('a test run that is interrupted', () => {
  it.each([
    ['by Ctrl-C in a terminal', 'SIGINT', true],
    ['by SIGINT to the runner alone', 'SIGINT', false],
    ['by SIGTERM to the runner alone', 'SIGTERM', false],
    ['by kill -9', 'SIGKILL', false],
  ] as const)('removes its processes, files and mounts: %s', { timeout: 120_000 }, async (_, signal, isGroup) => {
    const note = join(tmpdir(), `interrupted-${signal}-${isGroup}`)
    const runner = begin(note)
    await expect
      .poll(() => existsSync(note) && readFileSync(note, 'utf8') !== '', { timeout: 60_000, interval: 100 })
      .toBe(true)
    const folder = readFileSync(note, 'utf8')
    const started = processesOf(folder)
    expect(started.filter(args => args.includes('postgres')).length).toBeGreaterThan(1)
    expect(started.filter(args => args.includes('services/main.mjs'))).toHaveLength(1)
    expect(mountsWithin(folder)).toHaveLength(mayMount() ? 1 : 0)
    const pid = runner.pid ?? 0
    process.kill(isGroup ? -pid : pid, signal)
    await expect.poll(() => processesOf(folder), { timeout: 40_000, interval: 200 }).toEqual([])
    await expect.poll(() => existsSync(folder), { timeout: 10_000, interval: 100 }).toBe(false)
    expect(mountsWithin(folder)).toEqual([])
  })
})
