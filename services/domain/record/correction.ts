import type { Energy } from '../quantity.ts'
import type { OwnedObject } from '../tenant.ts'
import type { MeterRecord } from './record.ts'

/**
 * Values of a record as one submission sent them. `sourceVersion` orders the submissions. `batchId` is null if the
 * record came alone. `receivedAt` in ms.
 */
export type SubmittedValues = Pick<MeterRecord, 'confidence'> & {
  readonly energy: Energy
  readonly sourceVersion: bigint
  readonly batchId: string | null
  readonly receivedAt: number
}

/** Values of a record before and after a correction. */
export type ValueChange = { readonly before: SubmittedValues; readonly after: SubmittedValues }

/** Correction of a list. The versions of its values are not stored. Ids ascend with the arrival of the corrections. */
export type ListedCorrection = Omit<OwnedObject, 'createdAt'> &
  Pick<MeterRecord, 'locationId' | 'deviceId' | 'start' | 'end'> & {
    readonly recordId: string
    readonly before: Omit<SubmittedValues, 'sourceVersion'>
    readonly after: Omit<SubmittedValues, 'sourceVersion'>
  }

/**
 * Return the changes that newly received values of one record or reading make, in the order of their arrival. `stored`:
 * its stored values, or null. Equal values are not a change. Received values that are not newer than the stored ones are
 * left out, so a repeat after a crash finds the same changes or none.
 */
export const changesOf = <Stored extends { readonly sourceVersion: bigint }, Received extends Stored>(
  stored: Stored | null,
  received: readonly Received[],
  areEqual: (before: Stored, after: Received) => boolean,
): readonly { readonly before: Stored; readonly after: Received }[] => {
  const newer = received
    .filter(({ sourceVersion }) => stored === null || sourceVersion > stored.sourceVersion)
    .toSorted((a, b) => (a.sourceVersion < b.sourceVersion ? -1 : 1))
  return newer.flatMap((after, index) => {
    const before = newer[index - 1] ?? stored
    return before === null || areEqual(before, after) ? [] : [{ before, after }]
  })
}

/** Return whether a change is a correction: equal values that are sent again are none. */
export const isCorrection = ({ before, after }: ValueChange): boolean =>
  before.energy !== after.energy || before.confidence !== after.confidence

/**
 * Return the corrections that newly received values make. `stored`: values of the stored record, or null.
 * `keepsEqual` also returns the equal values of some submissions, for their undo.
 * Source: docs/rules/metering.md #corrections.
 */
export const valueChanges = (
  stored: SubmittedValues | null,
  received: readonly SubmittedValues[],
  keepsEqual: (after: SubmittedValues) => boolean = () => false,
): readonly ValueChange[] =>
  changesOf(stored, received, (before, after) => !isCorrection({ before, after }) && !keepsEqual(after))
