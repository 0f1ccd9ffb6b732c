import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePorts } from '../kafka/java-process.ts'
import { type ClickHouseProxy, openClickHouseProxy } from './clickhouse-proxy.ts'

/** ClickHouse with its own HTTP listener in a child process, and a proxy that injects faults. */
export type ClickHouseServer = AsyncDisposable & {
  /** Address of the proxy. It stays the same when the server is started again. */
  readonly url: string
  /** Address of the listener. */
  readonly directUrl: string
  readonly proxy: ClickHouseProxy
  /** Start the server again after `stop` or `kill`, with the same data. Does nothing if it runs. */
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
  readonly kill: () => Promise<void>
  /** Return the CPU time of the server, in seconds. */
  readonly cpuSeconds: () => number
}

const startMs = 60_000
const python = 'python3'
const listener = join(import.meta.dirname, 'clickhouse-listener.py')
const deploySettings = join(import.meta.dirname, '../../../deploy/clickhouse/durable.xml')

/** Return the reason why no server can start on this machine; null if one can. */
export const missingClickHouse = (): string | null => {
  try {
    execFileSync(python, ['-c', 'import ctypes'], { stdio: 'ignore', timeout: 20_000 })
    return null
  } catch {
    return 'Python 3 is not installed'
  }
}

/** Return the path of the library that contains the server. */
const libraryPath = (): string => {
  const requireFromEngine = createRequire(createRequire(import.meta.url).resolve('chdb'))
  const libc = process.platform === 'linux' ? '-gnu' : ''
  const packageName = `@chdb/lib-${process.platform}-${process.arch}${libc}`
  return join(dirname(requireFromEngine.resolve(`${packageName}/package.json`)), 'libchdb.so')
}

export const ledgerPassword = 'pass word'

const userConfig = (name: string, password: string, profile: string): string => `<${name}>
      <password>${password}</password><networks><ip>127.0.0.1</ip></networks>
      <profile>${profile}</profile><quota>default</quota>
    </${name}>`

/** Users of the server: `default` without a password, `ledger` with one, `reader` that only reads. */
const usersConfig = `<clickhouse>
  <profiles>
    <default><implicit_select>0</implicit_select></default>
    <reader><profile>default</profile><readonly>2</readonly></reader>
  </profiles>
  <quotas><default/></quotas>
  <users>
    ${userConfig('default', '', 'default')}
    ${userConfig('ledger', ledgerPassword, 'default')}
    ${userConfig('reader', '', 'reader')}
  </users>
</clickhouse>
`

const serverConfig = (folder: string, port: number): string => `<clickhouse>
  <listen_host>127.0.0.1</listen_host>
  <http_port>${port}</http_port>
  <users_config>${join(folder, 'users.xml')}</users_config>
  <max_server_memory_usage>${2 ** 31}</max_server_memory_usage>
</clickhouse>
`

/** Write the settings: those of the deployment, and files that the caller has put into `engine.d`. */
const writeSettings = (folder: string, port: number): string => {
  mkdirSync(join(folder, 'engine.d'), { recursive: true })
  mkdirSync(join(folder, 'engine'), { recursive: true })
  copyFileSync(deploySettings, join(folder, 'engine.d/durable.xml'))
  writeFileSync(join(folder, 'users.xml'), usersConfig)
  const config = join(folder, 'engine.xml')
  writeFileSync(config, serverConfig(folder, port))
  return config
}

const hasExited = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null

const launch = async (folder: string, port: number): Promise<ChildProcess> => {
  const config = writeSettings(folder, port)
  const child = spawn(python, [listener, libraryPath(), config, join(folder, 'engine')], {
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = `${errors}${text}`.slice(-4_000)
  })
  child.on('error', error => {
    errors += error.message
  })
  const ping = () =>
    fetch(`http://127.0.0.1:${port}/ping`).then(
      answer => answer.ok,
      () => false,
    )
  for (const end = performance.now() + startMs; !(await ping()); await sleep(20)) {
    if (!hasExited(child) && performance.now() < end) continue
    child.kill('SIGKILL')
    throw new Error(`ClickHouse did not start:\n${errors}`)
  }
  return child
}

const end = async (child: ChildProcess, work: () => void): Promise<void> => {
  if (hasExited(child)) return
  const exited = once(child, 'exit')
  work()
  await exited
}

/** Start a server. The default folder is temporary. The server ends with this process. */
export const openClickHouseServer = async (options: { readonly folder?: string } = {}): Promise<ClickHouseServer> => {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'wattledger-clickhouse-'))
  const [port = 0] = await freePorts(1)
  const directUrl = `http://127.0.0.1:${port}`
  let child = await launch(folder, port)
  const proxy = await openClickHouseProxy(directUrl)
  const kill = (): Promise<void> => end(child, () => child.kill('SIGKILL'))
  return {
    url: proxy.url,
    directUrl,
    proxy,
    start: async () => {
      if (hasExited(child)) child = await launch(folder, port)
    },
    stop: () => end(child, () => child.stdin?.end()),
    kill,
    cpuSeconds: () => cpuSecondsOf(child.pid ?? 0),
    [Symbol.asyncDispose]: async () => {
      await proxy[Symbol.asyncDispose]()
      await kill()
      if (options.folder === undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** Return the CPU time of a process: minutes and seconds as `ps` prints them, or exactly where the system has /proc. */
const cpuSecondsOf = (pid: number): number => {
  const file = `/proc/${pid}/stat`
  if (existsSync(file)) {
    const fields = readFileSync(file, 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) / 100
  }
  const text = execFileSync('ps', ['-o', 'cputime=', '-p', String(pid)], { encoding: 'utf8' })
  return text
    .trim()
    .split(':')
    .reduce((seconds, part) => seconds * 60 + Number(part), 0)
}
