import { afterEach, describe, expect, it, vi } from 'vitest'
import { authenticator } from '../../../../services/platform/access/authenticate.ts'
import { bearerTokens } from '../../../../services/platform/access/bearer-token.ts'
import type { KeyState } from '../../../../services/platform/access/key-state.ts'
import { Failure } from '../../../../services/platform/failure.ts'
import { until } from '../../../support/system/until.ts'

const at = Date.UTC(2026, 0, 5, 12, 0, 0)
const tokens = bearerTokens('s'.repeat(32))
const subject = { accountId: 'acc_1', liveMode: false, keyId: 'key_1' }
const activeKey: KeyState = { scope: 'all', defaultApiVersion: 'current', isDisabled: false, requestsPerSecond: 7 }

/** A store of keys whose answer can be changed while the check runs, and which counts how often it is asked. */
const keyStore = (state: KeyState | null | Failure) => {
  const store = { state, asked: 0 }
  const read = async (): Promise<KeyState | null> => {
    store.asked += 1
    if (store.state instanceof Failure) throw store.state
    return store.state
  }
  return { store, authenticate: authenticator(tokens, read) }
}

const away = new Failure('postgres_away', 'PostgreSQL is unavailable.', { retriable: true })

describe('the check of bearer tokens', () => {
  it('returns the caller and queries the key store once for many requests', async () => {
    const { store, authenticate } = keyStore(activeKey)
    const token = await tokens.sign(subject, at)
    for (let i = 0; i < 100; i++) {
      const caller = {
        ...subject,
        scope: 'all',
        defaultApiVersion: 'current',
        requestsPerSecond: 7,
        accessGeneration: 0,
      }
      expect(await authenticate(token, at + i)).toEqual({ ok: true, value: caller })
    }
    expect(store.asked).toBe(1)
  })

  it('ends the tokens of a revoked key within 60 s', async () => {
    const { store, authenticate } = keyStore(activeKey)
    const token = await tokens.sign(subject, at)
    await authenticate(token, at)
    store.state = null
    expect(await authenticate(token, at + 60_000)).toMatchObject({ ok: false, refusal: { code: 'bad_credentials' } })
  })

  it('refuses a disabled account, and the same token for good after the account is enabled', async () => {
    const { store, authenticate } = keyStore({ ...activeKey, isDisabled: true, accessGeneration: 1 })
    const token = await tokens.sign(subject, at)
    expect(await authenticate(token, at)).toMatchObject({ ok: false, refusal: { code: 'account_disabled' } })
    store.state = { ...activeKey, accessGeneration: 1 }
    expect(await authenticate(token, at + 60_000)).toMatchObject({ ok: false, refusal: { code: 'bad_credentials' } })
    const fresh = await tokens.sign({ ...subject, accessGeneration: 1 }, at)
    expect(await authenticate(fresh, at + 60_000)).toMatchObject({ ok: true })
  })

  it('ends the tokens of an account that was disabled and enabled between two reads of its state', async () => {
    const { store, authenticate } = keyStore(activeKey)
    const token = await tokens.sign(subject, at)
    expect(await authenticate(token, at)).toMatchObject({ ok: true })
    store.state = { ...activeKey, accessGeneration: 1 }
    expect(await authenticate(token, at + 60_000)).toMatchObject({ ok: false, refusal: { code: 'bad_credentials' } })
  })

  it('accepts cached tokens until they expire while the store is unavailable, and queries it at most once a second', async () => {
    const { store, authenticate } = keyStore(activeKey)
    const token = await tokens.sign(subject, at)
    await authenticate(token, at)
    store.state = away
    for (let i = 0; i < 500; i++) expect(await authenticate(token, at + 60_000 + i)).toMatchObject({ ok: true })
    expect(store.asked).toBe(2)
    expect(await authenticate(token, at + 3_600_000)).toMatchObject({ ok: false, refusal: { code: 'token_expired' } })
  })

  it('refuses unknown tokens while the store is unavailable', async () => {
    const { authenticate } = keyStore(away)
    await expect(authenticate(await tokens.sign(subject, at), at)).rejects.toBe(away)
  })

  describe('with a store that hangs', () => {
    afterEach(() => void vi.useRealTimers())

    /** Check with a cached token, 30 s after the last read of its key. The store does not answer. */
    const hanging = async () => {
      vi.useFakeTimers()
      const store = { asked: 0, answer: Promise.resolve<KeyState | null>(activeKey) }
      const authenticate = authenticator(tokens, () => {
        store.asked += 1
        return store.answer
      })
      const token = await tokens.sign(subject, at)
      await authenticate(token, at)
      store.answer = new Promise<never>(() => undefined)
      return { store, authenticate, token, other: await tokens.sign({ ...subject, keyId: 'key_2' }, at) }
    }

    it('accepts a cached token after a second, at once during a query, and queries again a second after a timeout', async () => {
      const { store, authenticate, token } = await hanging()
      const first = authenticate(token, at + 30_000)
      await vi.advanceTimersByTimeAsync(1_000)
      expect(await first).toMatchObject({ ok: true })
      expect(await authenticate(token, at + 31_000)).toMatchObject({ ok: true })
      await vi.advanceTimersByTimeAsync(4_000)
      for (const later of [35_000, 35_999]) expect(await authenticate(token, at + later)).toMatchObject({ ok: true })
      expect(store.asked).toBe(2)
      store.answer = Promise.resolve(null)
      expect(await authenticate(token, at + 36_000)).toMatchObject({ ok: false, refusal: { code: 'bad_credentials' } })
    })

    it('throws for a token that is not cached after 5 s', async () => {
      const { store, authenticate, other } = await hanging()
      const pending = expect(authenticate(other, at)).rejects.toMatchObject({ code: 'store_silent', retriable: true })
      await until(
        () => store.asked,
        asked => asked === 2,
      )
      await vi.advanceTimersByTimeAsync(5_000)
      await pending
    })
  })

  it('does not query the store for forged tokens', async () => {
    const { store, authenticate } = keyStore(activeKey)
    const forged = await bearerTokens('t'.repeat(32)).sign(subject, at)
    expect(await authenticate(forged, at)).toMatchObject({ ok: false, refusal: { code: 'bad_credentials' } })
    expect(store.asked).toBe(0)
  })
})
