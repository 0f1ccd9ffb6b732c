import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { Failure } from '../failure.ts'

/** Derive a hash of a password. Node runs the work outside of the main thread. */
type Derive = (algorithm: 'argon2id', parameters: Argon2Parameters) => Promise<Buffer>

export type PasswordHasher = {
  /** Hash a password with a new salt. Returns a PHC text. */
  readonly hash: (password: string) => Promise<string>
  /**
   * Return whether a password has a hash. A null hash costs the same work and returns false. The time must not show
   * whether a user exists.
   */
  readonly verify: (password: string, stored: string | null) => Promise<boolean>
  /** Return for each hash whether the password has it. All hashes are computed, one after the other, as one task. */
  readonly verifyEach: (password: string, stored: readonly (string | null)[]) => Promise<readonly boolean[]>
}

/**
 * Parameters of new hashes: 19 MiB, 2 passes, no parallelism.
 * Source: https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html.
 */
const current = { memory: 19_456, passes: 2, parallelism: 1 } as const
const hashBytes = 32
const saltBytes = 16

const maxConcurrent = 2
/** Max tasks that wait. A sign-in needs about 200 ms, so the last one waits about 2 s. */
const maxWaiting = 20

const writePhc = (nonce: Buffer, hash: Buffer): string => {
  const { memory, passes, parallelism } = current
  const text = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '')
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${text(nonce)}$${text(hash)}`
}

const phcPattern =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/

/** Parameters of a stored hash; null if the text is not an Argon2id hash. */
const readPhc = (text: string) => {
  const [, memory, passes, parallelism, nonce, hash] = phcPattern.exec(text) ?? []
  if (nonce === undefined || hash === undefined) return null
  return {
    parameters: { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) },
    nonce: Buffer.from(nonce, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  }
}

const busy = (): Failure =>
  new Failure('passwords_busy', 'Too many passwords are checked at once. Try again soon.', { retriable: true })

/** Run at most 2 tasks at a time. Throws `Failure` `passwords_busy` if 20 tasks wait. */
const boundedQueue = () => {
  const waiting: (() => void)[] = []
  let running = 0
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running < maxConcurrent) running += 1
    else {
      if (waiting.length >= maxWaiting) throw busy()
      await new Promise<void>(resolve => waiting.push(resolve))
    }
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}

const neverEqual = { parameters: current, nonce: Buffer.alloc(saltBytes), hash: null }

/**
 * Create the hashing of passwords with Argon2id. At most 2 tasks run at a time, and 20 wait.
 * Source: docs/rules/users.md #passwords.
 */
export const passwordHasher = (derive: Derive = promisify(argon2)): PasswordHasher => {
  const run = boundedQueue()
  const deriveHash = (
    password: string,
    nonce: Buffer,
    parameters: typeof current | Record<keyof typeof current, number>,
    tagLength: number,
  ) => derive('argon2id', { ...parameters, message: password.normalize('NFC'), nonce, tagLength })
  const hasHash = async (password: string, stored: string | null): Promise<boolean> => {
    const { parameters, nonce, hash } = (stored === null ? null : readPhc(stored)) ?? neverEqual
    const derived = await deriveHash(password, nonce, parameters, hash?.length ?? hashBytes)
    return hash !== null && timingSafeEqual(derived, hash)
  }
  const verifyEach = (password: string, stored: readonly (string | null)[]): Promise<readonly boolean[]> =>
    run(async () => {
      const results: boolean[] = []
      for (const one of stored) results.push(await hasHash(password, one))
      return results
    })
  return {
    hash: password =>
      run(async () => {
        const nonce = randomBytes(saltBytes)
        return writePhc(nonce, await deriveHash(password, nonce, current, hashBytes))
      }),
    verify: async (password, stored) => (await verifyEach(password, [stored]))[0] === true,
    verifyEach,
  }
}
