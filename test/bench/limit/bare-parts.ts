import { hash } from 'node:crypto'
import { Hono } from 'hono'
import { type LaneBuffer, reachedBy } from '../../../services/cost-worker/lane-buffer.ts'
import type { ClickHouse } from '../../../services/platform/clickhouse/clickhouse.ts'
import { meterCostBlock } from '../../../services/platform/clickhouse/meter-cost-block.ts'
import type { MeterCostRow } from '../../../services/platform/clickhouse/meter-cost-row.ts'
import { presentInstant } from '../../../services/platform/clock.ts'
import { listen } from '../../../services/platform/http/listen.ts'
import type { Codec } from '../../../services/platform/log/codec.ts'
import type { Log } from '../../../services/platform/log/log.ts'
import type { AcceptedRecord } from '../../../services/platform/log/messages.ts'

/**
 * The bare pipeline: the same parts and bodies as the product, without checking, pricing or receipts. It is the limit that the product is
 * measured against.
 */
const topic = 'meter.records.v1'
const accountId = `acc_${'0'.repeat(23)}1`
const tariffIds = [`trf_${'0'.repeat(23)}1`]

type Sent = { location_id: string; device_id: string; value: number; start_time: string; end_time: string }

const recordOf = (sent: Sent, index: number): AcceptedRecord => {
  const start = Date.parse(sent.start_time)
  return {
    locationId: sent.location_id,
    deviceId: sent.device_id,
    energyFlowDirection: 'INBOUND',
    tariffDirection: 'IMPORT',
    start,
    end: Date.parse(sent.end_time),
    energy: BigInt(Math.round(sent.value * 1e6)),
    confidence: 1_000_000,
    sessionReferenceId: null,
    recordReferenceId: null,
    recordNumber: index + 1,
    recordId: hash('sha256', `${sent.location_id}${sent.device_id}${start}`, 'hex').slice(0, 24),
  }
}

const rowOf = (record: AcceptedRecord, version: bigint): MeterCostRow => {
  const cost = record.energy / 4n
  return {
    ...record,
    accountId,
    liveMode: false,
    energySubmitted: null,
    recordConfidence: record.confidence,
    status: 'PRICED',
    cost,
    currency: 'EUR',
    confidence: 1_000_000,
    pieces: [{ start: record.start, energy: record.energy, price: 250_000_000n, tier: 0n, cost, confidence: 1_000_000 }],
    tariffIds,
    marketSourceIds: [],
    pricingRevision: 1,
    priceRevision: 0n,
    batchId: null,
    version,
    sourceVersion: version,
    receivedAt: record.start,
    isDeleted: false,
  }
}

/** Take submissions into the log; gives the port. */
export const serveBare = async (log: Log, codec: Codec): Promise<number> => {
  let turn = 0
  const app = new Hono()
  app.put('/meters/interval', async context => {
    const sent = JSON.parse(new TextDecoder().decode(await context.req.arrayBuffer())) as Sent[]
    const part = { accountId, liveMode: false, batchId: null, receivedAt: presentInstant(), records: sent.map(recordOf) }
    const partition = turn++ % log.partitions(topic)
    await log.append(topic, partition, { key: 'k', value: codec.encodeLane({ kind: 'records', parts: [part] }), headers: {} })
    return context.json({ records_accepted: sent.length })
  })
  const silent = { warn: () => undefined, error: () => undefined }
  const means = { at: presentInstant, mintRequestId: () => 'req', log: silent }
  return (await listen(app, { host: '127.0.0.1', port: 0 }, means)).port
}

/** Store what the log brings, for ever; gives what tells the number of stored rows. */
export const workBare = (buffer: LaneBuffer, codec: Codec, clickHouse: ClickHouse): (() => number) => {
  let stored = 0
  let version = 0n
  const work = async (): Promise<void> => {
    const forever = new AbortController()
    for (;;) {
      const taken = await buffer.take(1_000_000, forever.signal)
      const rows: MeterCostRow[] = []
      for (const { messages } of taken) {
        for (const message of messages) {
          const content = await codec.decodeLane(message.value)
          if (content.kind !== 'records') continue
          for (const part of content.parts) for (const record of part.records) rows.push(rowOf(record, version++))
        }
      }
      await clickHouse.insert(meterCostBlock(rows))
      stored += rows.length
      await buffer.commit(reachedBy(taken))
    }
  }
  void work()
  return () => stored
}
