import { type FairShare, fairShare } from '../concurrency/fair-share.ts'
import { Failure } from '../failure.ts'
import type { ClickHouse, ReadAccount } from './clickhouse.ts'

/** How many reads an engine answers at once, and how many of them may be of one account. */
export type ReadLimits = { readonly maxConcurrent: number; readonly maxConcurrentPerAccount: number }

/** So many reads of one account may wait. The admission of requests lets an account ask for fewer. */
const maxWaitingPerAccount = 256

/** A pause of an account between two of its reads. */
const contentionMs = 500

/** Stands for reads of the service itself, which have no bound of their own. */
const serviceAccount = ''

const never = new AbortController().signal

const tooManyReads = (): Failure =>
  new Failure('clickhouse_busy', 'too many reads of the account wait for the engine', { retriable: true })

/**
 * Let accounts read from an engine in turn: a free place goes to the account that has used the engine for the shortest time of late, so that an
 * account that asks for much waits for itself. Reads without a tenant are the service's and take turns with the accounts.
 * Throws `clickhouse_busy` if too many reads of the account wait. Source: docs/promises.md #s6.
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
