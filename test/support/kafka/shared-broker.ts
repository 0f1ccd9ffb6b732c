import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { missingClickHouse } from '../stores/clickhouse-server.ts'
import { claimFile, missingKafkaTool, publishFile, readText } from './artefacts.ts'
import { startCluster } from './cluster.ts'
import { missingDocker, startContainer } from './container.ts'
import { sharedFolder } from './java-process.ts'
import { startRegistry } from './registry.ts'

/** Shared services end when this process ends: the test runner, or this process without a test runner. */
const owner = process.env['VITEST'] === undefined ? process.pid : process.ppid
const waitMs = 120_000

/** Return the preferred source of a broker for tests. Null with the reasons if no broker is available. */
const sources = (): { readonly from: 'given' | 'container' | 'java' | null; readonly reasons: readonly string[] } => {
  if (process.env['KAFKA_BROKERS'] !== undefined) return { from: 'given', reasons: [] }
  const noDocker = missingDocker()
  if (noDocker === null) return { from: 'container', reasons: [] }
  const noJava = missingKafkaTool()
  return noJava === null ? { from: 'java', reasons: [] } : { from: null, reasons: [noDocker, noJava] }
}

const testsOf = {
  'own broker': 'broker',
  'any broker': 'broker',
  registry: 'registry',
  container: 'broker in a container',
  clickhouse: 'ClickHouse server',
}

/**
 * Return the reason why tests with a broker are skipped, and print it; null if they run.
 * Tests that start and stop their own brokers, and tests with the registry, need Java. All need a ClickHouse server.
 */
export const skippedWithout = (needed: keyof typeof testsOf): string | null => {
  if (needed === 'registry' && process.env['SCHEMA_REGISTRY_URL'] !== undefined) return null
  const reason = reasonWithout(needed)
  if (reason !== null) process.stderr.write(`skipped: tests on a real ${testsOf[needed]}: ${reason}\n`)
  return reason
}

const reasonWithout = (needed: keyof typeof testsOf): string | null => {
  if (needed === 'container') return missingDocker()
  const noClickHouse = missingClickHouse()
  if (noClickHouse !== null || needed === 'clickhouse') return noClickHouse
  if (needed !== 'any broker') return missingKafkaTool()
  const { from, reasons } = sources()
  return from === null ? reasons.join(', and ') : null
}

/** Start one service for all test files of a run. The first caller starts it; all callers receive its address. */
const startOnce = async (name: string, start: () => Promise<string>): Promise<string> => {
  const addressFile = join(sharedFolder(owner), name)
  const claim = `${addressFile}.claim`
  for (const end = performance.now() + waitMs; !existsSync(addressFile); await sleep(50)) {
    if (performance.now() > end) throw new Error(`The ${name} did not start.`)
    if (!claimFile(claim)) continue
    try {
      if (!existsSync(addressFile)) publishFile(addressFile, await start())
    } finally {
      rmSync(claim, { force: true })
    }
  }
  return readText(addressFile)
}

const startBroker = async (): Promise<string> =>
  sources().from === 'container'
    ? startContainer(sharedFolder(owner))
    : (await startCluster({ nodes: 1, owner })).brokers.join(',')

/** Return the brokers of this run: KAFKA_BROKERS, or one broker in a container or as a Java program. */
export const sharedBrokers = async (): Promise<readonly string[]> => {
  const brokers = process.env['KAFKA_BROKERS'] ?? (await startOnce('broker', startBroker))
  return brokers.split(',')
}

/** Return the URL of the schema registry of this run. */
export const sharedRegistry = async (): Promise<string> => {
  const given = process.env['SCHEMA_REGISTRY_URL']
  return given ?? (await startOnce('registry', async () => (await startRegistry({ owner })).url))
}
