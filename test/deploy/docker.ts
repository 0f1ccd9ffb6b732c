import { execFile, execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePorts } from '../support/kafka/java-process.ts'
import { readCompose } from './deploy-files.ts'

const run = promisify(execFile)

const isAvailable = (...args: readonly string[]): boolean => {
  try {
    execFileSync('docker', args, { stdio: 'ignore', timeout: 20_000 })
    return true
  } catch {
    return false
  }
}

/** Reason why a test with Docker is skipped, printed once for each missing tool. Null if the test runs. */
export const skippedWithoutDocker = (needed: 'compose' | 'engine'): string | null => {
  const missing = !isAvailable('compose', 'version')
    ? 'there is no Docker Compose on this machine'
    : needed === 'engine' && !isAvailable('info')
      ? 'no Docker engine answers on this machine'
      : null
  if (missing !== null) process.stderr.write(`skipped: tests with Docker (${needed}): ${missing}\n`)
  return missing
}

/** Remove an image. An image that does not exist is no error: its build can have failed. */
export const removeImage = async (name: string): Promise<void> => {
  const { stdout } = await run('docker', ['image', 'ls', '--quiet', name])
  if (stdout.trim() !== '') await run('docker', ['image', 'rm', '--force', name])
}

/** Start the compose file as a separate project. Its secrets, ports, volumes and image are removed with it. */
export const openProject = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'wattledger-compose-'))
  const file = join(folder, 'env')
  const override = join(folder, 'image.yaml')
  const name = `wattledger-test-${randomBytes(4).toString('hex')}`
  const ports = await freePorts(3)
  const secrets = [
    'WATTLEDGER_SECRET',
    'WATTLEDGER_OPERATOR_KEY',
    'WATTLEDGER_CREDENTIALS_KEY',
    'POSTGRES_PASSWORD',
    'CLICKHOUSE_PASSWORD',
  ]
  const lines = [
    ...[...secrets, 'GRAFANA_PASSWORD'].map(secret => `${secret}=${randomBytes(32).toString('hex')}`),
    ...['FRONT_PORT', 'PROMETHEUS_PORT', 'GRAFANA_PORT'].map((port, index) => `${port}=${ports[index]}`),
  ]
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 })
  // An image of its own: the name in the compose file can be in use on this machine.
  const own = Object.entries(readCompose().services).filter(([, { image }]) => image.startsWith('wattledger:'))
  const images = Object.fromEntries(own.map(([service]) => [service, { image: name }]))
  writeFileSync(override, JSON.stringify({ services: images }))
  const compose = async (...args: readonly string[]): Promise<string> => {
    const all = ['compose', '-f', 'deploy/compose.yaml', '-f', override, '-p', name, '--env-file', file, ...args]
    return (await run('docker', all, { maxBuffer: 64 * 1_048_576 })).stdout
  }
  return {
    compose,
    name,
    url: `http://127.0.0.1:${ports[0]}`,
    prometheusUrl: `http://127.0.0.1:${ports[1]}`,
    [Symbol.asyncDispose]: async () => {
      try {
        await compose('down', '--volumes', '--timeout', '20')
        await removeImage(name)
      } finally {
        rmSync(folder, { recursive: true })
      }
    },
  }
}
