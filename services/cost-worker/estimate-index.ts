import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { estimatedObjects } from '../platform/clickhouse/meter-cost/meter-cost-counts.ts'
import type { RecordToCost } from './record-to-cost.ts'
import { isEstimate } from './recost/change-set.ts'

/** Which objects have estimates, so that the records of all others need not look for any. */
export type EstimateIndex = {
  /** Take note of a step's estimates; read what is stored, the first time. */
  readonly addRecords: (records: ReadonlyMap<string, readonly RecordToCost[]>) => Promise<void>
  readonly has: (record: RecordToCost['record']) => boolean
  /** Forget all: it is read again. */
  readonly drop: () => void
}

const keyOf = ({ locationId, deviceId }: { readonly locationId: string; readonly deviceId: string | null }): string =>
  `${locationId}/${deviceId ?? ''}`

/** Make the book over the stored rows. An object once noted stays in it: that only costs time. */
export const estimateIndex = (db: ClickHouse): EstimateIndex => {
  let knownObjects: Set<string> | null = null
  let loading: Promise<Set<string>> | null = null

  const read = async (): Promise<Set<string>> => {
    const found = new Set((await estimatedObjects(db)).map(keyOf))
    knownObjects = found
    return found
  }

  return {
    addRecords: async records => {
      // Steps and slow work may learn at the same time: what one has noted must not be read over.
      loading ??= read().catch(error => {
        loading = null
        throw error
      })
      const knownObjects = await loading
      for (const entries of records.values()) {
        for (const { record } of entries) if (isEstimate(record.confidence)) knownObjects.add(keyOf(record))
      }
    },
    has: record => knownObjects !== null && knownObjects.size > 0 && knownObjects.has(keyOf(record)),
    drop: () => {
      knownObjects = null
      loading = null
    },
  }
}
