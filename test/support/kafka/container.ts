import { execFile, execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { brokerSettings } from './broker-settings.ts'
import { freePorts } from './java-process.ts'

const run = promisify(execFile)
const image = 'apache/kafka:4.3.1'
const startMs = 120_000
/** Timeout of a start. The first start downloads the image. */
const pullMs = 300_000

/** Return the reason why no container can start on this machine; null if one can. */
export const missingDocker = (): string | null => {
  try {
    execFileSync('docker', ['version', '--format', '{{.Server.Version}}'], { stdio: 'ignore', timeout: 10_000 })
    return null
  } catch {
    return 'Docker does not run'
  }
}

/** Start a broker in a container and return its address. The container ends when the reaper removes the folder. */
export const startContainer = async (folder: string): Promise<string> => {
  const [port] = await freePorts(1)
  const address = `127.0.0.1:${port}`
  const name = `wattledger-${randomUUID()}`
  const listeners = { broker: '0.0.0.0:9092', controller: '127.0.0.1:9093' }
  const settings = brokerSettings({ id: 1, voters: ['1@127.0.0.1:9093'], listeners, advertised: address })
  const variables = Object.entries(settings).flatMap(([setting, value]) => [
    '-e',
    `KAFKA_${setting.replaceAll('.', '_').toUpperCase()}=${value}`,
  ])
  mkdirSync(join(folder, 'containers'), { recursive: true })
  writeFileSync(join(folder, 'containers', name), '')
  await run('docker', ['run', '-d', '--rm', '--name', name, '-p', `${address}:9092`, ...variables, image], {
    timeout: pullMs,
  })
  for (const end = performance.now() + startMs; ; await sleep(200)) {
    const { stdout, stderr } = await run('docker', ['logs', name])
    if (stdout.includes('Kafka Server started')) return address
    if (performance.now() > end) throw new Error(`The broker did not start:\n${(stdout + stderr).slice(-4_000)}`)
  }
}
