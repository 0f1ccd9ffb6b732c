import type { RecordChunk } from '../../services/record-bytes/accepted-record.ts'

/** Convert a chunk to the input of a general Avro codec: indexes and bytes instead of ids. */
export const toAvro = ({ parts }: RecordChunk): unknown => {
  const bytes = (prefixed: string): Buffer => Buffer.from(prefixed.slice(-24), 'hex')
  const named = parts.map(({ accountId, batchId, records, ...rest }) => {
    const locations = [...new Set(records.map(entry => entry.locationId))]
    const devices = [...new Set(records.flatMap(entry => entry.deviceId ?? []))]
    return {
      ...rest,
      accountId: bytes(accountId),
      batchId: batchId === null ? null : bytes(batchId),
      locations: locations.map(bytes),
      devices: devices.map(bytes),
      records: records.map(entry => ({
        ...entry,
        location: locations.indexOf(entry.locationId),
        device: entry.deviceId === null ? -1 : devices.indexOf(entry.deviceId),
        startTime: entry.start,
        length: entry.end - entry.start,
        recordId: bytes(entry.recordId),
      })),
    }
  })
  return { 'wattledger.meter.RecordChunk': { parts: named } }
}
