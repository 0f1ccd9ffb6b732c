import { isEstimate } from '../domain/cost/covered-intervals.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { estimatedObjects } from '../platform/clickhouse/meter-cost/meter-cost-counts.ts'
import type { RecordToCost } from './record-to-cost.ts'

/** Objects that have estimates. Records of all other objects need no search for estimates. */
export type EstimateIndex = {
  /** Add the objects of a step's estimates. The first call reads the stored objects. */
  readonly addRecords: (records: ReadonlyMap<string, readonly RecordToCost[]>) => Promise<void>
  /** Return whether the stored objects are read. */
  readonly isLoaded: () => boolean
  readonly has: (record: Pick<RecordToCost['record'], 'locationId' | 'deviceId'>) => boolean
  /** Drop the index. The next call of `addRecords` reads it again. */
  readonly drop: () => void
}

const keyOf = ({ locationId, deviceId }: { readonly locationId: string; readonly deviceId: string | null }): string =>
  `${locationId}/${deviceId ?? ''}`

/**
 * Create the index over the stored rows. An object stays in the index if its estimates are replaced; that only costs
 * time.
 */
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
      // Steps and slow work can add objects at the same time, so the stored objects are read once only.
      loading ??= read().catch(error => {
        loading = null
        throw error
      })
      const knownObjects = await loading
      for (const entries of records.values()) {
        for (const { record } of entries) if (isEstimate(record)) knownObjects.add(keyOf(record))
      }
    },
    isLoaded: () => knownObjects !== null,
    has: record => knownObjects !== null && knownObjects.size > 0 && knownObjects.has(keyOf(record)),
    drop: () => {
      knownObjects = null
      loading = null
    },
  }
}
