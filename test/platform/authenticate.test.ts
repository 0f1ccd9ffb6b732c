import { describe, expect, it } from 'vitest'
import { authenticator, type KeyState } from '../../services/platform/authenticate.ts'
import { bearerTokens } from '../../services/platform/bearer-token.ts'
import { Failure } from '../../services/platform/failure.ts'

const at = Date.UTC(2026, 0, 5, 12, 0, 0)
const tokens = bearerTokens('s'.repeat(32))
const subject = { accountId: 'acc_1', liveMode: false, keyId: 'key_1' }
const living: KeyState = { scope: 'all', defaultLayout: 'current', disabled: false, requestsPerSecond: 7 }

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

const away = new Failure('postgres_away', 'away', { retriable: true })

describe('the check before every operation', () => {
  it('names the caller and asks the store of keys once for many requests', async () => {
    const { store, authenticate } = keyStore(living)
    const token = await tokens.sign(subject, at)
    for (let i = 0; i < 100; i++) {
      const caller = { ...subject, scope: 'all', defaultLayout: 'current', requestsPerSecond: 7 }
      expect(await authenticate(token, at + i)).toEqual({ ok: true, value: caller })
    }
    expect(store.asked).toBe(1)
  })

  it('ends the tokens of a revoked key within 60 s', async () => {
    const { store, authenticate } = keyStore(living)
    const token = await tokens.sign(subject, at)
    await authenticate(token, at)
    store.state = null
    expect(await authenticate(token, at + 60_000)).toMatchObject({ ok: false, refusal: { code: 'bad_credentials' } })
  })

  it('refuses a disabled account and lets it in again once enabled', async () => {
    const { store, authenticate } = keyStore({ ...living, disabled: true })
    const token = await tokens.sign(subject, at)
    expect(await authenticate(token, at)).toMatchObject({ ok: false, refusal: { code: 'account_disabled' } })
    store.state = living
    expect(await authenticate(token, at + 60_000)).toMatchObject({ ok: true })
  })

  it('lets known tokens go on until they expire while the store is away, and asks it at most once a second', async () => {
    const { store, authenticate } = keyStore(living)
    const token = await tokens.sign(subject, at)
    await authenticate(token, at)
    store.state = away
    for (let i = 0; i < 500; i++) expect(await authenticate(token, at + 60_000 + i)).toMatchObject({ ok: true })
    expect(store.asked).toBe(2)
    expect(await authenticate(token, at + 3_600_000)).toMatchObject({ ok: false, refusal: { code: 'token_expired' } })
  })

  it('does not let unknown tokens in while the store is away', async () => {
    const { authenticate } = keyStore(away)
    await expect(authenticate(await tokens.sign(subject, at), at)).rejects.toBe(away)
  })

  it('does not ask the store about forged tokens', async () => {
    const { store, authenticate } = keyStore(living)
    const forged = await bearerTokens('t'.repeat(32)).sign(subject, at)
    expect(await authenticate(forged, at)).toMatchObject({ ok: false, refusal: { code: 'bad_credentials' } })
    expect(store.asked).toBe(0)
  })
})
