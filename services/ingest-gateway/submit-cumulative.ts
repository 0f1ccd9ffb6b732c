import { meterBatchToWire, recordReferenceOf } from '../contract/metering/meter-batch.ts'
import {
  type CumulativeSubmission,
  type meterCumulativeSubmit,
  readCumulative,
  readReading,
} from '../contract/metering/meter-cumulative.ts'
import type { AnswerOf, Outcome, RequestOf } from '../contract/operation.ts'
import { isId } from '../domain/identifier.ts'
import { accepted, type Result, refused } from '../domain/refusal.ts'
import { runInTimeSlices } from '../platform/concurrency/time-slices.ts'
import type { BatchIds } from '../platform/ids/batch-id.ts'
import type { Reading, RefusedRecord } from '../platform/log/messages.ts'
import type { Tenant } from '../platform/postgres/transaction.ts'
import type { ChunkWriter } from './chunk-writer.ts'
import type { KnownObjects } from './known-objects.ts'
import type { KnownReferences } from './known-references.ts'
import { withObjectIds } from './named-objects.ts'
import type { ReadingWriter } from './reading-writer.ts'
import { registerIdDigits } from './register-id.ts'
import type { GatewayCounters } from './submit-interval.ts'

export type SubmitCumulativeDependencies = {
  readonly known: KnownObjects
  readonly references: KnownReferences
  readonly readings: ReadingWriter
  readonly headers: Pick<ChunkWriter, 'writeHeader'>
  readonly batchIds: BatchIds
  readonly counts: GatewayCounters
}

type Request = RequestOf<typeof meterCumulativeSubmit>

/**
 * Take a submission of readings of one register: check each, write the good ones durably, answer with the receipt.
 * Refuses the whole for what is wrong with anything but a reading, and for a location or device that does not exist. Throws `Failure`
 * where a store is away or the fate of a reading is unknown; then nothing is acknowledged and the whole may be sent again.
 * Source: docs/rules/metering.md #register-readings, #acknowledgement.
 */
export const submitCumulative =
  ({ known, references, readings: writer, headers, batchIds, counts }: SubmitCumulativeDependencies) =>
  async ({ at, body, apiVersion, caller }: Request): Promise<Outcome<AnswerOf<typeof meterCumulativeSubmit>>> => {
    const tenant: Tenant = { accountId: caller.accountId, liveMode: caller.liveMode }
    const parsed = await runInTimeSlices(readCumulative(body.bytes, apiVersion), caller.accountId)
    if (!parsed.ok) return parsed
    const submission = await withObjectIds(tenant, parsed.value, references.find)
    if (!submission.ok) return submission
    const { elements, units: _, ...register } = submission.value
    const partition = await findPartition(known, tenant, register, at)
    if (!partition.ok) return partition
    const { readings, refused: failed } = await runInTimeSlices(
      validateReadings(submission.value, tenant, at),
      caller.accountId,
    )
    const batchId = batchIds.create(tenant, at)
    const { locationId, deviceId } = register
    const batch = { ...tenant, batchId, receivedAt: at }
    const recordCounts = { recordsSubmitted: elements.length, recordsAccepted: readings.length }
    // Both are waited for, whichever fails: nothing of this submission may still be under way when it is answered.
    const written = await Promise.allSettled([
      writer.write(partition.value, { ...batch, ...register, readings }),
      headers.writeHeader({
        kind: 'submission',
        ...batch,
        ...recordCounts,
        refused: failed.map(one => ({ ...one, locationId, deviceId })),
      }),
    ])
    for (const one of written) if (one.status === 'rejected') throw one.reason
    counts.refused(failed.length)
    counts.bytes(body.bytes.length)
    return accepted(
      meterBatchToWire({ ...tenant, id: batchId, ...recordCounts, recordsProcessed: 0, failed, createdAt: at }),
    )
  }

const noLocation = refused('location_not_found', 'location_id must be the id of a location that exists', 'location_id')
const noDevice = refused('device_not_found', 'device_id must be the id of a device that exists', 'device_id')

type RegisterObjects = Pick<CumulativeSubmission, 'locationId' | 'deviceId'>

/** Find the lane of the location; asks the store only for objects that are not known. */
const findPartition = async (
  known: KnownObjects,
  tenant: Tenant,
  { locationId, deviceId }: RegisterObjects,
  at: number,
): Promise<Result<number>> => {
  if (!isId('location', locationId)) return noLocation
  if (deviceId !== null && !isId('device', deviceId)) return noDevice
  const cached = known.partitionOf(tenant, locationId, at)
  if (cached !== undefined && (deviceId === null || known.hasDevice(tenant, deviceId, at))) return accepted(cached)
  const found = await known.resolve(
    tenant,
    { locations: new Set([locationId]), devices: new Set(deviceId === null ? [] : [deviceId]) },
    at,
  )
  const partition = found.get(locationId)?.partition
  if (partition === undefined) return noLocation
  return deviceId === null || found.has(deviceId) ? accepted(partition) : noDevice
}

type ValidatedReadings = { readonly readings: readonly Reading[]; readonly refused: readonly RefusedRecord[] }

/** Readings that are checked between two points where others can have a turn. */
const readingsAtOnce = 64

/** Check the readings one by one, number them from 1, and give the good ones the ids of the intervals that they open. */
function* validateReadings(
  { elements, units, ...register }: CumulativeSubmission,
  tenant: Tenant,
  at: number,
): Generator<void, ValidatedReadings> {
  const numbers = new Map<number, number>()
  const readings: Reading[] = []
  const failed: RefusedRecord[] = []
  for (const [index, element] of elements.entries()) {
    if (index % readingsAtOnce === 0) yield
    const recordNumber = index + 1
    const read = readReading(element, units, at)
    const duplicateNumber = read.ok ? numbers.get(read.value.time) : undefined
    if (!read.ok)
      failed.push({ recordNumber, recordReferenceId: recordReferenceOf(element), error: read.refusal.message })
    else if (duplicateNumber !== undefined) {
      failed.push({
        recordNumber,
        recordReferenceId: read.value.recordReferenceId,
        error: `duplicate of record ${duplicateNumber}`,
      })
    } else {
      numbers.set(read.value.time, recordNumber)
      readings.push({
        ...read.value,
        recordNumber,
        recordId: registerIdDigits({ ...tenant, ...register, openedAt: read.value.time }),
      })
    }
  }
  return { readings, refused: failed }
}
