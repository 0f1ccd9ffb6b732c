import { type FairShare, fairShare } from '../concurrency/fair-share.ts'
import { Failure } from '../failure.ts'
import type { ClickHouse, ReadAccount } from './clickhouse.ts'

/** Number of concurrent reads of an engine, and of one account. */
export type ReadLimits = { readonly maxConcurrent: number; readonly maxConcurrentPerAccount: number }

/** Maximum waiting reads of one account. The admission of requests allows fewer. */
const maxWaitingPerAccount = 256

/** Time in ms after another account's read in which an account with many reads gets one slot. */
const contentionMs = 500

/** Account of the service's own reads, which have no limit of their own. */
const serviceAccount = ''

const never = new AbortController().signal

const tooManyReads = (): Failure =>
  new Failure('clickhouse_busy', 'Too many reads of the account wait for the engine.', { retriable: true })

/**
 * Share an engine's reads fairly: a free slot goes to the account with the least recent use, so an account with many
 * reads delays only itself. Reads without an account belong to the service and have their own share. Throws
 * `clickhouse_busy` if too many reads of the account wait. Source: docs/promises.md #s6.
 */
export const fairReads = (
  clickHouse: ClickHouse,
  { maxConcurrent, maxConcurrentPerAccount }: ReadLimits,
): ClickHouse => {
  const share: FairShare = fairShare({
    maxConcurrent,
    maxConcurrentPerAccount,
    maxWaitingPerAccount,
    unboundedAccount: serviceAccount,
    contentionMs,
  })
  const acquire = async (account = serviceAccount): Promise<() => void> => {
    const release = await share.acquire(account, never)
    if (release === null) throw tooManyReads()
    return release
  }
  const within = async <T>(reader: ReadAccount | undefined, read: () => Promise<T>): Promise<T> => {
    const release = await acquire(reader?.accountId)
    try {
      return await read()
    } finally {
      release()
    }
  }
  return {
    ...clickHouse,
    rows: (sql, reader) => within(reader, () => clickHouse.rows(sql)),
    lines: (sql, reader) => within(reader, () => clickHouse.lines(sql)),
    blocks: (sql, reader) => within(reader, () => clickHouse.blocks(sql)),
    stream: async function* (sql, reader) {
      const release = await acquire(reader?.accountId)
      try {
        yield* clickHouse.stream(sql)
      } finally {
        release()
      }
    },
  }
}
