import type { ApiVersion } from '../contract/api-version.ts'
import { type RegisterRule, refusePower } from '../domain/record/reading-rules.ts'
import type { MeterRecord } from '../domain/record/record.ts'
import type { SubmissionWarning } from '../domain/record/warnings.ts'
import { startTimeSlices, type TimeSlices } from '../platform/concurrency/time-slices.ts'
import type { RefusedRecord } from '../platform/log/messages.ts'
import type { Tenant } from '../platform/postgres/transaction.ts'
import type { AcceptedRecord, RecordPart } from '../record-bytes/accepted-record.ts'
import { encodeParts } from '../record-bytes/record-chunk.ts'
import { recordIdDigits } from '../record-bytes/record-id.ts'
import type { EncodedPart } from '../record-bytes/record-part.ts'
import type { Found, KnownObjects } from './known-objects.ts'
import type { KnownReferences } from './known-references.ts'
import { type NamedObjects, namedObjects } from './named-objects.ts'
import { recordWarnings } from './record-warnings.ts'

/** Valid records of a submission, encoded, by partition in the order of the submission; and the refused records. */
export type ValidatedSubmission = {
  readonly parts: ReadonlyMap<number, readonly EncodedPart[]>
  readonly recordsSubmitted: number
  readonly recordsAccepted: number
  readonly refused: readonly RefusedRecord[]
  readonly warnings: readonly SubmissionWarning[]
}

/** Inputs of a validation. `part` is common to all records of the submission. */
export type ValidationContext = {
  readonly part: Omit<RecordPart, 'records'>
  readonly apiVersion: ApiVersion
  readonly at: number
  readonly known: KnownObjects
  readonly references: KnownReferences
}

/**
 * Records of a submission before their objects are known, from any format. Add the records in the order of their
 * numbers.
 */
export type UnvalidatedRecords = {
  readonly candidates: CandidateRecord[]
  readonly refused: RefusedRecord[]
  readonly named: NamedObjects
}

/** Create an empty list of records of a tenant. */
export const unvalidatedRecords = (tenant: Tenant): UnvalidatedRecords => ({
  candidates: [],
  refused: [],
  named: namedObjects(tenant),
})

/** Add a readable record. It can name its objects by id or by reference. Record numbers begin at 1. */
export const addReadRecord = (
  { candidates, named }: UnvalidatedRecords,
  record: MeterRecord,
  recordNumber: number,
): void => {
  noteObjects(named, record)
  candidates.push({ record, recordNumber, partition: undefined, isDeviceKnown: false, rule: null, fault: null })
}

/** Add a record that cannot be read, with the objects that it names. */
export const addRefusedRecord = ({ refused, named }: UnvalidatedRecords, record: RefusedRecord): void => {
  refused.push(record)
  noteObjects(named, record)
}

/**
 * Validate records: replace references by ids, refuse unknown objects and duplicates, create the record ids, and encode
 * the records.
 * Unknown references are read in one statement, and unknown objects in another. Throws `Failure` if the store is
 * unavailable.
 * Source: docs/rules/metering.md #submissions.
 */
export const validateRecords = async (
  { candidates, refused, named }: UnvalidatedRecords,
  context: ValidationContext,
  timeSlice: TimeSlices = startTimeSlices(context.part.accountId),
): Promise<ValidatedSubmission> => {
  const { part, references } = context
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
    if (index % recordsPerCheck === 0 && timeSlice.isOver()) await timeSlice.pause()
    work(candidate)
  }
}

type ObjectNames = { readonly locationId?: string | null; readonly deviceId?: string | null }

const noteObjects = (named: NamedObjects, { locationId = null, deviceId = null }: ObjectNames): void => {
  named.note('location', locationId)
  named.note('device', deviceId)
}

/** Return the ids of the objects to store with the failure of a record. */
const failureIdsOf = (named: NamedObjects, { locationId = null, deviceId = null }: ObjectNames) => ({
  locationId: named.failureIdOf('location', locationId),
  deviceId: named.failureIdOf('device', deviceId),
})

