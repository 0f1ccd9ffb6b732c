import { createHmac, randomBytes } from 'node:crypto'
import { formatId, isId } from '../domain/identifier.ts'

/** Whose batch it is: the same id means nothing to another account or in the other mode. */
type Owner = { readonly accountId: string; readonly liveMode: boolean }

/**
 * Ids of submissions: 44 bits of mint time (ms), 20 bits of the process, a count of 12 bits, and a keyed check of 20 bits over these and
 * the owner, so that a wrong id is known without asking a store, and a right one may be waited for.
 */
export type BatchIds = {
  /** Mint the id of a submission that arrives at `at` (ms). Ids of one process are all different and ascend with time. */
  readonly mint: (owner: Owner, at: number) => string
  /** Tell when an id was minted (ms); null for one that was never given to this owner. */
  readonly mintedAt: (owner: Owner, id: string) => number | null
}

const idBytes = 12
const counts = 4096
const checkBits = 20

/** Make ids under the secret of the installation, which every process shares. */
export const batchIds = (secret: string): BatchIds => {
  const process = randomBytes(3).readUIntBE(0, 3) % 2 ** 20
  let lastAt = 0
  let count = 0

  const checkOf = (bytes: Uint8Array, { accountId, liveMode }: Owner): number => {
    const check = createHmac('sha256', secret).update(`batch ${accountId} ${liveMode} `).update(bytes.subarray(0, 9)).update(halfOf(bytes))
    return check.digest().readUIntBE(0, 3) % 2 ** checkBits
  }

  return {
    mint: (owner, at) => {
      count = at > lastAt ? 0 : count + 1
      // A clock that stands still or steps back, or a full count, goes on from the last time.
      if (count >= counts) count = 0
      lastAt = at > lastAt ? at : count === 0 ? lastAt + 1 : lastAt
      const bytes = Buffer.alloc(idBytes)
      bytes.writeUIntBE(Math.floor(lastAt / 16), 0, 5)
      bytes.writeUIntBE((lastAt % 16) * 2 ** 44 + process * 2 ** 24 + count * 2 ** 12, 5, 6)
      writeCheck(bytes, checkOf(bytes, owner))
      return formatId('meterBatch', bytes)
    },
    mintedAt: (owner, id) => {
      if (!isId('meterBatch', id)) return null
      const bytes = Buffer.from(id.slice(4), 'hex')
      if (checkOf(bytes, owner) !== bytes.readUIntBE(9, 3) % 2 ** checkBits) return null
      return bytes.readUIntBE(0, 5) * 16 + ((bytes[5] ?? 0) >> 4)
    },
  }
}

/** The four bits of the count that share a byte with the check. */
const halfOf = (bytes: Uint8Array): Uint8Array => Uint8Array.of((bytes[9] ?? 0) >> 4)

const writeCheck = (bytes: Buffer, check: number): void => {
  bytes.writeUIntBE(((bytes[9] ?? 0) >> 4) * 2 ** checkBits + check, 9, 3)
}
