import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { linkLibraries } from '../../../../../services/platform/postgres/embedded/embedded-files.ts'
import { startEmbeddedServer } from '../../../../../services/platform/postgres/embedded/embedded-server.ts'
import { isAlive } from '../../../../../services/platform/postgres/embedded/postmaster.ts'
import { makeTestFolder } from '../../../../support/stores/postgres.ts'
import { until } from '../../../../support/system/until.ts'

const messages: string[] = []
const model = makeTestFolder()
beforeAll(async () => {
  const server = await startEmbeddedServer({ dataFolder: model, report: message => messages.push(message) })
  await server[Symbol.asyncDispose]()
})
afterAll(() => rmSync(model, { recursive: true }))

const folders: string[] = []
/** Data folder with a complete cluster, to be copied: its creation takes seconds. */
const newFolder = (): string => {
  const folder = makeTestFolder()
  folders.push(folder)
  execFileSync('cp', ['-a', join(model, 'postgres'), folder])
  return folder
}
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

const postmasterPid = (folder: string): number =>
  Number(readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])

const query = async (address: object, text: string): Promise<readonly unknown[][]> => {
  const client = new pg.Client(address)
  await client.connect()
  try {
    return (await client.query({ text, rowMode: 'array' })).rows
  } finally {
    await client.end()
  }
}

type Reply = { readonly address?: pg.ClientConfig & { readonly host: string }; readonly code?: string }

const startProcess = async (
  folder: string,
  ...faults: readonly 'deaf'[]
): Promise<{ readonly child: ChildProcess; readonly reply: Reply }> => {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'postgres-server-process.ts'), folder, ...faults], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout?.once('data', data => resolve(String(data)))
    child.once('exit', code => reject(new Error(`the process ended with ${code}`)))
  })
  return { child, reply: JSON.parse(line) }
}

const exited = (child: ChildProcess): Promise<unknown> =>
  child.exitCode === null && child.signalCode === null
    ? new Promise(resolve => child.once('exit', resolve))
    : Promise.resolve()