/** Replace the references of a record by ids, or note the reference that no object has. */
const replaceReferences = (candidate: CandidateRecord, named: NamedObjects): void => {
  const { locationId, deviceId } = candidate.record
  const ids = named.idsOf({ locationId, deviceId })
  if (!ids.ok) candidate.fault = ids.refusal.message
  else if (ids.value.locationId !== locationId || ids.value.deviceId !== deviceId)
    candidate.record = { ...candidate.record, ...ids.value }
}

/** Find the partition and the device of each record. Objects that are not cached are read in one statement. */
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
  // Other requests can remove the objects from the cache during a pause, so the result is used directly.
  const found = await context.known.resolve(context.part, { locations, devices }, context.at)
  await forEachInSlices(candidates, timeSlice, candidate => applyFound(candidate, found))
}

/** Records that are handled between two checks of the time slice. */
export const recordsPerCheck = 64

/**
 * Readable record. Without a partition, its location does not exist. `fault`: message if no object has one of its
 * references.
 */
type CandidateRecord = {
  record: MeterRecord
  readonly recordNumber: number
  partition: number | undefined
  isDeviceKnown: boolean
  rule: RegisterRule | null
  fault: string | null
}

const findKnown = (candidate: CandidateRecord, { part, at, known }: ValidationContext): void => {
  if (candidate.fault !== null) return
  const { locationId, deviceId } = candidate.record
  candidate.partition ??= known.partitionOf(part, locationId, at)
  candidate.isDeviceKnown ||= deviceId === null || known.hasDevice(part, deviceId, at)
  candidate.rule ??= known.ruleOf(part, deviceId ?? locationId, at)
}

const applyFound = (candidate: CandidateRecord, found: Found): void => {
  if (candidate.fault !== null) return
  const { locationId, deviceId } = candidate.record
  candidate.partition ??= found.get(locationId)?.partition
  candidate.isDeviceKnown ||= deviceId !== null && found.has(deviceId)
  candidate.rule ??= found.get(deviceId ?? locationId)?.rule ?? null
}

/** Refuse records of unknown objects and duplicates; create the ids of all others. */
const acceptRecords = async (
  { candidates, refused, named }: UnvalidatedRecords,
  part: ValidationContext['part'],
  timeSlice: TimeSlices,
): Promise<ValidatedSubmission> => {
  const records = new Map<number, AcceptedRecord[]>()
  const numbers = new Map<string, number>()
  const warnings = recordWarnings(candidates.length, (session: string | null) => session)
  const refusedBefore = refused.length
  const recordsSubmitted = candidates.length + refusedBefore
  for (const candidate of candidates) {
    const { record, recordNumber, partition } = candidate
    if (recordNumber % recordsPerCheck === 0 && timeSlice.isOver()) await timeSlice.pause()
    const refusal =
      candidate.fault ??
      missingObjectMessage(partition !== undefined, candidate.isDeviceKnown) ??
      powerMessage(candidate.rule, record)
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
    const { locationId, deviceId, sessionReferenceId } = record
    warnings.add(candidate.rule, record, locationId, deviceId, sessionReferenceId, recordNumber)
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
  return { parts, recordsSubmitted, recordsAccepted: numbers.size, refused, warnings: warnings.list() }
}

/** Return the message if the location or device of a record does not exist, else null. */
export const missingObjectMessage = (isLocationKnown: boolean, isDeviceKnown: boolean): string | null => {
  if (!isLocationKnown) return 'location_id must be the id of a location that exists'
  return isDeviceKnown ? null : 'device_id must be the id of a device that exists'
}

/** Return the message if a record needs more power than its register allows, else null. */
export const powerMessage = (
  rule: RegisterRule | null,
  record: Pick<MeterRecord, 'start' | 'end' | 'energy'>,
): string | null => {
  const refusal = refusePower(rule, record)
  return refusal === null ? null : `${refusal.code}: ${refusal.message}`
}

/** Return the message of a duplicate: it names the first record. */
export const duplicateMessage = (recordNumber: number | undefined): string => `duplicate of record ${recordNumber}`

/** Copy each member: a spread costs as much time as reading a record. */
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
