import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { claimNote, missingTool, publishFile, readText } from './artefacts.ts'
import { startCluster } from './cluster.ts'
import { sharedFolder } from './java-process.ts'
import { startRegistry } from './registry.ts'

/** The process whose end ends what is shared: the runner of the test files, or this process where there is none. */
const owner = process.env['VITEST'] === undefined ? process.pid : process.ppid
const waitMs = 120_000

/**
 * Why tests on a broker are left out, said once for each file; null where they run. With KAFKA_BROKERS the tests that start and stop
 * brokers of their own still need Java.
 */
export const skippedWithout = (needed: 'own broker' | 'any broker' | 'registry'): string | null => {
  if (needed === 'any broker' && process.env['KAFKA_BROKERS'] !== undefined) return null
  if (needed === 'registry' && process.env['SCHEMA_REGISTRY_URL'] !== undefined) return null
  const reason = missingTool()
  if (reason !== null) process.stderr.write(`skipped: tests on a real broker: ${reason}\n`)
  return reason
}

/** Have one of something for all test files of a run: the first that asks starts it, the others get its address. */
const shared = async (name: string, start: () => Promise<string>): Promise<string> => {
  const note = join(sharedFolder(owner), name)
  const claim = `${note}.claim`
  for (const end = performance.now() + waitMs; !existsSync(note); await sleep(50)) {
    if (performance.now() > end) throw new Error(`no ${name} came up`)
    if (!claimNote(claim)) continue
    try {
      if (!existsSync(note)) publishFile(note, await start())
    } finally {
      rmSync(claim, { force: true })
    }
  }
  return readText(note)
}

/** The brokers of this run: those of KAFKA_BROKERS, or one that is started for it. */
export const sharedBrokers = async (): Promise<readonly string[]> => {
  const given = process.env['KAFKA_BROKERS']
  const brokers = given ?? (await shared('broker', async () => (await startCluster({ nodes: 1, owner })).brokers.join(',')))
  return brokers.split(',')
}

/** The registry of this run. */
export const sharedRegistry = async (): Promise<string> => {
  const given = process.env['SCHEMA_REGISTRY_URL']
  return given ?? (await shared('registry', async () => (await startRegistry({ owner })).url))
}
