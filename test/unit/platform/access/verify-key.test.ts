import { describe, expect, it } from 'vitest'
import type { KeyState } from '../../../../services/platform/access/key-state.ts'
import { keyVerifier } from '../../../../services/platform/access/verify-key.ts'
import { Failure } from '../../../../services/platform/failure.ts'
import { hashSecret, newApiKey } from '../../../../services/platform/ids/new-id.ts'

const at = Date.UTC(2026, 0, 5, 12, 0, 0)
const [former, secret] = ['f'.repeat(32), 's'.repeat(32)] as const
const subject = { accountId: 'acc_1', liveMode: false, keyId: 'key_1' }
const active: KeyState = { scope: 'all', defaultApiVersion: 'current', isDisabled: false, requestsPerSecond: null }
const away = new Failure('postgres_away', 'PostgreSQL is unavailable.', { retriable: true })

/**
 * A store with one key, whose state can be changed while the check runs.
 * It counts the queries and remembers the hashes that were moved.
 */
const keyStore = (hash: string) => {
  const store = {
    state: active as KeyState | null | Failure,
    queries: [] as (readonly string[])[],
    states: 0,
    rehashed: [] as string[],
  }
  const stateNow = (): KeyState | null => {
    if (store.state instanceof Failure) throw store.state
    return store.state
  }
  return Object.assign(store, {
    find: async (hashes: readonly string[]) => {
      store.queries.push(hashes)
      const state = stateNow()
      return new Map(hashes.includes(hash) ? [[hash, { subject, state }]] : [])
    },
    readState: async () => {
      store.states += 1
      return stateNow()
    },
    rehash: async (hashes: readonly string[]) => void store.rehashed.push(...hashes),
  })
}

const make = () => {
  const apiKey = newApiKey(false)
  const store = keyStore(hashSecret(secret, apiKey))
  return { apiKey, store, verify: keyVerifier(secret, store) }
}

const reading = (later = 0) => ({ at: at + later, use: 'other' as const })
const metering = (later = 0) => ({ at: at + later, use: 'metering' as const })
const wrong = { ok: false, refusal: { code: 'bad_credentials', message: 'The account id or the API key is wrong.' } }
const revoked = { ...subject, reason: 'revoked_key' }

describe('an API key', () => {
  it('returns its caller, with and without its account, and queries the store once for many requests', async () => {
    const { apiKey, store, verify } = make()
    for (const accountId of [null, 'acc_1']) {
      for (let index = 0; index < 50; index += 1) {
        expect(await verify({ accountId, apiKey }, reading(index))).toMatchObject({
          ok: true,
          value: { ...subject, scope: 'all' },
        })
      }
    }
    expect([store.queries.length, store.states]).toEqual([1, 0])
  })

  it('of another account is refused with the text for an unknown key', async () => {
    const { apiKey, verify } = make()
    const known = { ...subject, reason: 'wrong_account' }
    expect(await verify({ accountId: 'acc_2', apiKey }, reading())).toEqual({ ...wrong, known })
    expect(await verify({ accountId: null, apiKey: newApiKey(false) }, reading())).toEqual(wrong)
  })

  it('with a wrong checksum costs no query', async () => {
    const { apiKey, store, verify } = make()
    const last = apiKey.at(-1) === '0' ? '1' : '0'
    for (const typed of [
      apiKey.slice(0, -1) + last,
      `${apiKey}0`,
      'sk_test_',
      apiKey.replace('sk_test', 'sk_live'),
      '',
    ]) {
      expect(await verify({ accountId: 'acc_1', apiKey: typed }, reading())).toEqual(wrong)
    }
    expect(store.queries).toEqual([])
  })

  it('reveals a disabled account only if it is correct', async () => {
    const { apiKey, store, verify } = make()
    store.state = { ...active, isDisabled: true }
    expect(await verify({ accountId: 'acc_1', apiKey }, reading())).toMatchObject({
      refusal: { code: 'account_disabled' },
    })
    expect(await verify({ accountId: 'acc_1', apiKey: newApiKey(false) }, reading())).toEqual(wrong)
    expect(await verify({ accountId: 'acc_2', apiKey }, reading())).toMatchObject(wrong)
  })

  it('ends within 60 s of its revocation', async () => {
    const { apiKey, store, verify } = make()
    await verify({ accountId: null, apiKey }, reading())
    store.state = null
    expect((await verify({ accountId: null, apiKey }, reading(29_999))).ok).toBe(true)
    for (const later of [30_000, 30_001])
      expect(await verify({ accountId: null, apiKey }, reading(later))).toEqual({ ...wrong, known: revoked })
  })

  it('cannot log in after its revocation, and is then refused everywhere in this process', async () => {
    const { apiKey, store, verify } = make()
    await verify({ accountId: null, apiKey }, reading())
    store.state = null
    const refused = { ...wrong, known: revoked }
    expect(await verify({ accountId: 'acc_1', apiKey }, { at, use: 'login' })).toEqual(refused)
    expect(await verify({ accountId: null, apiKey }, reading())).toEqual(refused)
    expect(store.rehashed).toEqual([])
  })

  it('is valid for 60 s while the store is unavailable, for metering an hour', async () => {
    const { apiKey, store, verify } = make()
    await verify({ accountId: null, apiKey }, reading())
    store.state = away
    expect((await verify({ accountId: null, apiKey }, reading(59_999))).ok).toBe(true)
    await expect(verify({ accountId: null, apiKey }, reading(60_000))).rejects.toMatchObject({ retriable: true })
    expect((await verify({ accountId: null, apiKey }, metering(3_599_999))).ok).toBe(true)
    await expect(verify({ accountId: null, apiKey }, metering(3_600_000))).rejects.toMatchObject({ retriable: true })
    store.state = active
    expect((await verify({ accountId: null, apiKey }, reading(3_700_000))).ok).toBe(true)
  })

  it('that is not cached is refused while the store is unavailable', async () => {
    const { apiKey, store, verify } = make()
    store.state = away
    await expect(verify({ accountId: null, apiKey }, metering())).rejects.toBe(away)
  })

  it('is accepted during a flood of wrong keys, which share a few queries', async () => {
    const { apiKey, store, verify } = make()
    const flood = Array.from({ length: 2_000 }, () => verify({ accountId: null, apiKey: newApiKey(false) }, reading()))
    expect((await verify({ accountId: null, apiKey }, reading())).ok).toBe(true)
    for (const answer of await Promise.all(flood)) expect(answer).toEqual(wrong)
    expect(store.queries.length).toBeLessThan(12)
    expect(Math.max(...store.queries.map(({ length }) => length))).toBeLessThanOrEqual(500)
  })

  it('is found by a former secret and moves to the current one', async () => {
    const apiKey = newApiKey(true)
    const store = keyStore(hashSecret(former, apiKey))
    const verify = keyVerifier([secret, former], store)
    expect((await verify({ accountId: null, apiKey }, reading())).ok).toBe(true)
    expect(store.rehashed).toEqual([hashSecret(secret, apiKey), hashSecret(former, apiKey)])
    expect(store.queries).toHaveLength(1)
  })
})
