import { meterBatchToWire, referenceOf } from '../contract/meter-batch.ts'
import { type CumulativeSubmission, type meterCumulativeSubmit, readCumulative, readReading } from '../contract/meter-cumulative.ts'
import type { AnswerOf, Outcome, RequestOf } from '../contract/operation.ts'
import { beginSlices, inSlices } from '../contract/slices.ts'
import { isId } from '../domain/identifier.ts'
import { accepted, type Result, refused } from '../domain/refusal.ts'
import type { BatchIds } from '../platform/batch-id.ts'
import type { Reading, RefusedRecord } from '../platform/log/messages.ts'
import type { Tenant } from '../platform/postgres/transaction.ts'
import type { ChunkWriter } from './chunk-writer.ts'
import type { KnownObjects } from './known-objects.ts'
import type { KnownReferences } from './known-references.ts'
import { withObjectIds } from './named-objects.ts'
import type { ReadingWriter } from './reading-writer.ts'
import { registerIdDigits } from './register-id.ts'
import type { GatewayCounts } from './submit-interval.ts'

export type SubmitCumulative = {
  readonly known: KnownObjects
  readonly references: KnownReferences
  readonly readings: ReadingWriter
  readonly headers: Pick<ChunkWriter, 'writeHeader'>
  readonly batchIds: BatchIds
  readonly counts: GatewayCounts
}

type Request = RequestOf<typeof meterCumulativeSubmit>

/**
 * Take a submission of readings of one register: check each, write the good ones durably, answer with the receipt.
 * Refuses the whole for what is wrong with anything but a reading, and for a location or device that does not exist. Throws `Failure`
 * where a store is away or the fate of a reading is unknown; then nothing is acknowledged and the whole may be sent again.
 * Source: docs/rules/metering.md #register-readings, #acknowledgement.
 */
export const submitCumulative =
  ({ known, references, readings: writer, headers, batchIds, counts }: SubmitCumulative) =>
  async ({ at, body, layout, caller }: Request): Promise<Outcome<AnswerOf<typeof meterCumulativeSubmit>>> => {
    const tenant: Tenant = { accountId: caller.accountId, liveMode: caller.liveMode }
    const parsed = await inSlices(readCumulative(body.bytes, layout), beginSlices(caller.accountId))
    if (!parsed.ok) return parsed
    const submission = await withObjectIds(tenant, parsed.value, references.find)
    if (!submission.ok) return submission
    const { elements, units: _, ...register } = submission.value
    const lane = await findLane(known, tenant, register, at)
    if (!lane.ok) return lane
    const { readings, refused: failed } = await inSlices(judgeReadings(submission.value, tenant, at), beginSlices(caller.accountId))
    const batchId = batchIds.mint(tenant, at)
    const { locationId, deviceId } = register
    const batch = { ...tenant, batchId, receivedAt: at }
    const tally = { recordsSubmitted: elements.length, recordsAccepted: readings.length }
    // Both are waited for, whichever fails: nothing of this submission may still be under way when it is answered.
    const written = await Promise.allSettled([
      writer.write(lane.value, { ...batch, ...register, readings }),
      headers.writeHeader({ kind: 'submission', ...batch, ...tally, refused: failed.map(one => ({ ...one, locationId, deviceId })) }),
    ])
    for (const one of written) if (one.status === 'rejected') throw one.reason
    counts.refused(failed.length)
    counts.bytes(body.bytes.length)
    return accepted(meterBatchToWire({ ...tenant, id: batchId, ...tally, recordsProcessed: 0, failed, createdAt: at }))
  }

const noLocation = refused('location_not_found', 'location_id must be the id of a location that exists', 'location_id')
const noDevice = refused('device_not_found', 'device_id must be the id of a device that exists', 'device_id')

type Place = Pick<CumulativeSubmission, 'locationId' | 'deviceId'>

/** Find the lane of the location; asks the store only for objects that are not known. */
const findLane = async (known: KnownObjects, tenant: Tenant, { locationId, deviceId }: Place, at: number): Promise<Result<number>> => {
  if (!isId('location', locationId)) return noLocation
  if (deviceId !== null && !isId('device', deviceId)) return noDevice
  const held = known.laneOf(tenant, locationId, at)
  if (held !== undefined && (deviceId === null || known.hasDevice(tenant, deviceId, at))) return accepted(held)
  const found = await known.ask(tenant, { locations: new Set([locationId]), devices: new Set(deviceId === null ? [] : [deviceId]) }, at)
  const lane = found.get(locationId)?.lane
  if (lane === undefined) return noLocation
  return deviceId === null || found.has(deviceId) ? accepted(lane) : noDevice
}

type Judged = { readonly readings: readonly Reading[]; readonly refused: readonly RefusedRecord[] }

/** Readings that are checked between two points where others can have a turn. */
const readingsAtOnce = 64

/** Check the readings one by one, number them from 1, and give the good ones the ids of the intervals that they open. */
function* judgeReadings({ elements, units, ...register }: CumulativeSubmission, tenant: Tenant, at: number): Generator<void, Judged> {
  const numbers = new Map<number, number>()
  const readings: Reading[] = []
  const failed: RefusedRecord[] = []
  for (const [index, element] of elements.entries()) {
    if (index % readingsAtOnce === 0) yield
    const recordNumber = index + 1
    const read = readReading(element, units, at)
    const twin = read.ok ? numbers.get(read.value.time) : undefined
    if (!read.ok) failed.push({ recordNumber, recordReferenceId: referenceOf(element), error: read.refusal.message })
    else if (twin !== undefined) {
      failed.push({ recordNumber, recordReferenceId: read.value.recordReferenceId, error: `duplicate of record ${twin}` })
    } else {
      numbers.set(read.value.time, recordNumber)
      readings.push({ ...read.value, recordNumber, recordId: registerIdDigits({ ...tenant, ...register, openedAt: read.value.time }) })
    }
  }
  return { readings, refused: failed }
}
