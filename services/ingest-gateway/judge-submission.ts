import type { Layout } from '../contract/layout.ts'
import { objectsOf, oversizedRecord, referenceOf } from '../contract/meter-batch.ts'
import { readMeterRecord } from '../contract/meter-record.ts'
import { beginSlices, type Slices } from '../contract/slices.ts'
import type { Submission } from '../contract/strict-json.ts'
import type { MeterRecord } from '../domain/record/record.ts'
import type { AcceptedRecord, RecordPart, RefusedRecord } from '../platform/log/messages.ts'
import { encodeParts } from '../platform/log/record-chunk.ts'
import type { EncodedPart } from '../platform/log/record-part.ts'
import type { Found, KnownObjects } from './known-objects.ts'
import type { KnownReferences } from './known-references.ts'
import { type NamedObjects, namedObjects } from './named-objects.ts'
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
  readonly references: KnownReferences
}

/**
 * Check the records of a submission one by one and number them from 1; asks once for own references, and once for objects, that are not
 * known. References are replaced by ids before a record gets its identity.
 */
export const judgeSubmission = async (submission: Submission, judgement: Judgement): Promise<JudgedSubmission> => {
  const { part, layout, at, references } = judgement
  const { elements, oversized } = submission
  const named = namedObjects(part)
  const refused: RefusedRecord[] = []
  const read: Read[] = []
  const slices = beginSlices(part.accountId)
  let recordNumber = 0
  for (const element of elements) {
    recordNumber += 1
    if (recordNumber % recordsAtOnce === 0 && slices.isOver()) await slices.rest()
    const result = oversized.has(recordNumber - 1) ? tooLong : readMeterRecord(element, layout, at)
    if (!result.ok) {
      const objects = objectsOf(element)
      refused.push({ recordNumber, recordReferenceId: referenceOf(element), error: result.refusal.message, ...objects })
      noteObjects(named, objects)
      continue
    }
    noteObjects(named, result.value)
    read.push({ record: result.value, recordNumber, lane: undefined, isDeviceKnown: false, fault: null })
  }
  await named.resolve(references.find)
  const failed: RefusedRecord[] = []
  await eachOf(refused, slices, one => failed.push({ ...one, ...failureIdsOf(named, one) }))
  if (named.hasReferences()) await eachOf(read, slices, one => putIds(one, named))
  await findObjects(read, judgement, slices)
  return admit({ read, refused: failed, named }, part, slices)
}

const eachOf = async <T>(all: readonly T[], slices: Slices, work: (one: T) => void): Promise<void> => {
  for (const [index, one] of all.entries()) {
    if (index % recordsAtOnce === 0 && slices.isOver()) await slices.rest()
    work(one)
  }
}

type Named = { readonly locationId?: string | null; readonly deviceId?: string | null }

const noteObjects = (named: NamedObjects, { locationId = null, deviceId = null }: Named): void => {
  named.note('location', locationId)
  named.note('device', deviceId)
}

/** The objects under which the failure of a record is kept. */
const failureIdsOf = (named: NamedObjects, { locationId = null, deviceId = null }: Named) => ({
  locationId: named.failureIdOf('location', locationId),
  deviceId: named.failureIdOf('device', deviceId),
})

/** Put ids in place of the references of a record, or say which one no object has. */
const putIds = (one: Read, named: NamedObjects): void => {
  const { locationId, deviceId } = one.record
  const ids = named.idsOf({ locationId, deviceId })
  if (!ids.ok) one.fault = ids.refusal.message
  else if (ids.value.locationId !== locationId || ids.value.deviceId !== deviceId) one.record = { ...one.record, ...ids.value }
}

/** Find the lane and the device of each record; asks once for what is not known. */
const findObjects = async (read: readonly Read[], judgement: Judgement, slices: Slices): Promise<void> => {
  const locations = new Set<string>()
  const devices = new Set<string>()
  await eachOf(read, slices, one => {
    lookUp(one, judgement)
    const { record, lane, isDeviceKnown, fault } = one
    if (fault === null && lane === undefined) locations.add(record.locationId)
    if (fault === null && !isDeviceKnown && record.deviceId !== null) devices.add(record.deviceId)
  })
  if (locations.size + devices.size === 0) return
  // By the next turn others may have made the memory forget them.
  const found = await judgement.known.ask(judgement.part, { locations, devices }, judgement.at)
  await eachOf(read, slices, one => lookAgain(one, found))
}

/** Records that are worked on between two looks at the clock. */
const recordsAtOnce = 64

const tooLong = { ok: false, refusal: oversizedRecord } as const

/** A record that can be read; without a lane its location does not exist. `fault`: no object has a reference that it names. */
type Read = {
  record: MeterRecord
  readonly recordNumber: number
  lane: number | undefined
  isDeviceKnown: boolean
  fault: string | null
}

const lookUp = (one: Read, { part, at, known }: Judgement): void => {
  if (one.fault !== null) return
  const { locationId, deviceId } = one.record
  one.lane ??= known.laneOf(part, locationId, at)
  one.isDeviceKnown ||= deviceId === null || known.hasDevice(part, deviceId, at)
}

const lookAgain = (one: Read, found: Found): void => {
  if (one.fault !== null) return
  const { locationId, deviceId } = one.record
  one.lane ??= found.get(locationId)?.lane
  one.isDeviceKnown ||= deviceId !== null && found.has(deviceId)
}

type ReadSubmission = { readonly read: readonly Read[]; readonly refused: RefusedRecord[]; readonly named: NamedObjects }

/** Refuse records of objects that do not exist and repeats within the submission; give all others their ids. */
const admit = async ({ read, refused, named }: ReadSubmission, part: Judgement['part'], slices: Slices): Promise<JudgedSubmission> => {
  const records = new Map<number, AcceptedRecord[]>()
  const numbers = new Map<string, number>()
  const refusedBefore = refused.length
  const recordsSubmitted = read.length + refusedBefore
  for (const one of read) {
    const { record, recordNumber, lane } = one
    if (recordNumber % recordsAtOnce === 0 && slices.isOver()) await slices.rest()
    const missing = one.fault ?? missingObject(lane !== undefined, one.isDeviceKnown)
    const recordId = missing === null ? recordIdDigits(part, record) : ''
    const twin = missing === null ? numbers.get(recordId) : undefined
    if (lane === undefined || missing !== null || twin !== undefined) {
      const { recordReferenceId } = record
      refused.push({ recordNumber, recordReferenceId, error: missing ?? duplicateOf(twin), ...failureIdsOf(named, record) })
      continue
    }
    numbers.set(recordId, recordNumber)
    const ofLane = records.get(lane)
    const written = acceptedRecord(record, recordId, recordNumber)
    if (ofLane === undefined) records.set(lane, [written])
    else ofLane.push(written)
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
