import { Failure } from '../failure.ts'
import { type FairShare, fairShare } from '../fair-share.ts'
import type { ClickHouse, Reader } from './clickhouse.ts'

/** How many reads an engine answers at once, and how many of them may be of one account. */
export type ReadLimits = { readonly atOnce: number; readonly ofAccount: number }

/** So many reads of one account may wait. The admission of requests lets an account ask for fewer. */
const waiting = 256

/** A pause of an account between two of its reads. */
const crowdedMs = 500

/** Stands for reads of the service itself, which have no bound of their own. */
const service = ''

const never = new AbortController().signal

const tooMany = (): Failure => new Failure('clickhouse_busy', 'too many reads of the account wait for the engine', { retriable: true })

/**
 * Let accounts read from an engine in turn: a free place goes to the account that has used the engine for the shortest time of late, so that an
 * account that asks for much waits for itself. Reads without a tenant are the service's and take turns with the accounts.
 * Throws `clickhouse_busy` if too many reads of the account wait. Source: docs/promises.md #s6.
 */
export const fairReads = (clickHouse: ClickHouse, { atOnce, ofAccount }: ReadLimits): ClickHouse => {
  const share: FairShare = fairShare({ atOnce, ofAccount, waiting, unbounded: service, crowdedMs })
  const enter = async (account = service): Promise<() => void> => {
    const leave = await share.enter(account, never)
    if (leave === null) throw tooMany()
    return leave
  }
  const within = async <T>(of: Reader | undefined, read: () => Promise<T>): Promise<T> => {
    const leave = await enter(of?.accountId)
    try {
      return await read()
    } finally {
      leave()
    }
  }
  return {
    ...clickHouse,
    rows: (sql, of) => within(of, () => clickHouse.rows(sql)),
    lines: (sql, of) => within(of, () => clickHouse.lines(sql)),
    stream: async function* (sql, of) {
      const leave = await enter(of?.accountId)
      try {
        yield* clickHouse.stream(sql)
      } finally {
        leave()
      }
    },
  }
}
