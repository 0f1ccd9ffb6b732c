import { rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { noOptions } from '../../services/domain/record/record.ts'
import { openChdb } from '../../services/platform/clickhouse/chdb.ts'
import { meterCostBlock } from '../../services/platform/clickhouse/encoding/fast-path/meter-cost-block.ts'
import { textLiteral } from '../../services/platform/clickhouse/encoding/literals.ts'
import type { MeterCostRow } from '../../services/platform/clickhouse/meter-cost/meter-cost-row.ts'
import { applySchemas, schemaFiles } from '../../services/platform/clickhouse/schemas.ts'
import { avroType, publishedSchemas } from '../../services/platform/log/avro/codec.ts'
import { recordTopic } from '../../services/platform/log/log.ts'
import type { RecordChunk } from '../../services/record-bytes/accepted-record.ts'
import { decodeRecordChunk, encodeRecordChunk } from '../../services/record-bytes/record-chunk.ts'
import { toAvro } from '../suites/avro-chunk.ts'
import { costRow, hexId } from '../suites/cost-rows.ts'
import { dataFolder } from '../support/system/running-system.ts'

// Compares the fast paths with the code that they replace, in alternation: node test/bench/fast-paths.ts
const records = 500
const rowCount = 2_000

type Case = { readonly name: string; readonly run: () => unknown }

/**
 * Print the first quartile of each case in µs per item. The cases run in turns, so that other load affects all cases.
 */
const compare = async (items: number, rounds: number, cases: readonly Case[]): Promise<void> => {
  const times = cases.map(() => [] as number[])
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, { run }] of cases.entries()) {
      const start = performance.now()
      await run()
      times[index]?.push((performance.now() - start) * 1_000)
    }
  }
  for (const [index, { name }] of cases.entries()) {
    const sorted = (times[index] ?? []).toSorted((a, b) => a - b)
    process.stdout.write(`${name}: ${((sorted[Math.floor(rounds / 4)] ?? 0) / items).toFixed(2)} µs\n`)
  }
}

const rows = Array.from({ length: rowCount }, (_, index): MeterCostRow => {
  const start = Date.UTC(2026, 8, 1) + index * 900_000
  const ids = { locationId: hexId('loc_', Math.floor(index / 40) + 1), deviceId: hexId('dev_', (index % 70) + 1) }
  return costRow({ ...ids, start, end: start + 900_000, recordId: hexId('', index + 1), batchId: hexId('bat_', 1) })
})

const chunk: RecordChunk = {
  kind: 'records',
  parts: [
    {
      accountId: hexId('acc_', 1),
      liveMode: true,
      batchId: hexId('bat_', 1),
      receivedAt: Date.UTC(2026, 8, 1),
      records: rows.slice(0, records).map((row, index) => ({
        locationId: row.locationId,
        deviceId: row.deviceId,
        energyFlowDirection: row.energyFlowDirection,
        tariffDirection: row.tariffDirection,
        start: row.start,
        end: row.end,
        energy: row.energy,
        confidence: row.recordConfidence,
        ...noOptions,
        sessionReferenceId: index % 3 === 0 ? `session-${index}` : null,
        recordNumber: index + 1,
        recordId: row.recordId,
      })),
    },
  ],
}

type AvroPart = Omit<RecordChunk['parts'][number], 'records'> & {
  readonly locations: readonly Buffer[]
  readonly devices: readonly Buffer[]
  readonly records: readonly Readonly<Record<string, never>>[]
}

/** Convert the output of avsc to the records of a chunk. */
const fromAvro = (value: { readonly [Branch in string]: { readonly parts: readonly AvroPart[] } }): unknown =>
  value['wattledger.meter.RecordChunk']?.parts.map(part => {
    const locations = part.locations.map(id => `loc_${id.toString('hex')}`)
    const devices = part.devices.map(id => `dev_${id.toString('hex')}`)
    return part.records.map(record => ({
      locationId: locations[record['location'] ?? -1],
      deviceId: devices[record['device'] ?? -1] ?? null,
      energyFlowDirection: record['energyFlowDirection'],
      tariffDirection: record['tariffDirection'],
      start: record['startTime'],
      end: Number(record['startTime']) + Number(record['length']),
      energy: record['energy'],
      confidence: record['confidence'],
      sessionReferenceId: record['sessionReferenceId'],
      recordReferenceId: record['recordReferenceId'],
      recordNumber: record['recordNumber'],
      recordId: String((record['recordId'] as Buffer | undefined)?.toString('hex')),
    }))
  })

