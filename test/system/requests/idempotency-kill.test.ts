import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operations } from '../../../services/operations.ts'
import { sealWith } from '../../../services/platform/access/seal.ts'
import { idempotencyKeys } from '../../../services/platform/http/idempotency-store.ts'
import { takeIdempotencyLock } from '../../../services/platform/postgres/registry/idempotency.ts'
import { seededRandom } from '../../support/random.ts'
import { makeTenants, openTestDatabase } from '../../support/stores/postgres.ts'
import { type Client, login, type Reply } from '../../support/system/client.ts'
import { startPrepared } from '../../support/system/prepared-folder.ts'
import { dataFolder, type RunningSystem, removeData, startSystem } from '../../support/system/running-system.ts'
import { until } from '../../support/system/until.ts'

const rounds = Number(process.env['KILL_ROUNDS'] ?? 4)

describe('every POST', () => {
  /**
   * Reasons for a POST without a key: it only reads, it belongs to a flow with its own state, equal bodies share an answer, or a
   * repeat has the same result.
   */
  const needsNoKey =
    /^\/(?:login|meters\/imports\/undo|costs\/(?:interval|session)|prices|audits|schedules|tariffs\/(?:rates|audits?)|slots|simulations)\b|^\/statements\/\{id\}$/

  it('accepts an Idempotency-Key unless it needs none', () => {
    const posts = operations.filter(({ routes }) =>
      [...routes.current, ...routes.earlier].some(({ method }) => method === 'POST'),
    )
    const without = posts.filter(({ idempotent, access }) => idempotent !== true && access !== 'open')
    expect(posts.length).toBeGreaterThan(7)
    for (const { id, routes } of without)
      for (const { path } of [...routes.current, ...routes.earlier]) expect(path, id).toMatch(needsNoKey)
    for (const { id, routes } of operations.filter(({ idempotent }) => idempotent === true)) {
      expect(
        [...routes.current, ...routes.earlier].map(({ method }) => method),
        id,
      ).toContain('POST')
    }
  })
})

describe('a process that died during a request', () => {
  const folder = dataFolder()
  let system: RunningSystem | null = null
  beforeAll(async () => {
    system = await startPrepared(folder)
  })
  afterAll(async () => {
    await system?.[Symbol.asyncDispose]()
    removeData(folder)
  })

  const restart = async (): Promise<Client> => {
    await system?.kill()
    system = await startSystem(folder)
    return login(system.sandbox)
  }

  it(`has done the change once or not at all, and a duplicate is answered at once, ${rounds} times`, {
    timeout: 60_000 + rounds * 20_000,
  }, async () => {
    const random = seededRandom(3)
    let client = await login(system?.sandbox ?? expect.fail())
    const known = new Map<string, string>()
    let cut = 0
    for (let round = 0; round < rounds; round += 1) {
      const keys = Array.from({ length: 40 }, (_, n) => `${round}-${n}`)
      const create = (one: Client, key: string): Promise<Reply> =>
        one.send('POST', '/devices', { reference_id: key }, { 'Idempotency-Key': key })
      const current = client
      const first = keys.map(key =>
        sleep(random.below(60))
          .then(() => create(current, key))
          .catch(() => null),
      )
      await sleep(20 + random.below(50))
      const restarting = restart()
      const answers = await Promise.all(first)
      client = await restarting
      for (const [index, key] of keys.entries()) {
        const reply = await create(client, key)
        expect([reply.status, key], reply.text).toEqual([201, key])
        const before = answers[index]
        if (before?.status === 201) expect(reply.text).toBe(before.text)
        else cut += 1
        known.set(key, (reply.json as { readonly id: string }).id)
      }
    }
    const stored: { readonly id: string; readonly reference_id: string }[] = []
    for (let after = ''; ; after = `&starting_after=${stored.at(-1)?.id}`) {
      const page = (await client.ask('GET', `/devices?limit=100${after}`)) as { has_more: boolean; data: typeof stored }
      stored.push(...page.data)
      if (!page.has_more) break
    }
    expect(new Map(stored.map(({ id, reference_id }) => [reference_id, id]))).toEqual(known)
    expect(stored).toHaveLength(known.size)
    expect(cut).toBeGreaterThan(rounds)
  })
})

const seal = sealWith('a secret of at least thirty-two characters', 'kept answers')

describe('the lock of a process', () => {
  it('protects its attempts while the process is alive, and releases them when the process ends', async () => {
    await using opened = await openTestDatabase()
    const { database } = opened
    const { live } = await makeTenants(database)
    const at = Date.now()
    const claim = (key: string) => ({ ...live, key, fingerprint: 'same', secretAnswer: false })
    const ownLock = await takeIdempotencyLock(database)
    const other = await takeIdempotencyLock(database)
    const [mine, theirs] = [
      idempotencyKeys(database, seal, ownLock.holder),
      idempotencyKeys(database, seal, other.holder),
    ]
    expect(await mine.begin(claim('a'), at)).toEqual({ state: 'new' })
    expect(await theirs.begin(claim('a'), at)).toEqual({ state: 'running' })
    expect(await mine.begin(claim('a'), at)).toEqual({ state: 'running' })
    await ownLock[Symbol.asyncDispose]()
    expect(await theirs.begin(claim('a'), at)).toEqual({ state: 'new' })
    expect(await mine.begin(claim('a'), at)).toEqual({ state: 'running' })
    await other[Symbol.asyncDispose]()
  })

  it('is acquired again after the connection broke', async () => {
    await using opened = await openTestDatabase()
    const { database } = opened
    const { live } = await makeTenants(database)
    await using ownLock = await takeIdempotencyLock(database)
    const keys = idempotencyKeys(database, seal, ownLock.holder)
    const superuser = new pg.Client(opened.address)
    await superuser.connect()
    const cut = await superuser.query(`
      select pg_terminate_backend(pid) from pg_locks
      where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`)
    await superuser.end()
    expect(cut.rowCount).toBe(1)
    let n = 0
    const twice = async () => {
      const claim = { ...live, key: `k${n++}`, fingerprint: 'same', secretAnswer: false }
      await keys.begin(claim, Date.now())
      return (await keys.begin({ ...claim }, Date.now())).state
    }
    expect(await until(twice, state => state === 'running')).toBe('running')
  })
})
