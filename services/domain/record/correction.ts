import type { Energy } from '../quantity.ts'
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

/**
 * Return the corrections that newly received values make, in the order of their arrival. `stored`: values of the stored
 * record, or null. Equal values are not a correction. Received values that are not newer than the stored ones are left out,
 * so a repeat after a crash finds the same corrections or none. Source: docs/rules/metering.md #corrections.
 */
export const valueChanges = (
  stored: SubmittedValues | null,
  received: readonly SubmittedValues[],
): readonly ValueChange[] => {
  const newer = received
    .filter(({ sourceVersion }) => stored === null || sourceVersion > stored.sourceVersion)
    .toSorted((a, b) => (a.sourceVersion < b.sourceVersion ? -1 : 1))
  const sequence = stored === null ? newer : [stored, ...newer]
  return sequence.slice(1).flatMap((after, index) => {
    const before = sequence[index] as SubmittedValues
    return before.energy === after.energy && before.confidence === after.confidence ? [] : [{ before, after }]
  })
}