const schema = publishedSchemas().findLast(({ topic }) => topic === recordTopic)?.schema ?? ''
const type = avroType(schema)
const bytes = encodeRecordChunk(chunk, 0)
await compare(records, 500, [
  { name: 'record, encoded by the fast path', run: () => encodeRecordChunk(chunk, 0) },
  { name: 'record, encoded by avsc', run: () => type.toBuffer(toAvro(chunk)) },
  { name: 'record, decoded by the fast path', run: () => decodeRecordChunk(bytes, 0) },
  { name: 'record, decoded by avsc', run: () => fromAvro(type.fromBuffer(bytes)) },
])

const decimal = (value: bigint, decimals: number): string => {
  const digits = value.toString().padStart(decimals + 1, '0')
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

const toJson = (all: readonly MeterCostRow[]): string =>
  all
    .map(row =>
      JSON.stringify([
        ...[row.accountId, row.locationId, row.deviceId ?? '', row.recordId, row.batchId ?? ''].map(id =>
          id.slice(-24),
        ),
        ...[row.liveMode, row.energyFlowDirection, row.tariffDirection, row.start, row.end, row.receivedAt],
        ...[decimal(row.energy, 6), row.recordConfidence, row.status, decimal(row.cost ?? 0n, 9), row.currency],
        ...[row.confidence, decimal(row.pieces[0]?.price ?? 0n, 9), row.pricingRevision, row.version.toString()],
        row.tariffIds.map(id => id.slice(-24)),
      ]),
    )
    .join('\n')

const jsonInsert = (file: string): string => {
  const id = (name: string) => `toFixedString(unhex(${name}), 12)`
  const at = (name: string) => `fromUnixTimestamp64Milli(${name}, 'UTC')`
  const structure =
    'a String, l String, d String, r String, b String, m Bool, f String, t String, s Int64, e Int64, i Int64, ' +
    'n Decimal(18, 6), rc UInt32, st String, c Decimal(38, 9), cu String, co UInt32, p Decimal(18, 9), pr UInt32, ' +
    'v UInt64, ti Array(String)'
  return `INSERT INTO meter_cost (account_id, location_id, device_id, record_id, batch_id, live_mode,
      energy_flow_direction, tariff_direction, start_time, end_time, received_at, energy, record_confidence, status,
      cost, currency, confidence, price, pricing_revision, version, tariff_ids)
    SELECT ${['a', 'l', 'd', 'r', 'b'].map(id).join(', ')}, m, f, t, ${['s', 'e', 'i'].map(at).join(', ')},
      n, rc, st, c, cu, co, p, pr, v, arrayMap(x -> ${id('x')}, ti)
    FROM file(${textLiteral(file)}, 'JSONCompactEachRow', ${textLiteral(structure)})`
}

const folder = dataFolder()
const jsonFile = join(folder, 'insert.json')
const db = openChdb({ folder })
await applySchemas(db, schemaFiles())
await compare(rowCount, 40, [
  { name: 'row, encoded as a Native block', run: () => meterCostBlock(rows) },
  { name: 'row, encoded as JSONCompactEachRow', run: () => toJson(rows) },
  { name: 'row, encoded and inserted as a Native block', run: () => db.insert(meterCostBlock(rows)) },
  {
    name: 'row, encoded and inserted as JSONCompactEachRow',
    run: async () => {
      await writeFile(jsonFile, toJson(rows))
      await db.command(jsonInsert(jsonFile))
    },
  },
])
await db.close()
rmSync(folder, { recursive: true, force: true })
