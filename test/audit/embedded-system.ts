import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../support/system/client.ts'
import { launchSystem, type RunningSystem, startSystem } from '../support/system/running-system.ts'
import { rotatingClocks } from '../support/system/shifted-clock.ts'
import { type AuditedSystem, alterRow, type Caller, renewingClient, unreadOf } from './audited-system.ts'

/**
 * Create an embedded system on a data folder, not started. Its fault is SIGKILL. The clock of its machine is wrong, in
 * another way after each start.
 */
export const embeddedSystem = (folder: string): AuditedSystem => {
  const nextClock = rotatingClocks()
  let system: RunningSystem | null = null
  let caller: (() => Caller) | null = null

  const running = (): RunningSystem => {
    if (system === null) throw new Error('The system does not run.')
    return system
  }

  const start = async (): Promise<Client> => {
    const started = await startSystem(folder, nextClock())
    system = started
    const client = await renewingClient(() => started.sandbox)
    const lifetime = { isOver: () => system !== started }
    caller = () => ({ client: client(), lifetimes: () => [lifetime] })
    return client()
  }

  const stop = async (): Promise<void> => {
    caller = null
    const code = await system?.stop()
    system = null
    if (code !== undefined && code !== 0) throw new Error(`The system exited with code ${code}.`)
  }

  const killWhileStarting = async (afterMs: number): Promise<void> => {
    const launched = launchSystem(folder, nextClock())
    await sleep(afterMs)
    launched.process.kill('SIGKILL')
    await launched.exited
  }

  return {
    caller: () => caller?.() ?? null,
    start,
    sandbox: () => running().sandbox,
    unread: () => unreadOf(running().metricsUrl),
    injectFault: async random => {
      caller = null
      const postmaster = Number(readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
      const { process: child, output, kill } = running()
      if (child.exitCode !== null) throw new Error(`The system exited by itself:\n${output().slice(-4_000)}`)
      await kill()
      system = null
      const isWithPostgres = random.chance(0.3)
      if (isWithPostgres) process.kill(postmaster, 'SIGKILL')
      const isTwice = random.chance(0.25)
      if (isTwice) await killWhileStarting(random.below(1_000))
      await start()
      return `killed${isWithPostgres ? ' with PostgreSQL' : ''}${isTwice ? ', and again during the start' : ''}`
    },
    failedStops: () => [],
    stop,
    alterRow: async () => alterRow(join(folder, 'clickhouse')),
    [Symbol.asyncDispose]: async () => {
      caller = null
      await system?.stop()
      system = null
    },
  }
}
