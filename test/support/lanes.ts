import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCodec } from '../../services/platform/log/codec.ts'
import { openLmdbLog } from '../../services/platform/log/lmdb-log.ts'
import type { Lane } from '../../services/platform/log/log.ts'
import type { Order } from '../../services/platform/log/messages.ts'
import { localSchemaIds } from '../../services/platform/log/schema-ids.ts'

const topic = 'meter.records.v1'

/** Lanes on the embedded log in a folder of their own. `orders` gives those that came since it was last asked, each with its lane. */
export const openLanes = async (partitions: number) => {
  const folder = mkdtempSync(join(tmpdir(), 'wattledger-lanes-'))
  const log = await openLmdbLog({ folder, now: () => Date.now(), topics: { [topic]: { partitions } } })
  const codec = await openCodec(localSchemaIds())
  const lanes: Lane[] = []
  const reader = await log.subscribe(topic, 'reader', lane => void lanes.push(lane))
  const seen = new Map<Lane, number>()
  const orders = async () => {
    const found: { readonly lane: number; readonly order: Order }[] = []
    for (const lane of lanes) {
      const { end } = await log.lag(topic, lane.partition, 'reader')
      while ((seen.get(lane) ?? 0) < end) {
        for (const { offset, value } of await lane.read({ maxMessages: 100, maxBytes: 10_000_000 })) {
          const message = await codec.decodeLane(value)
          if (message.kind === 'order') found.push({ lane: lane.partition, order: message })
          seen.set(lane, offset + 1)
        }
      }
    }
    return found
  }
  return {
    log,
    codec,
    generation: () => 3,
    orders,
    [Symbol.asyncDispose]: async () => {
      await reader.close()
      await log.close()
      rmSync(folder, { recursive: true })
    },
  }
}
