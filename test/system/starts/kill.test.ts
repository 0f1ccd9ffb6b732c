import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { faultsOf } from '../../support/ledger/audit.ts'
import { type Ledger, type LedgerSize, openLedger } from '../../support/ledger/ledger.ts'
import { type Random, seededRandom } from '../../support/random.ts'
import { type Client, login } from '../../support/system/client.ts'
import { fillDataFolder } from '../../support/system/prepared-folder.ts'
import {
  dataFolder,
  launchSystem,
  type RunningSystem,
  removeData,
  startSystem,
} from '../../support/system/running-system.ts'

/** For more rounds or other moments: KILL_ROUNDS=100 KILL_SEED=7. */
const rounds = Number(process.env['KILL_ROUNDS'] ?? 5)
const size: LedgerSize = { locations: 5, maxRecords: 100, maxTotalRecords: 4_000, maxPauseMs: 100 }
const seed = Number(process.env['KILL_SEED'] ?? 1)

let folder = ''
let system: RunningSystem | null = null
let client: Client | null = null

beforeEach(() => {
  folder = dataFolder()
})

afterEach(async () => {
  client = null
  await system?.[Symbol.asyncDispose]()
  system = null
  removeData(folder)
})

const start = async (): Promise<Client> => {
  system = await startSystem(folder)
  client = await login(system.sandbox)
  return client
}

/** Start on a prepared folder. */
const startFirst = async (): Promise<Client> => {
  await fillDataFolder(folder)
  return start()
}

/** Return the client of the running system. */
const running = (): Client => {
  if (client === null) throw new Error('no system runs')
  return client
}

const kill = async (): Promise<void> => {
  client = null
  await system?.kill()
  system = null
}

const postmaster = (): number => Number(readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])

const openLedgerHere = (random: Random): Promise<Ledger> =>
  openLedger({ file: join(folder, '..', 'ledger.ndjson'), random, target: () => client, ...size })

/** Kill the process during its start, before it is ready. */
const killWhileStarting = async (afterMs: number): Promise<void> => {
  const launched = launchSystem(folder)
  await sleep(afterMs)
  launched.process.kill('SIGKILL')
  await launched.exited
}

/** Run one round under load: kill the process at some moment, sometimes also PostgreSQL, or the next start. */
const killOnce = async (random: Random): Promise<void> => {
  await sleep(100 + random.below(1_200))
  const withPostgres = random.chance(0.4)
  const pid = postmaster()
  await kill()
  if (withPostgres) process.kill(pid, 'SIGKILL')
  if (random.chance(0.3)) await killWhileStarting(random.below(1_000))
}

/** Repeat a request until the status is returned, for at most 30 s. Returns all statuses. */
const statusesUntil = async (
  status: number,
  ask: () => Promise<{ readonly status: number }>,
): Promise<readonly number[]> => {
  const statuses: number[] = []
  for (
    const deadline = performance.now() + 30_000;
    statuses.at(-1) !== status && performance.now() < deadline;
    await sleep(50)
  ) {
    statuses.push((await ask()).status)
  }
  return statuses
}

describe('kill -9', () => {
  it(`of the system loses nothing and counts nothing twice, ${rounds} times at moments of seed ${seed}`, {
    timeout: 60_000 + rounds * 20_000,
  }, async () => {
    const random = seededRandom(seed)
    await startFirst()
    await using ledger = await openLedgerHere(random)
    const enough = new AbortController()
    const load = ledger.run(4, enough.signal)
    for (let round = 0; round < rounds; round += 1) {
      await killOnce(random)
      await start()
    }
    enough.abort()
    await load
    await ledger.resendUnknown()
    const verdict = await ledger.audit(running())
    expect(faultsOf(verdict)).toEqual([])
    expect(verdict.seen.operations).toMatchObject({ failed: 0, unknown: 0 })
    expect(verdict.seen.attempts.unknown).toBeGreaterThan(rounds / 2)
    expect(verdict.seen.records).toBeGreaterThan(rounds * 50)
  })

  it('of PostgreSQL alone does not stop metering, and changes are accepted again within seconds', {
    timeout: 120_000,
  }, async () => {
    const current = await startFirst()
    await using ledger = await openLedgerHere(seededRandom(seed))
    const enough = new AbortController()
    const load = ledger.run(3, enough.signal)
    await sleep(1_000)
    process.kill(postmaster(), 'SIGKILL')
    const statuses = await statusesUntil(201, () =>
      current.send('POST', '/locations', { timezone: 'UTC', currency_code: 'EUR' }),
    )
    enough.abort()
    await load
    // While PostgreSQL is unavailable, a change is refused as retriable, never with an internal error.
    expect(statuses.filter(status => status !== 503)).toEqual([201])
    const verdict = await ledger.audit(current)
    expect(faultsOf(verdict)).toEqual([])
    expect(verdict.seen.attempts.unknown).toBe(0)
    expect(await system?.stop()).toBe(0)
  })

  it('of a first start leaves nothing that prevents a later start', { timeout: 120_000 }, async () => {
    const random = seededRandom(seed)
    // Each kill is later, so that each part of the first start is interrupted once.
    for (let kills = 0; kills < 5; kills += 1) await killWhileStarting(100 + kills * 320 + random.below(320))
    const current = await start()
    await using ledger = await openLedgerHere(random)
    const enough = new AbortController()
    const load = ledger.run(1, enough.signal)
    await sleep(500)
    enough.abort()
    await load
    const verdict = await ledger.audit(current)
    expect(faultsOf(verdict)).toEqual([])
    expect(verdict.seen.records).toBeGreaterThan(0)
  })
})
