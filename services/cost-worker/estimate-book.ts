import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { estimatedObjects } from '../platform/clickhouse/meter-cost-counts.ts'
import { isEstimate } from './lane-group.ts'
import type { LaneRecord } from './settle.ts'

/** Which objects have estimates, so that the records of all others need not look for any. */
export type EstimateBook = {
  /** Take note of a step's estimates; read what is stored, the first time. */
  readonly learn: (records: ReadonlyMap<string, readonly LaneRecord[]>) => Promise<void>
  readonly has: (record: LaneRecord['record']) => boolean
  /** Forget all: it is read again. */
  readonly drop: () => void
}

const keyOf = ({ locationId, deviceId }: { readonly locationId: string; readonly deviceId: string | null }): string =>
  `${locationId}/${deviceId ?? ''}`

/** Make the book over the stored rows. An object once noted stays in it: that only costs time. */
export const estimateBook = (db: ClickHouse): EstimateBook => {
  let known: Set<string> | null = null
  let reading: Promise<Set<string>> | null = null

  const read = async (): Promise<Set<string>> => {
    const found = new Set((await estimatedObjects(db)).map(keyOf))
    known = found
    return found
  }

  return {
    learn: async records => {
      // Steps and slow work may learn at the same time: what one has noted must not be read over.
      reading ??= read().catch(error => {
        reading = null
        throw error
      })
      const known = await reading
      for (const entries of records.values()) {
        for (const { record } of entries) if (isEstimate(record.confidence)) known.add(keyOf(record))
      }
    },
    has: record => known !== null && known.size > 0 && known.has(keyOf(record)),
    drop: () => {
      known = null
      reading = null
    },
  }
}
