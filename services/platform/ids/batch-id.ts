import { hash, randomBytes } from 'node:crypto'
import { formatId, isId } from '../../domain/identifier.ts'
import { type Secret, secretTexts } from '../access/secrets.ts'

/** Owner of a batch. The id is invalid for another account or mode. */
type Owner = { readonly accountId: string; readonly liveMode: boolean }

/**
 * Ids of submissions: creation time in ms (44 bits), process (20 bits), counter (11 bits), whether the submission belongs
 * to an import (1 bit), and a keyed checksum (20 bits).
 * The checksum covers the id and its owner, so that an invalid id is detected without a store.
 */
export type BatchIds = {
  /** Create the id of a submission at `at` (ms). Ids of a process are unique and ascend. */
  readonly create: (owner: Owner, at: number, isImport?: boolean) => string
  /** Return the creation time of an id in ms. Null if the id was not created for this owner. */
  readonly createdAt: (owner: Owner, id: string) => number | null
}

const idBytes = 12
const maxCount = 2048
const checkBits = 20
/** Index of the digit with the last four bits of counter and import. */
const importDigit = 22

/** Create the ids of an installation. All processes share its secret. */
export const batchIds = (secret: Secret): BatchIds => {
  const [check, ...formerChecks] = secretTexts(secret).map(shortHmac) as [HmacFunction, ...HmacFunction[]]
  const process = randomBytes(3).readUIntBE(0, 3) % 2 ** 20
  let lastAt = 0
  let count = 0

  const checkOf = (bytes: Buffer, owner: Owner, hmac = check): number => hmac(textOf(bytes, owner)) % 2 ** checkBits

  return {
    create: (owner, at, isImport = false) => {
      count = at > lastAt ? 0 : count + 1
      // If the clock stops or steps back, or the counter is full, continue from the last time.
      if (count >= maxCount) count = 0
      lastAt = at > lastAt ? at : count === 0 ? lastAt + 1 : lastAt
      const bytes = Buffer.alloc(idBytes)
      bytes.writeUIntBE(Math.floor(lastAt / 16), 0, 5)
      bytes.writeUIntBE((lastAt % 16) * 2 ** 44 + process * 2 ** 24 + (count * 2 + Number(isImport)) * 2 ** 12, 5, 6)
      writeCheck(bytes, checkOf(bytes, owner))
      return formatId('meterBatch', bytes)
    },
    createdAt: (owner, id) => {
      if (!isId('meterBatch', id)) return null
      const bytes = Buffer.from(id.slice(4), 'hex')
      const found = bytes.readUIntBE(9, 3) % 2 ** checkBits
      if (![check, ...formerChecks].some(hmac => checkOf(bytes, owner, hmac) === found)) return null
      return bytes.readUIntBE(0, 5) * 16 + ((bytes[5] ?? 0) >> 4)
    },
  }
}

/** Return whether the id is that of a submission of an import. */
export const isOfImport = (id: string): boolean => Number.parseInt(id.charAt(importDigit), 16) % 2 === 1

type HmacFunction = (text: string) => number

const blockBytes = 64
const digestBytes = 32

/**
 * Create a function that returns the first 24 bits of the HMAC-SHA-256 of a Latin-1 text.
 * Each submission needs one. Node's `createHmac` costs several times as much as two hashes. Source: RFC 2104.
 */
const shortHmac = (secret: string): HmacFunction => {
  const long = Buffer.from(secret)
  const key = Buffer.alloc(blockBytes)
  if (long.length > blockBytes) hash('sha256', long, 'buffer').copy(key)
  else long.copy(key)
  const innerKey = key.map(byte => byte ^ 0x36)
  const outer = Buffer.alloc(
    blockBytes + digestBytes,
    key.map(byte => byte ^ 0x5c),
  )
  return text => {
    const inner = Buffer.allocUnsafe(blockBytes + text.length)
    inner.set(innerKey)
    inner.write(text, blockBytes, 'latin1')
    outer.write(hash('sha256', inner, 'hex'), blockBytes, 'hex')
    return Number.parseInt(hash('sha256', outer, 'hex').slice(0, 6), 16)
  }
}

/**
 * Return the text of the checksum.
 * The counter and the checksum share a byte: only its four bits of the counter are included.
 */
const textOf = (bytes: Buffer, { accountId, liveMode }: Owner): string =>
  `batch ${accountId} ${liveMode} ${bytes.toString('hex', 0, 9)} ${(bytes[9] ?? 0) >> 4}`

const writeCheck = (bytes: Buffer, check: number): void => {
  bytes.writeUIntBE(((bytes[9] ?? 0) >> 4) * 2 ** checkBits + check, 9, 3)
}
