import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { recordIdentityText } from '../../../services/domain/identifier.ts'
import { callAs, headersOf, partsOf, readPartitions, recordsOf } from '../../support/metering/gateway.ts'
import {
  type Batch,
  deviceId,
  gateway,
  live,
  many,
  record,
  start,
  submit,
  useGateway,
} from '../../support/metering/submissions.ts'
import { makeTenants } from '../../support/stores/postgres.ts'

useGateway()

describe('what is accepted', () => {
  it('is in the partitions as it was sent, each record once, with the id of its identity', async () => {
    const batch = await submit([
      record(0, { device_id: deviceId, session_reference_id: 'Sitzung ä', record_reference_id: 'r-0' }),
      record(1, {
        energy_flow_direction: 'OUTBOUND',
        tariff_direction: 'IMPORT',
        units: 'KW',
        value: 3.6,
        confidence: 0.5,
      }),
    ])
    expect(batch).toMatchObject({
      object: 'meter_batch',
      records_submitted: 2,
      records_accepted: 2,
      records_processed: 0,
      failed_records: [],
    })
    const [first, second] = recordsOf(await readPartitions(gateway), batch.id)
    expect(first).toMatchObject({
      recordNumber: 1,
      deviceId,
      sessionReferenceId: 'Sitzung ä',
      energy: 250_000n,
      confidence: 1_000_000,
      start,
    })
    // 3.6 kW over a second is 1 Wh.
    expect(second).toMatchObject({
      recordNumber: 2,
      energyFlowDirection: 'OUTBOUND',
      energy: 1_000_000n,
      confidence: 500_000,
    })
    for (const stored of [first, second]) {
      if (stored === undefined) throw new Error('a record is missing')
      const identity = recordIdentityText({ ...live, ...stored })
      expect(stored.recordId).toBe(createHash('sha256').update(identity).digest('hex').slice(0, 24))
    }
  })

  it('is the same in both API versions', async () => {
    const current = await submit([record(10, { energy_flow_direction: 'OUTBOUND', tariff_direction: 'EXPORT' })])
    const earlier = await submit([record(10, { direction: 'EXPORT', tariff_rate: 'EXPORT' })], {
      'api-version': '2024-08-24',
    })
    const written = await readPartitions(gateway)
    expect(recordsOf(written, earlier.id)).toEqual(recordsOf(written, current.id))
    expect(recordsOf(written, current.id)).toHaveLength(1)
  })

  it('may come in lines and compressed', async () => {
    const lines = [record(20), record(21)].map(one => JSON.stringify(one)).join('\n')
    const inLines = await submit(`${lines}\n\n`, { 'content-type': 'application/x-ndjson' })
    const request = {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${live.accountId}/live`,
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      },
    }
    const response = await gateway.app.request('/meters/interval', {
      ...request,
      body: gzipSync(JSON.stringify([record(20), record(21)])),
    })
    const compressed = (await response.json()) as Batch
    const written = await readPartitions(gateway)
    expect(recordsOf(written, inLines.id)).toHaveLength(2)
    expect(recordsOf(written, compressed.id)).toEqual(recordsOf(written, inLines.id))
  })

  it('has the records of each batch in the headers of a chunk, in order', async () => {
    const batch = await submit(many(1200))
    const written = await readPartitions(gateway)
    const chunks = written.filter(({ headers }) => headers.batches.some(one => one.batchId === batch.id))
    expect(chunks.length).toBeGreaterThan(1)
    for (const { headers, message } of chunks) {
      const records =
        message.kind === 'records'
          ? message.parts.filter(part => part.batchId === batch.id).flatMap(part => part.records)
          : []
      expect(headers.generation).toBe(3)
      expect(headers.batches.find(one => one.batchId === batch.id)?.recordNumbers).toEqual(
        records.map(one => one.recordNumber),
      )
      expect(message.kind === 'records' && message.parts.flatMap(part => part.records).length).toBeLessThanOrEqual(500)
    }
    expect(new Set(chunks.map(({ headers }) => headers.chunkId)).size).toBe(chunks.length)
    const inOrder = partsOf(written, batch.id).flatMap(part => part.records.map(one => one.recordNumber))
    expect(inOrder).toEqual(Array.from({ length: 1200 }, (_, index) => index + 1))
  })

  it('shares chunks between concurrent requests', async () => {
    const batches = await Promise.all(Array.from({ length: 40 }, (_, index) => submit([record(100 + index)])))
    const written = await readPartitions(gateway)
    const ids = new Set(batches.map(batch => batch.id))
    const chunks = written.filter(({ headers }) => headers.batches.some(one => ids.has(one.batchId)))
    expect(ids.size).toBe(40)
    expect(chunks.length).toBeLessThan(40)
    for (const batch of batches) expect(recordsOf(written, batch.id)).toHaveLength(1)
  })

  it('has one id if it is sent several times at once', async () => {
    const duplicates = await Promise.all(Array.from({ length: 5 }, () => submit([record(300), record(301)])))
    const written = await readPartitions(gateway)
    const ids = duplicates.map(duplicate => recordsOf(written, duplicate.id).map(one => one.recordId))
    for (const one of ids) expect(one).toEqual(ids[0])
  })
})

describe('what is refused', () => {
  it('is numbered from 1, named, and kept in the header of its batch', async () => {
    const body = [
      record(0),
      record(1, { record_reference_id: 'late', end_time: new Date(start).toISOString() }),
      record(0),
      record(2, { location_id: 'loc_ffffffffffffffffffffffff' }),
      record(3, { device_id: 'dev_ffffffffffffffffffffffff' }),
      'no record',
      record(4, { note: 'x'.repeat(8200) }),
      record(5, { direction: 'IMPORT' }),
    ]
    const batch = await submit(body)
    expect(batch).toMatchObject({ records_submitted: 8, records_accepted: 1 })
    expect(batch.failed_records.map(failed => failed.record_num)).toEqual([2, 3, 4, 5, 6, 7, 8])
    expect(batch.failed_records[0]).toEqual({
      record_num: 2,
      record_reference_id: 'late',
      error: 'end_time must not be before start_time',
    })
    expect(batch.failed_records[1]?.error).toBe('duplicate of record 1')
    const [header] = headersOf(await readPartitions(gateway), batch.id)
    expect(header).toMatchObject({ recordsSubmitted: 8, recordsAccepted: 1 })
    expect(header?.refused.map(failed => failed.error.replace(/[.]$/, ''))).toEqual(
      batch.failed_records.map(failed => failed.error.replace(/[.]$/, '')),
    )
    for (const { error } of batch.failed_records.slice(2)) expect(error).toMatch(/[.?]$/)
  })

  it('leaves a batch with its header also where nothing is good, cut into messages that fit', async () => {
    const batch = await submit(Array.from({ length: 10_000 }, () => ({ record_reference_id: 'x'.repeat(255) })))
    const headers = headersOf(await readPartitions(gateway), batch.id)
    expect(batch).toMatchObject({ records_submitted: 10_000, records_accepted: 0 })
    expect(headers.length).toBeGreaterThan(1)
    expect(headers.flatMap(header => header.refused.map(failed => failed.recordNumber))).toEqual(
      Array.from({ length: 10_000 }, (_, index) => index + 1),
    )
  })

  it('is an object of the other mode or of another account', async () => {
    const other = (await makeTenants(gateway.database)).live
    for (const tenant of [other, { ...live, liveMode: false }]) {
      const answer = await callAs(gateway.app, tenant)('PUT', '/meters/interval', [
        record(0),
        record(1, { device_id: deviceId }),
      ])
      expect([answer.status, answer.body['records_accepted']]).toEqual([200, 0])
    }
  })
})
