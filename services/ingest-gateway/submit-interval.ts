import type { Layout } from '../contract/layout.ts'
import { meterBatchToWire, type meterIntervalSubmit, oversizedRecord, parseSubmission, referenceOf } from '../contract/meter-batch.ts'
import { readMeterRecord } from '../contract/meter-record.ts'
import type { AnswerOf, Outcome, RequestOf } from '../contract/operation.ts'
import type { Submission } from '../contract/strict-json.ts'
import type { MeterRecord } from '../domain/record/record.ts'
import { accepted } from '../domain/refusal.ts'
import type { BatchIds } from '../platform/batch-id.ts'
import type { AcceptedRecord, RecordPart, RefusedRecord } from '../platform/log/messages.ts'
import type { Tenant } from '../platform/postgres/transaction.ts'
import type { ChunkWriter } from './chunk-writer.ts'
import type { KnownObjects } from './known-objects.ts'
import { recordIdDigits } from './record-id.ts'

/** What the gateway counts; `bytes` are those of the inflated bodies. */
export type GatewayCounts = {
  /** Records durable in a lane, whether or not their request could be answered. */
  readonly accepted: (lane: number, records: number) => void
  readonly refused: (records: number) => void
  readonly bytes: (bytes: number) => void
}

export type SubmitInterval = {
  readonly known: KnownObjects
  readonly writer: ChunkWriter
  readonly batchIds: BatchIds
  readonly counts: GatewayCounts
}

/** Records of a submission that may be written, by partition in the order of the submission, and those that may not. */
export type JudgedSubmission = {
  readonly records: ReadonlyMap<number, AcceptedRecord[]>
  readonly recordsAccepted: number
  readonly refused: readonly RefusedRecord[]
}

/**
 * Take a submission of interval records: check each, write the good ones durably, answer with the receipt.
 * Refuses the whole for a body that is no submission. Throws `Failure` where a store is away or the fate of a record is unknown; then
 * nothing is acknowledged and the whole may be sent again. Source: contract decisions 8.
 */
export const submitInterval =
  ({ known, writer, batchIds, counts }: SubmitInterval) =>
  async (request: RequestOf<typeof meterIntervalSubmit>): Promise<Outcome<AnswerOf<typeof meterIntervalSubmit>>> => {
    const { at, body, layout, caller } = request
    const tenant: Tenant = { accountId: caller.accountId, liveMode: caller.liveMode }
    const parsed = parseSubmission(body)
    if (!parsed.ok) return parsed
    const judged = await judgeSubmission(parsed.value, { tenant, layout, at, known })
    const batchId = batchIds.mint(tenant, at)
    const part = { accountId: tenant.accountId, liveMode: tenant.liveMode, batchId, receivedAt: at }
    const parts = new Map<number, RecordPart>()
    for (const [partition, records] of judged.records) parts.set(partition, { ...part, records })
    const { recordsAccepted, refused } = judged
    const recordsSubmitted = parsed.value.elements.length
    // Both are waited for, whichever fails: nothing of this submission may still be under way when it is answered.
    const header = { kind: 'submission', ...part, recordsSubmitted, recordsAccepted, refused } as const
    const written = await Promise.allSettled([writer.write(parts), writer.writeHeader(header)])
    for (const one of written) if (one.status === 'rejected') throw one.reason
    counts.refused(refused.length)
    counts.bytes(body.bytes.length)
    const { accountId, liveMode } = tenant
    const batch = {
      id: batchId,
      accountId,
      liveMode,
      recordsSubmitted,
      recordsAccepted,
      recordsProcessed: 0,
      failed: refused,
      createdAt: at,
    }
    return accepted(meterBatchToWire(batch))
  }

type Judgement = { readonly tenant: Tenant; readonly layout: Layout; readonly at: number; readonly known: KnownObjects }

