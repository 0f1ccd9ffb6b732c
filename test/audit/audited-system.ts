import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, login } from '../support/client.ts'
import type { Random } from '../support/ledger/random.ts'
import { launchSystem, type RunningSystem, startSystem } from '../support/running-system.ts'

/** A caller of the system, and which of its lives it runs in: nothing of an earlier life can still arrive. */
export type Caller = { readonly client: Client; readonly life: number }

/** The system under audit, which is killed and started again on one folder of data. */
export type AuditedSystem = AsyncDisposable & {
  /** Null while nobody is there. */
  readonly caller: () => Caller | null
  readonly start: () => Promise<Client>
  /** What was put aside, newest first, up to a hundred. */
  readonly deadLetters: () => Promise<readonly { readonly id: string; readonly code: string; readonly reason: string }[]>
  /** Kill it, sometimes PostgreSQL too, sometimes again while it starts; it runs when this resolves. */
  readonly killAndStart: (random: Random) => Promise<void>
  readonly stop: () => Promise<void>
}

const tokenMs = 40 * 60_000

/** Make a system on a folder, not started. */
export const auditedSystem = (folder: string): AuditedSystem => {
  let system: RunningSystem | null = null
  let caller: Caller | null = null
  let lives = 0
  let loggedInAt = 0

  /** Tokens end after an hour. */
  const renew = async (): Promise<void> => {
    const renewed = caller
    loggedInAt = performance.now()
    const client = system === null ? null : await login(system.sandbox).catch(() => null)
    if (client !== null && renewed !== null && caller === renewed) caller = { ...renewed, client }
  }

  const start = async (): Promise<Client> => {
    system = await startSystem(folder)
    const client = await login(system.sandbox)
    lives += 1
    loggedInAt = performance.now()
    caller = { client, life: lives }
    return client
  }

  const stop = async (): Promise<void> => {
    caller = null
    const code = await system?.stop()
    system = null
    if (code !== undefined && code !== 0) throw new Error(`the system stopped with ${code}`)
  }

  const deadLetters: AuditedSystem['deadLetters'] = async () => {
    if (system === null) throw new Error('no system runs')
    const { base_url: baseUrl, operator_key: key } = system.sandbox
    const answer = await fetch(`${baseUrl}/operator/dead-letters?limit=100`, { headers: { 'X-Operator-Key': key } })
    if (!answer.ok) throw new Error(`the dead letters were not listed: ${answer.status} ${await answer.text()}`)
    return ((await answer.json()) as { data: Awaited<ReturnType<AuditedSystem['deadLetters']>> }).data
  }

  const killWhileStarting = async (afterMs: number): Promise<void> => {
    const launched = launchSystem(folder)
    await sleep(afterMs)
    launched.process.kill('SIGKILL')
    await launched.exited
  }

  return {
    caller: () => {
      if (caller !== null && performance.now() - loggedInAt > tokenMs) void renew()
      return caller
    },
    start,
    deadLetters,
    killAndStart: async random => {
      caller = null
      const postmaster = Number(readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
      if (system?.process.exitCode !== null) throw new Error(`the system ended by itself:\n${system?.output().slice(-4_000)}`)
      await system.kill()
      system = null
      if (random.chance(0.3)) process.kill(postmaster, 'SIGKILL')
      if (random.chance(0.25)) await killWhileStarting(random.whole(1_000))
      await start()
    },
    stop,
    [Symbol.asyncDispose]: async () => {
      caller = null
      await system?.stop()
      system = null
    },
  }
}
