import type { ApiVersion } from '../contract/api-version.ts'
import type { Submission } from '../contract/json/strict-json.ts'
import { oversizedRecord, recordReferenceOf, sentObjectsOf } from '../contract/metering/meter-batch.ts'
import { readMeterRecord } from '../contract/metering/meter-record.ts'
import type { MeterRecord } from '../domain/record/record.ts'
import { startTimeSlices, type TimeSlices } from '../platform/concurrency/time-slices.ts'
import { encodeParts } from '../platform/log/avro/fast-path/record-chunk.ts'
import type { EncodedPart } from '../platform/log/avro/fast-path/record-part.ts'
import type { AcceptedRecord, RecordPart, RefusedRecord } from '../platform/log/messages.ts'
import { recordIdDigits } from './fast-path/record-id.ts'
import type { Found, KnownObjects } from './known-objects.ts'
import type { KnownReferences } from './known-references.ts'
import { type NamedObjects, namedObjects } from './named-objects.ts'

/** Records of a submission that may be written, by partition in the order of the submission, and those that may not. */
export type ValidatedSubmission = {
  readonly parts: ReadonlyMap<number, readonly EncodedPart[]>
  readonly recordsSubmitted: number
  readonly recordsAccepted: number
  readonly refused: readonly RefusedRecord[]
}

/** What a submission is judged by; `part` is what all its records share. */
export type ValidationContext = {
  readonly part: Omit<RecordPart, 'records'>
  readonly apiVersion: ApiVersion
  readonly at: number
  readonly known: KnownObjects
  readonly references: KnownReferences
}

/**
 * Check the records of a submission one by one and number them from 1; asks once for own references, and once for objects, that are not
 * known. References are replaced by ids before a record gets its identity.
 */
export const validateSubmission = async (
  submission: Submission,
  context: ValidationContext,
): Promise<ValidatedSubmission> => {
  const { part, apiVersion, at, references } = context
  const { elements, oversized } = submission
  const named = namedObjects(part)
  const refused: RefusedRecord[] = []
  const candidates: CandidateRecord[] = []
  const timeSlice = startTimeSlices(part.accountId)
  let recordNumber = 0
  for (const element of elements) {
    recordNumber += 1
    if (recordNumber % recordsAtOnce === 0 && timeSlice.isOver()) await timeSlice.pause()
    const readResult = oversized.has(recordNumber - 1) ? oversizedResult : readMeterRecord(element, apiVersion, at)
    if (!readResult.ok) {
      const objects = sentObjectsOf(element)
      refused.push({
        recordNumber,
        recordReferenceId: recordReferenceOf(element),
        error: readResult.refusal.message,
        ...objects,
      })
      noteObjects(named, objects)
      continue
    }
    noteObjects(named, readResult.value)
    candidates.push({ record: readResult.value, recordNumber, partition: undefined, isDeviceKnown: false, fault: null })
  }
  await named.resolve(references.find)
  const failed: RefusedRecord[] = []
  await forEachInSlices(refused, timeSlice, candidate =>
    failed.push({ ...candidate, ...failureIdsOf(named, candidate) }),
  )
  if (named.hasReferences())
    await forEachInSlices(candidates, timeSlice, candidate => replaceReferences(candidate, named))
  await findObjects(candidates, context, timeSlice)
  return acceptRecords({ candidates, refused: failed, named }, part, timeSlice)
}

const forEachInSlices = async <T>(
  all: readonly T[],
  timeSlice: TimeSlices,
  work: (candidate: T) => void,
): Promise<void> => {
  for (const [index, candidate] of all.entries()) {
    if (index % recordsAtOnce === 0 && timeSlice.isOver()) await timeSlice.pause()
    work(candidate)
  }
}

type ObjectNames = { readonly locationId?: string | null; readonly deviceId?: string | null }

const noteObjects = (named: NamedObjects, { locationId = null, deviceId = null }: ObjectNames): void => {
  named.note('location', locationId)
  named.note('device', deviceId)
}

/** The objects under which the failure of a record is kept. */
const failureIdsOf = (named: NamedObjects, { locationId = null, deviceId = null }: ObjectNames) => ({
  locationId: named.failureIdOf('location', locationId),
  deviceId: named.failureIdOf('device', deviceId),
})

/** Put ids in place of the references of a record, or say which one no object has. */
const replaceReferences = (candidate: CandidateRecord, named: NamedObjects): void => {
  const { locationId, deviceId } = candidate.record
  const ids = named.idsOf({ locationId, deviceId })
  if (!ids.ok) candidate.fault = ids.refusal.message
  else if (ids.value.locationId !== locationId || ids.value.deviceId !== deviceId)
    candidate.record = { ...candidate.record, ...ids.value }
}

