import { type Argon2Parameters, argon2 } from 'node:crypto'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { passwordHasher } from '../../../../services/platform/access/password-hash.ts'
import { signInThrottle } from '../../../../services/platform/http/throttle/sign-in-throttle.ts'

const derive = promisify(argon2)

/** Create a hasher that counts its work. */
const counted = () => {
  const work: Argon2Parameters[] = []
  let running = 0
  let maxRunning = 0
  const hasher = passwordHasher(async (algorithm, parameters) => {
    work.push(parameters)
    running += 1
    maxRunning = Math.max(maxRunning, running)
    const hash = await derive(algorithm, parameters)
    running -= 1
    return hash
  })
  return { hasher, work, maxRunning: () => maxRunning }
}

describe('the hash of a password', () => {
  it('is Argon2id with a new salt, and belongs to one password', async () => {
    const { hasher } = counted()
    const [first, second] = [await hasher.hash('correct horse'), await hasher.hash('correct horse')]
    expect(first).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
    expect(first).not.toBe(second)
    expect(await hasher.verify('correct horse', first)).toBe(true)
    expect(await hasher.verify('correct horsf', first)).toBe(false)
    expect(await hasher.verify('e\u0301clairs of paris', await hasher.hash('\u00e9clairs of paris'))).toBe(true)
  })

  it('keeps the parameters with which it was made', async () => {
    const nonce = Buffer.alloc(16, 1)
    const old = { message: 'correct horse', nonce, memory: 8_192, passes: 1, parallelism: 1, tagLength: 32 }
    const text = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '')
    const stored = `$argon2id$v=19$m=8192,t=1,p=1$${text(nonce)}$${text(await derive('argon2id', old))}`
    expect(await passwordHasher().verify('correct horse', stored)).toBe(true)
    expect(await passwordHasher().verify('correct horsf', stored)).toBe(false)
  })

  it('costs the same work without a user, and with an unreadable hash', async () => {
    const { hasher, work } = counted()
    const stored = await hasher.hash('correct horse')
    const cost = ({ memory, passes, parallelism, tagLength }: Argon2Parameters) => [
      memory,
      passes,
      parallelism,
      tagLength,
    ]
    for (const hash of [stored, null, 'damaged']) await hasher.verify('another horse', hash)
    expect(work).toHaveLength(4)
    expect(new Set(work.map(one => cost(one).join())).size).toBe(1)
    expect(await hasher.verify('', null)).toBe(false)
  })

  it('is made at most twice at a time, and 20 wait; more are refused', async () => {
    const { hasher, work, maxRunning } = counted()
    const results = await Promise.allSettled(Array.from({ length: 25 }, () => hasher.verify('any password', null)))
    const refused = results.filter(({ status }) => status === 'rejected')
    expect([refused.length, work.length, maxRunning()]).toEqual([3, 22, 2])
    expect(refused[0]).toMatchObject({ reason: { code: 'passwords_busy', retriable: true } })
    expect(await hasher.verify('any password', null)).toBe(false)
  })
})

describe('the throttle of sign-ins', () => {
  const failures = async (count: number, peer: (n: number) => string, user: (n: number) => string) => {
    const throttle = signInThrottle()
    const results: boolean[] = []
    for (let n = 0; n < count; n += 1) results.push((await throttle.begin(peer(n), user(n))) !== null)
    return results.filter(Boolean).length
  }

  it('admits 10 failures of a user from a peer, 60 of a peer and 100 of a user', async () => {
    expect(
      await failures(
        30,
        () => 'peer',
        () => 'user',
      ),
    ).toBe(10)
    expect(
      await failures(
        90,
        () => 'peer',
        n => `user ${n}`,
      ),
    ).toBe(60)
    expect(
      await failures(
        150,
        n => `peer ${n}`,
        () => 'user',
      ),
    ).toBe(100)
  })

  it('does not count successes', async () => {
    const throttle = signInThrottle()
    for (let n = 0; n < 200; n += 1) {
      const attempt = await throttle.begin('peer', 'user')
      expect(attempt).not.toBeNull()
      await attempt?.succeed()
    }
  })
})