describe('the embedded PostgreSQL', () => {
  it('keeps its data over an orderly stop, and leaves no process and no socket', async () => {
    const folder = newFolder()
    const first = await startEmbeddedServer({ dataFolder: folder, report: message => messages.push(message) })
    await query(first.address, 'create table kept as select 7 as value')
    const pid = postmasterPid(folder)
    await first[Symbol.asyncDispose]()
    expect(isAlive(pid)).toBe(false)
    expect(existsSync((first.address as { host: string }).host)).toBe(false)

    const second = await startEmbeddedServer({ dataFolder: folder, report: message => messages.push(message) })
    expect(await query(second.address, 'select value from kept')).toEqual([[7]])
    await second[Symbol.asyncDispose]()
    expect(messages).toEqual(['Creating the PostgreSQL database files (first start)'])
  })

  it('listens only on a private socket, writes to the disk, and logs no statement', async () => {
    const folder = newFolder()
    await using server = await startEmbeddedServer({ dataFolder: folder })
    const names = ['listen_addresses', 'unix_socket_permissions', 'fsync', 'synchronous_commit', 'full_page_writes']
    const settings = await query(server.address, `select ${names.map(name => `current_setting('${name}')`).join(', ')}`)
    expect(settings).toEqual([['', '0700', 'on', 'on', 'on']])
    await expect(query(server.address, `select 'canary-in-a-statement' from missing`)).rejects.toThrow()
    expect(readFileSync(join(folder, 'postgres', 'server.log'), 'utf8')).not.toContain('canary')
  })

  it('is taken over after kill -9 of the process that started it', async () => {
    const folder = newFolder()
    const { child, reply } = await startProcess(folder)
    await query(reply.address ?? {}, 'create table kept as select 7 as value')
    const pid = postmasterPid(folder)
    child.kill('SIGKILL')
    await exited(child)
    expect(isAlive(pid)).toBe(true)

    const server = await startEmbeddedServer({ dataFolder: folder })
    expect(server.address).toEqual(reply.address)
    expect(postmasterPid(folder)).toBe(pid)
    expect(await query(server.address, 'select value from kept')).toEqual([[7]])
    await server[Symbol.asyncDispose]()
    expect(existsSync(join(folder, 'postgres', 'postmaster.pid'))).toBe(false)
  })

  it('recovers after kill -9 of all processes', async () => {
    const folder = newFolder()
    const { child, reply } = await startProcess(folder)
    await query(reply.address ?? {}, 'create table kept as select generate_series(1, 1000) as value')
    child.kill('SIGKILL')
    process.kill(postmasterPid(folder), 'SIGKILL')
    await exited(child)

    await using server = await startEmbeddedServer({ dataFolder: folder })
    expect(await query(server.address, 'select count(*)::int from kept')).toEqual([[1000]])
    expect(existsSync(reply.address?.host ?? '')).toBe(false)
  })

  it('starts if the process number in the pid file now belongs to another process', async () => {
    const folder = newFolder()
    const first = await startEmbeddedServer({ dataFolder: folder })
    await first[Symbol.asyncDispose]()
    const stranger = spawn('sleep', ['60'], process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {})
    const note = [stranger.pid, join(folder, 'postgres'), 1, 5432, '/tmp/wl-gone', '', '', 'ready'].join('\n')
    writeFileSync(join(folder, 'postgres', 'postmaster.pid'), note)
    const second = await startEmbeddedServer({ dataFolder: folder })
    await second[Symbol.asyncDispose]()
    expect(stranger.kill()).toBe(true)
  })

  it('refuses a second process while the first one is alive', async () => {
    const folder = newFolder()
    await using server = await startEmbeddedServer({ dataFolder: folder })
    const { child, reply } = await startProcess(folder)
    await exited(child)
    expect(reply).toEqual({ code: 'data_folder_in_use' })
    expect(await query(server.address, 'select 1')).toEqual([[1]])
  })

  it('starts again on the same socket after the server was killed', async () => {
    const folder = newFolder()
    const server = await startEmbeddedServer({ dataFolder: folder })
    const pid = postmasterPid(folder)
    process.kill(pid, 'SIGKILL')
    await until(
      () =>
        query(server.address, 'select 1').then(
          () => true,
          () => false,
        ),
      answers => answers,
    )
    expect(postmasterPid(folder)).not.toBe(pid)
    await server[Symbol.asyncDispose]()
    expect(isAlive(pid)).toBe(false)
  })

  it('ignores Ctrl-C of its terminal', async () => {
    const folder = newFolder()
    const { child, reply } = await startProcess(folder, 'deaf')
    const pid = postmasterPid(folder)
    process.kill(-(child.pid ?? 0), 'SIGINT')
    await sleep(300)
    expect(await query(reply.address ?? {}, 'select 1')).toEqual([[1]])
    expect(postmasterPid(folder)).toBe(pid)
    child.kill('SIGKILL')
    await exited(child)
    const heir = await startEmbeddedServer({ dataFolder: folder })
    await heir[Symbol.asyncDispose]()
  })

  it('stops with the orderly stop of its process', async () => {
    const folder = newFolder()
    const { child } = await startProcess(folder)
    const pid = postmasterPid(folder)
    child.kill('SIGINT')
    await exited(child)
    expect(child.exitCode).toBe(0)
    expect(isAlive(pid)).toBe(false)
  })

  const isRoot = process.getuid?.() === 0
  it.skipIf(!isRoot)(
    `moves its data if its user cannot enter the data folder${isRoot ? '' : ' (skipped: not root)'}`,
    async () => {
      const closed = mkdtempSync(join(tmpdir(), 'wattledger-closed-'))
      const reports: string[] = []
      const server = await startEmbeddedServer({
        dataFolder: join(closed, 'data'),
        report: message => reports.push(message),
      })
      const away = readlinkSync(join(closed, 'data', 'postgres'))
      await query(server.address, 'create table kept as select 7 as value')
      await server[Symbol.asyncDispose]()
      expect(away).toMatch(/^\/var\/lib\/wattledger\/[0-9a-f]{16}/)
      expect(reports[0]).toContain(away)

      const again = await startEmbeddedServer({ dataFolder: join(closed, 'data') })
      expect(await query(again.address, 'select value from kept')).toEqual([[7]])
      await again[Symbol.asyncDispose]()
      rmSync(join(closed, 'data'), { recursive: true })

      const restarted = await startEmbeddedServer({ dataFolder: join(closed, 'data') })
      await expect(query(restarted.address, 'select value from kept')).rejects.toThrow()
      await restarted[Symbol.asyncDispose]()
      for (const path of [away, readlinkSync(join(closed, 'data', 'postgres')), closed])
        rmSync(path, { recursive: true })
    },
  )

  const canDropRights = isRoot && existsSync('/usr/bin/setpriv')
  it.skipIf(!canDropRights)(
    `names two solutions if it may not change its user${canDropRights ? '' : ' (skipped: needs root and setpriv)'}`,
    () => {
      const script = join(import.meta.dirname, 'postgres-server-process.ts')
      for (const right of ['setuid', 'chown']) {
        const args = [
          `--bounding-set=-${right}`,
          `--inh-caps=-${right}`,
          process.execPath,
          script,
          join(newFolder(), 'data'),
        ]
        expect(JSON.parse(execFileSync('setpriv', args, { encoding: 'utf8' }))).toEqual({ code: 'postgres_user' })
      }
    },
  )

  it('creates the links between its libraries if the package did not', async () => {
    const native = join(newFolder(), 'native')
    mkdirSync(join(native, 'lib'), { recursive: true })
    writeFileSync(join(native, 'lib', 'libx.so.1.2'), 'x')
    writeFileSync(
      join(native, 'pg-symlinks.json'),
      JSON.stringify([{ source: 'native/lib/libx.so.1.2', target: 'native/lib/libx.so' }]),
    )
    await linkLibraries(native)
    await linkLibraries(native)
    expect(readlinkSync(join(native, 'lib', 'libx.so'))).toBe('libx.so.1.2')
  })
})