/** Check the records of a submission one by one and number them from 1; asks once for objects that are not known. */
export const judgeSubmission = async (submission: Submission, judgement: Judgement): Promise<JudgedSubmission> => {
  const { tenant, layout, at, known } = judgement
  const { elements, oversized } = submission
  const refused: RefusedRecord[] = []
  const read: Read[] = []
  const locations = new Set<string>()
  const devices = new Set<string>()
  let recordNumber = 0
  for (const element of elements) {
    recordNumber += 1
    const result = oversized.has(recordNumber - 1) ? tooLong : readMeterRecord(element, layout, at)
    if (!result.ok) {
      refused.push({ recordNumber, recordReferenceId: referenceOf(element), error: result.refusal.message })
      continue
    }
    const { locationId, deviceId } = result.value
    const lane = known.laneOf(tenant, locationId, at)
    const isDeviceKnown = deviceId === null || known.hasDevice(tenant, deviceId, at)
    if (lane === undefined) locations.add(locationId)
    if (!isDeviceKnown) devices.add(deviceId)
    read.push({ record: result.value, recordNumber, lane, isDeviceKnown })
  }
  if (locations.size + devices.size > 0) {
    await known.ask(tenant, { locations, devices }, at)
    lookAgain(read, judgement)
  }
  return admit(read, refused, tenant)
}

const tooLong = { ok: false, refusal: oversizedRecord } as const

/** A record that can be read; without a lane its location does not exist. */
type Read = { readonly record: MeterRecord; readonly recordNumber: number; lane: number | undefined; isDeviceKnown: boolean }

const lookAgain = (read: readonly Read[], { tenant, at, known }: Judgement): void => {
  for (const one of read) {
    const { locationId, deviceId } = one.record
    one.lane ??= known.laneOf(tenant, locationId, at)
    one.isDeviceKnown ||= deviceId !== null && known.hasDevice(tenant, deviceId, at)
  }
}

/** Refuse records of objects that do not exist and repeats within the submission; give all others their ids. */
const admit = (read: readonly Read[], refused: RefusedRecord[], tenant: Tenant): JudgedSubmission => {
  const records = new Map<number, AcceptedRecord[]>()
  const numbers = new Map<string, number>()
  const refusedBefore = refused.length
  for (const one of read) {
    const { record, recordNumber, lane } = one
    const missing = missingObject(one)
    const recordId = missing === null ? recordIdDigits(tenant, record) : ''
    const twin = missing === null ? numbers.get(recordId) : undefined
    if (lane === undefined || missing !== null || twin !== undefined) {
      refused.push({ recordNumber, recordReferenceId: record.recordReferenceId, error: missing ?? `duplicate of record ${twin}` })
      continue
    }
    numbers.set(recordId, recordNumber)
    const ofLane = records.get(lane)
    const accepted = acceptedRecord(record, recordId, recordNumber)
    if (ofLane === undefined) records.set(lane, [accepted])
    else ofLane.push(accepted)
  }
  if (refused.length > refusedBefore && refusedBefore > 0) refused.sort((a, b) => a.recordNumber - b.recordNumber)
  return { records, recordsAccepted: numbers.size, refused }
}

const missingObject = ({ lane, isDeviceKnown }: Read): string | null => {
  if (lane === undefined) return 'location_id must be the id of a location that exists'
  return isDeviceKnown ? null : 'device_id must be the id of a device that exists'
}

/** Member by member: copying an object at large costs as much as reading one. */
const acceptedRecord = (record: MeterRecord, recordId: string, recordNumber: number): AcceptedRecord => ({
  locationId: record.locationId,
  deviceId: record.deviceId,
  energyFlowDirection: record.energyFlowDirection,
  tariffDirection: record.tariffDirection,
  start: record.start,
  end: record.end,
  energy: record.energy,
  confidence: record.confidence,
  sessionReferenceId: record.sessionReferenceId,
  recordReferenceId: record.recordReferenceId,
  recordId,
  recordNumber,
})
