import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bearerTokens } from '../../../../services/platform/access/bearer-token.ts'

const secret = 's'.repeat(32)
const subject = { accountId: 'acc_1', liveMode: true, keyId: 'key_1' }
const at = Date.UTC(2026, 0, 5, 12, 0, 0)
const tokens = bearerTokens(secret)

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const codeOf = async (token: string, when = at): Promise<string> => {
  const read = await tokens.verify(token, when)
  return read.ok ? 'accepted' : read.refusal.code
}

describe('a bearer token', () => {
  it('gives account, mode and key to each process with the same secret', async () => {
    const read = await bearerTokens(secret).verify(await tokens.sign(subject, at), at)
    expect(read).toEqual({ ok: true, value: { ...subject, accessGeneration: 0, expiresAt: at + 3_600_000 } })
  })

  it('is valid for exactly an hour', async () => {
    const token = await tokens.sign(subject, at)
    expect(await codeOf(token, at + 3_599_000)).toBe('accepted')
    expect(await codeOf(token, at + 3_600_000)).toBe('token_expired')
  })

  it('is never the same twice', async () => {
    expect(await tokens.sign(subject, at)).not.toBe(await tokens.sign(subject, at))
  })

  it('fails when any character of it is changed', async () => {
    const token = await tokens.sign(subject, at)
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: token.length - 1 }),
        fc.constantFrom(...'ABab01-_.= '),
        async (index, character) => {
          fc.pre(token[index] !== character)
          expect(await codeOf(token.slice(0, index) + character + token.slice(index + 1))).toBe('bad_credentials')
        },
      ),
      { numRuns: 300 },
    )
  })

  it.each([
    ['no signature', { alg: 'none', typ: 'at+jwt' }, ''],
    ['another algorithm', { alg: 'HS512', typ: 'at+jwt' }, 'sha512'],
    ['another type', { alg: 'HS256', typ: 'JWT' }, 'sha256'],
  ])('is refused with %s', async (_, header, hash) => {
    const [, payload = ''] = (await tokens.sign(subject, at)).split('.')
    const signed = `${encode(header)}.${payload}`
    const signature = hash === '' ? '' : createHmac(hash, secret).update(signed).digest('base64url')
    expect(await codeOf(`${signed}.${signature}`)).toBe('bad_credentials')
  })

  it.each(['', 'x', '..', 'a.b.c', 'é.é.é', 'a'.repeat(10_000)])('is not %j', async text => {
    expect(await codeOf(text)).toBe('bad_credentials')
  })

  it('of another secret is refused', async () => {
    expect(await codeOf(await bearerTokens('t'.repeat(32)).sign(subject, at))).toBe('bad_credentials')
  })
})