/** Find the lane and the device of each record; asks once for what is not known. */
const findObjects = async (
  candidates: readonly CandidateRecord[],
  context: ValidationContext,
  timeSlice: TimeSlices,
): Promise<void> => {
  const locations = new Set<string>()
  const devices = new Set<string>()
  await forEachInSlices(candidates, timeSlice, candidate => {
    findKnown(candidate, context)
    const { record, partition, isDeviceKnown, fault } = candidate
    if (fault === null && partition === undefined) locations.add(record.locationId)
    if (fault === null && !isDeviceKnown && record.deviceId !== null) devices.add(record.deviceId)
  })
  if (locations.size + devices.size === 0) return
  // By the next turn others may have made the memory forget them.
  const found = await context.known.resolve(context.part, { locations, devices }, context.at)
  await forEachInSlices(candidates, timeSlice, candidate => applyFound(candidate, found))
}

/** Records that are worked on between two looks at the clock. */
const recordsAtOnce = 64

const oversizedResult = { ok: false, refusal: oversizedRecord } as const

/** A record that can be read; without a lane its location does not exist. `fault`: no object has a reference that it names. */
type CandidateRecord = {
  record: MeterRecord
  readonly recordNumber: number
  partition: number | undefined
  isDeviceKnown: boolean
  fault: string | null
}

const findKnown = (candidate: CandidateRecord, { part, at, known }: ValidationContext): void => {
  if (candidate.fault !== null) return
  const { locationId, deviceId } = candidate.record
  candidate.partition ??= known.partitionOf(part, locationId, at)
  candidate.isDeviceKnown ||= deviceId === null || known.hasDevice(part, deviceId, at)
}

const applyFound = (candidate: CandidateRecord, found: Found): void => {
  if (candidate.fault !== null) return
  const { locationId, deviceId } = candidate.record
  candidate.partition ??= found.get(locationId)?.partition
  candidate.isDeviceKnown ||= deviceId !== null && found.has(deviceId)
}

type Candidates = {
  readonly candidates: readonly CandidateRecord[]
  readonly refused: RefusedRecord[]
  readonly named: NamedObjects
}

/** Refuse records of objects that do not exist and repeats within the submission; give all others their ids. */
const acceptRecords = async (
  { candidates, refused, named }: Candidates,
  part: ValidationContext['part'],
  timeSlice: TimeSlices,
): Promise<ValidatedSubmission> => {
  const records = new Map<number, AcceptedRecord[]>()
  const numbers = new Map<string, number>()
  const refusedBefore = refused.length
  const recordsSubmitted = candidates.length + refusedBefore
  for (const candidate of candidates) {
    const { record, recordNumber, partition } = candidate
    if (recordNumber % recordsAtOnce === 0 && timeSlice.isOver()) await timeSlice.pause()
    const refusal = candidate.fault ?? missingObjectMessage(partition !== undefined, candidate.isDeviceKnown)
    const recordId = refusal === null ? recordIdDigits(part, record) : ''
    const duplicateNumber = refusal === null ? numbers.get(recordId) : undefined
    if (partition === undefined || refusal !== null || duplicateNumber !== undefined) {
      const { recordReferenceId } = record
      refused.push({
        recordNumber,
        recordReferenceId,
        error: refusal ?? duplicateMessage(duplicateNumber),
        ...failureIdsOf(named, record),
      })
      continue
    }
    numbers.set(recordId, recordNumber)
    const partitionRecords = records.get(partition)
    const accepted = acceptedRecord(record, recordId, recordNumber)
    if (partitionRecords === undefined) records.set(partition, [accepted])
    else partitionRecords.push(accepted)
  }
  if (refused.length > refusedBefore && refusedBefore > 0) refused.sort((a, b) => a.recordNumber - b.recordNumber)
  const parts = new Map(
    [...records].map(([partition, partitionRecords]) => [
      partition,
      encodeParts({ ...part, records: partitionRecords }),
    ]),
  )
  return { parts, recordsSubmitted, recordsAccepted: numbers.size, refused }
}

/** Say what does not exist of what a record names; null when all does. */
export const missingObjectMessage = (isLocationKnown: boolean, isDeviceKnown: boolean): string | null => {
  if (!isLocationKnown) return 'location_id must be the id of a location that exists'
  return isDeviceKnown ? null : 'device_id must be the id of a device that exists'
}

/** Say which record of the submission one repeats. */
export const duplicateMessage = (recordNumber: number | undefined): string => `duplicate of record ${recordNumber}`

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
