import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bearerTokens, tokenLifetimeSeconds } from '../../../../services/platform/access/bearer-token.ts'
import { sealWith } from '../../../../services/platform/access/seal.ts'
import { loadCredentialsKey, loadSecrets } from '../../../../services/platform/access/secrets.ts'
import { readConfig } from '../../../../services/platform/config/config.ts'
import { batchIds } from '../../../../services/platform/ids/batch-id.ts'
import { hashSecret, secretHashes } from '../../../../services/platform/ids/new-id.ts'
import { webhookSeal } from '../../../../services/platform/postgres/webhooks/webhook-secret.ts'

const [first, second, third] = ['a'.repeat(32), 'b'.repeat(32), 'c'.repeat(32)] as const
/** The secret after it was changed twice. */
const changed = [third, second, first] as const
const owner = { accountId: `acc_${'0'.repeat(24)}`, liveMode: true }
const at = 1_760_000_000_000

describe('data of a former secret', () => {
  it('stays valid as a bearer token, and new tokens use the current secret', async () => {
    const subject = { ...owner, keyId: 'key' }
    for (const text of changed) {
      const token = await bearerTokens(text).sign(subject, at)
      expect(await bearerTokens(changed).verify(token, at), text).toMatchObject({ ok: true, value: subject })
    }
    const fresh = await bearerTokens(changed).sign(subject, at)
    expect(await bearerTokens(third).verify(fresh, at)).toMatchObject({ ok: true })
    expect(await bearerTokens([second, first]).verify(fresh, at)).toMatchObject({
      ok: false,
      refusal: { code: 'bad_credentials' },
    })
  })

  it('expires at its usual time', async () => {
    const token = await bearerTokens(first).sign({ ...owner, keyId: 'key' }, at)
    const late = at + (tokenLifetimeSeconds + 1) * 1_000
    expect(await bearerTokens(changed).verify(token, late)).toMatchObject({ refusal: { code: 'token_expired' } })
  })

  it('stays valid as a submission id, for its owner only', () => {
    for (const text of changed) {
      const id = batchIds(text).create(owner, at)
      expect(batchIds(changed).createdAt(owner, id), text).toBe(at)
      expect(batchIds(changed).createdAt({ ...owner, liveMode: false }, id)).toBeNull()
    }
    expect(batchIds([second, first]).createdAt(owner, batchIds(changed).create(owner, at))).toBeNull()
  })

  it.each([
    ['credentials of providers', (key: string | typeof changed) => sealWith(key, 'provider credentials')],
    ['secrets of webhooks', webhookSeal],
  ])(
    'opens where it is sealed: %s; new ones are sealed with the present one, and altered ones open with none',
    (_, sealOf) => {
      for (const text of changed)
        expect(sealOf(changed).open(sealOf(text).seal('words', 'mine'), 'mine'), text).toBe('words')
      const fresh = sealOf(changed).seal('words', 'mine')
      expect(sealOf(third).open(fresh, 'mine')).toBe('words')
      for (const text of [second, first]) expect(() => sealOf(text).open(fresh, 'mine')).toThrow()
      expect(() => sealOf(changed).open(fresh, 'yours')).toThrow()
      expect(() => sealOf(changed).open(sealOf('d'.repeat(32)).seal('words', 'mine'), 'mine')).toThrow()
    },
  )

  it('is found by the hash of each secret, and is stored with the current one', () => {
    expect(secretHashes(changed, 'key')).toEqual(changed.map(text => hashSecret(text, 'key')))
    expect(hashSecret(changed, 'key')).toBe(hashSecret(third, 'key'))
  })
})

describe('former secrets', () => {
  it('come from the configuration, also if the current secret is in the data folder', () => {
    const folder = mkdtempSync(join(tmpdir(), 'wattledger-rotation-'))
    const former = readConfig({
      WATTLEDGER_FORMER_SECRETS: `${second}, ${first}`,
      WATTLEDGER_FORMER_CREDENTIALS_KEYS: first,
    })
    expect(loadSecrets(folder, { ...former, secret: third }).value.secret).toEqual(changed)
    loadSecrets(folder, readConfig({})).save()
    expect(loadSecrets(folder, former).value.secret).toEqual([
      loadSecrets(folder, readConfig({})).value.secret,
      second,
      first,
    ])
    expect(loadCredentialsKey(folder, second, former.formerCredentialsKeys).value).toEqual([second, first])
    rmSync(folder, { recursive: true })
  })

  it.each(['WATTLEDGER_FORMER_SECRETS', 'WATTLEDGER_FORMER_CREDENTIALS_KEYS'])(
    'are refused where one is too short to have been one: %s',
    name => {
      expect(() => readConfig({ [name]: `${first},short` })).toThrow(name)
    },
  )
})
