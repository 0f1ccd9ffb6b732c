import { noOptions } from '../../../services/domain/record/record.ts'
import { type ChunkBatch, toHeaders } from '../../../services/platform/log/chunk-headers.ts'
import { recordTopic } from '../../../services/platform/log/log.ts'
import { partitionKey, partitionOf } from '../../../services/platform/log/partition.ts'
import type { AcceptedRecord } from '../../../services/record-bytes/accepted-record.ts'
import { recordIdDigits } from '../../../services/record-bytes/record-id.ts'
import { hexId } from '../../suites/cost-rows.ts'
import type { PartitionFixture } from './partition-fixture.ts'

type RecordLog = Pick<PartitionFixture, 'log' | 'tenant'>

export const partitionOfLocation = ({ log, tenant }: RecordLog, locationId: string): number =>
  partitionOf(partitionKey(tenant.accountId, locationId), log.partitions(recordTopic))

/** Return ids of locations that are in no registry. All belong to one partition. */
export const unknownLocationsIn = (fixture: RecordLog, partition: number, count: number): readonly string[] => {
  const ids: string[] = []
  for (let number = 1; ids.length < count; number += 1) {
    const id = hexId('loc_', 0xbad0000 + number)
    if (partitionOfLocation(fixture, id) === partition) ids.push(id)
  }
  return ids
}

/** Create a record of one hour of import, as the gateway would have accepted it. */
export const acceptedRecord = (
  { tenant }: RecordLog,
  locationId: string,
  more: Partial<AcceptedRecord> = {},
): AcceptedRecord => {
  const start = more.start ?? Date.parse('2025-06-02T10:00:00Z')
  const record = {
    locationId,
    deviceId: null,
    energyFlowDirection: 'INBOUND' as const,
    tariffDirection: 'IMPORT' as const,
    start,
    end: start + 3_600_000,
    energy: 2_000_000_000n,
    confidence: 1_000_000,
    ...noOptions,
    recordNumber: 1,
    ...more,
  }
  return { ...record, recordId: recordIdDigits(tenant, record) }
}

let chunks = 0

/** Append bytes with the headers of a chunk to the partition of a location. Return their offset. */
export const appendBytes = (
  { log, tenant }: RecordLog,
  locationId: string,
  value: Buffer,
  batches: readonly ChunkBatch[] = [],
): Promise<number> => {
  chunks += 1
  const headers = toHeaders({ generation: 1, chunkId: `appended ${chunks}`, batches })
  return log.append(recordTopic, partitionOfLocation({ log, tenant }, locationId), {
    key: partitionKey(tenant.accountId, locationId),
    value,
    headers,
  })
}

/** Append records to the partition of a location without the checks of the gateway. */
export const appendRecords = (
  fixture: PartitionFixture,
  locationId: string,
  records: readonly AcceptedRecord[],
): Promise<number> => {
  const part = { ...fixture.tenant, batchId: null, receivedAt: Date.now(), records }
  return appendBytes(fixture, locationId, fixture.codec.encodeMeterMessage({ kind: 'records', parts: [part] }))
}
