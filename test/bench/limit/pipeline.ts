import { hash } from 'node:crypto'
import { join } from 'node:path'
import { Hono } from 'hono'
import { openLaneBuffer } from '../../../services/cost-worker/lane-buffer.ts'
import { openChdb } from '../../../services/platform/clickhouse/chdb.ts'
import { meterCostBlock } from '../../../services/platform/clickhouse/meter-cost-block.ts'
import type { MeterCostRow } from '../../../services/platform/clickhouse/meter-cost-row.ts'
import { applySchemas, schemaFiles } from '../../../services/platform/clickhouse/schemas.ts'
import { presentInstant } from '../../../services/platform/clock.ts'
import { listen } from '../../../services/platform/http/listen.ts'
import { openCodec } from '../../../services/platform/log/codec.ts'
import { openLmdbLog } from '../../../services/platform/log/lmdb-log.ts'
import type { AcceptedRecord } from '../../../services/platform/log/messages.ts'
import { localSchemaIds } from '../../../services/platform/log/schema-ids.ts'

/**
 * The bare pipeline: the same parts and bodies as the product, without checking, pricing or receipts. It is the limit that the product is
 * measured against. Forked with a folder as its argument; sends its port, then its stored rows for every message it gets.
 */
const folder = process.argv[2] ?? ''
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

const clickHouse = openChdb({ folder: join(folder, 'clickhouse') })
await applySchemas(clickHouse, schemaFiles())
const log = await openLmdbLog({ folder: join(folder, 'log'), now: presentInstant })
const codec = await openCodec(localSchemaIds())
const buffer = await openLaneBuffer(log, 'cost-worker')
let turn = 0
let stored = 0
let version = 0n

const app = new Hono()
app.put('/meters/interval', async context => {
  const sent = JSON.parse(new TextDecoder().decode(await context.req.arrayBuffer())) as Sent[]
  const part = { accountId, liveMode: false, batchId: null, receivedAt: presentInstant(), records: sent.map(recordOf) }
  const partition = turn++ % log.partitions(topic)
  await log.append(topic, partition, { key: 'k', value: codec.encodeLane({ kind: 'records', parts: [part] }), headers: {} })
  return context.json({ records_accepted: sent.length })
})

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
    await buffer.commit(taken)
  }
}

const silent = { warn: () => undefined, error: () => undefined }
const means = { at: presentInstant, mintRequestId: () => 'req', log: silent }
const listener = await listen(app, { host: '127.0.0.1', port: 0 }, means)
void work()
process.on('message', () => process.send?.({ stored }))
process.send?.({ port: listener.port })
