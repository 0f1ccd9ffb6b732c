import type { Caller } from '../../contract/operation.ts'
import { noReferenceIds, type ReferenceResolver } from '../../domain/reference.ts'
import { startTimeSlices, type TimeSlices } from '../concurrency/time-slices.ts'
import type { Ports } from './binding.ts'

/**
 * Run work in time slices and look up the own references that it yields. Throws `Failure` if the store is unavailable.
 */
export const resolveReferences = async <T>(
  work: ReferenceResolver<T>,
  { accountId, liveMode }: Caller,
  { findReferences }: Ports,
  slices: TimeSlices = startTimeSlices(),
): Promise<T> => {
  let step = work.next(noReferenceIds)
  while (step.done !== true) {
    if (step.value !== undefined) step = work.next(await findReferences({ accountId, liveMode }, step.value))
    else {
      if (slices.isOver()) await slices.pause()
      step = work.next(undefined)
    }
  }
  return step.value
}
