import type { Layout } from '../contract/layout.ts'
import { objectsOf, oversizedRecord, referenceOf } from '../contract/meter-batch.ts'
import { readMeterRecord } from '../contract/meter-record.ts'
import { beginSlices, type Slices } from '../contract/slices.ts'
import type { Submission } from '../contract/strict-json.ts'
import type { MeterRecord } from '../domain/record/record.ts'
import type { AcceptedRecord, RecordPart, RefusedRecord } from '../platform/log/messages.ts'
import { encodeParts } from '../platform/log/record-chunk.ts'
import type { EncodedPart } from '../platform/log/record-part.ts'
import type { KnownObjects } from './known-objects.ts'
import { recordIdDigits } from './record-id.ts'

/** Records of a submission that may be written, by partition in the order of the submission, and those that may not. */
export type JudgedSubmission = {
  readonly parts: ReadonlyMap<number, readonly EncodedPart[]>
  readonly recordsSubmitted: number
  readonly recordsAccepted: number
  readonly refused: readonly RefusedRecord[]
}

/** What a submission is judged by; `part` is what all its records share. */
export type Judgement = {
  readonly part: Omit<RecordPart, 'records'>
  readonly layout: Layout
  readonly at: number
  readonly known: KnownObjects
}

/** Check the records of a submission one by one and number them from 1; asks once for objects that are not known. */
export const judgeSubmission = async (submission: Submission, judgement: Judgement): Promise<JudgedSubmission> => {
  const { part, layout, at, known } = judgement
  const { elements, oversized } = submission
  const refused: RefusedRecord[] = []
  const read: Read[] = []
  const locations = new Set<string>()
  const devices = new Set<string>()
  const slices = beginSlices(part.accountId)
  let recordNumber = 0
  for (const element of elements) {
    recordNumber += 1
    if (recordNumber % recordsAtOnce === 0 && slices.isOver()) await slices.rest()
    const result = oversized.has(recordNumber - 1) ? tooLong : readMeterRecord(element, layout, at)
    if (!result.ok) {
      refused.push({ recordNumber, recordReferenceId: referenceOf(element), error: result.refusal.message, ...objectsOf(element) })
      continue
    }
    const { locationId, deviceId } = result.value
    const lane = known.laneOf(part, locationId, at)
    const isDeviceKnown = deviceId === null || known.hasDevice(part, deviceId, at)
    if (lane === undefined) locations.add(locationId)
    if (!isDeviceKnown) devices.add(deviceId)
    read.push({ record: result.value, recordNumber, lane, isDeviceKnown })
  }
  if (locations.size + devices.size > 0) {
    await known.ask(part, { locations, devices }, at)
    lookAgain(read, judgement)
  }
  return admit(read, refused, part, slices)
}

/** Records that are worked on between two looks at the clock. */
const recordsAtOnce = 64

const tooLong = { ok: false, refusal: oversizedRecord } as const

/** A record that can be read; without a lane its location does not exist. */
type Read = { readonly record: MeterRecord; readonly recordNumber: number; lane: number | undefined; isDeviceKnown: boolean }

const lookAgain = (read: readonly Read[], { part, at, known }: Judgement): void => {
  for (const one of read) {
    const { locationId, deviceId } = one.record
    one.lane ??= known.laneOf(part, locationId, at)
    one.isDeviceKnown ||= deviceId !== null && known.hasDevice(part, deviceId, at)
  }
}

/** Refuse records of objects that do not exist and repeats within the submission; give all others their ids. */
const admit = async (
  read: readonly Read[],
  refused: RefusedRecord[],
  part: Judgement['part'],
  slices: Slices,
): Promise<JudgedSubmission> => {
  const records = new Map<number, AcceptedRecord[]>()
  const numbers = new Map<string, number>()
  const refusedBefore = refused.length
  const recordsSubmitted = read.length + refusedBefore
  for (const one of read) {
    const { record, recordNumber, lane } = one
    if (recordNumber % recordsAtOnce === 0 && slices.isOver()) await slices.rest()
    const missing = missingObject(lane !== undefined, one.isDeviceKnown)
    const recordId = missing === null ? recordIdDigits(part, record) : ''
    const twin = missing === null ? numbers.get(recordId) : undefined
    if (lane === undefined || missing !== null || twin !== undefined) {
      const { recordReferenceId, locationId, deviceId } = record
      refused.push({ recordNumber, recordReferenceId, error: missing ?? duplicateOf(twin), locationId, deviceId })
      continue
    }
    numbers.set(recordId, recordNumber)
    const ofLane = records.get(lane)
    const accepted = acceptedRecord(record, recordId, recordNumber)
    if (ofLane === undefined) records.set(lane, [accepted])
    else ofLane.push(accepted)
  }
  if (refused.length > refusedBefore && refusedBefore > 0) refused.sort((a, b) => a.recordNumber - b.recordNumber)
  const parts = new Map([...records].map(([lane, ofLane]) => [lane, encodeParts({ ...part, records: ofLane })]))
  return { parts, recordsSubmitted, recordsAccepted: numbers.size, refused }
}

/** Say what does not exist of what a record names; null when all does. */
export const missingObject = (isLocationKnown: boolean, isDeviceKnown: boolean): string | null => {
  if (!isLocationKnown) return 'location_id must be the id of a location that exists'
  return isDeviceKnown ? null : 'device_id must be the id of a device that exists'
}

/** Say which record of the submission one repeats. */
export const duplicateOf = (recordNumber: number | undefined): string => `duplicate of record ${recordNumber}`

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
