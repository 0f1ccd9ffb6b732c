import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCodec } from '../../../services/platform/log/avro/codec.ts'
import { localSchemaIds } from '../../../services/platform/log/avro/schema-ids.ts'
import { openLmdbLog } from '../../../services/platform/log/lmdb/lmdb-log.ts'
import { type Assignment, recordTopic } from '../../../services/platform/log/log.ts'
import type { StoredRowRequest } from '../../../services/platform/log/messages.ts'

/**
 * Open an embedded log with some partitions in a temporary folder.
 * `takeRequests` returns the recost and erase requests that were appended since its last call, each with its partition.
 */
export const openPartitions = async (partitions: number) => {
  const folder = mkdtempSync(join(tmpdir(), 'wattledger-partitions-'))
  const log = await openLmdbLog({ folder, now: () => Date.now(), topics: { [recordTopic]: { partitions } } })
  const codec = await openCodec(localSchemaIds())
  const assignments: Assignment[] = []
  const reader = await log.subscribe(recordTopic, 'reader', assignment => void assignments.push(assignment))
  const readOffsets = new Map<Assignment, number>()
  const takeRequests = async () => {
    const found: { readonly partition: number; readonly request: StoredRowRequest }[] = []
    for (const assignment of assignments) {
      const { end } = await log.lag(recordTopic, assignment.partition, 'reader')
      while ((readOffsets.get(assignment) ?? 0) < end) {
        for (const { offset, value } of await assignment.read({ maxMessages: 100, maxBytes: 10_000_000 })) {
          const message = await codec.decodeMeterMessage(value)
          if (message.kind === 'order') found.push({ partition: assignment.partition, request: message })
          readOffsets.set(assignment, offset + 1)
        }
      }
    }
    return found
  }
  return {
    log,
    codec,
    generation: () => 3,
    takeRequests,
    [Symbol.asyncDispose]: async () => {
      await reader.close()
      await log.close()
      rmSync(folder, { recursive: true })
    },
  }
}
