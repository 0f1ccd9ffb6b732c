import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePorts } from '../kafka/java-process.ts'
import { makeTestFolder } from '../stores/postgres.ts'

/** Running nginx with the committed configuration. `lines` returns what it has logged. */
export type Nginx = AsyncDisposable & { readonly url: string; readonly port: number; readonly lines: () => string[] }

/** Reason why tests with nginx are skipped, printed once for each file. Null if they run. */
export const skippedWithoutNginx = (): string | null => {
  try {
    execFileSync('nginx', ['-v'], { stdio: 'ignore', timeout: 20_000 })
    return null
  } catch {
    process.stderr.write('skipped: tests with nginx: there is no nginx on this machine\n')
    return 'no nginx'
  }
}

/** Replace a part of the configuration. Throws if the part is missing, so that no replacement is silently lost. */
const replaceIn = (text: string, [part, replacement]: readonly [string, string]): string => {
  if (!text.includes(part)) throw new Error(`nginx.conf has no "${part}".`)
  return text.replaceAll(part, replacement)
}

const accepts = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = createConnection(port, '127.0.0.1')
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })

const isStarted = async (port: number, nginx: ChildProcess): Promise<boolean> => {
  for (const end = performance.now() + 20_000; performance.now() < end && nginx.exitCode === null; await sleep(20))
    if (await accepts(port)) return true
  return false
}

/**
 * Start nginx with deploy/nginx/nginx.conf. Names of containers, the port and folders are those of this machine, and
 * this machine counts as a proxy of Docker's networks. `ports`: the ports of the two roles.
 */
export const startNginx = async (
  ports: { readonly gateway: number; readonly queryService: number },
  environment: Readonly<Record<string, string>> = { TZ: 'UTC' },
): Promise<Nginx> => {
  const folder = makeTestFolder()
  const [port = 0] = await freePorts(1)
  const file = join(folder, 'nginx.conf')
  const log = join(folder, 'log')
  const replacements = [
    ['/tmp/', `${folder}/`],
    ['/dev/stderr', log],
    ['listen 8080', `listen 127.0.0.1:${port}`],
    ['http://$role:8080', 'http://$role'],
    ['ingest-gateway;', `127.0.0.1:${ports.gateway};`],
    ['query-service;', `127.0.0.1:${ports.queryService};`],
    ['set_real_ip_from 172.16.0.0/12', 'set_real_ip_from 127.0.0.0/8'],
    ['proxy_read_timeout 40s', 'proxy_read_timeout 300ms'],
  ] as const
  writeFileSync(file, replacements.reduce(replaceIn, readFileSync('deploy/nginx/nginx.conf', 'utf8')))
  const output = openSync(log, 'a')
  const user = process.getuid?.() === 0 ? ' user root;' : ''
  const nginx = spawn('nginx', ['-c', file, '-p', folder, '-g', `daemon off; worker_shutdown_timeout 1s;${user}`], {
    stdio: ['ignore', output, output],
    env: { ...process.env, ...environment },
  })
  const exited = new Promise(resolve => nginx.once('exit', resolve))
  const lines = (): string[] => readFileSync(log, 'utf8').split('\n').slice(0, -1)
  if (!(await isStarted(port, nginx))) throw new Error(`nginx did not start:\n${lines().join('\n')}`)
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    lines,
    [Symbol.asyncDispose]: async () => {
      nginx.kill('SIGTERM')
      await exited
    },
  }
}
