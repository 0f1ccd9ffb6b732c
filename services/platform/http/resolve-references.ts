import {
  type FindReferences,
  noReferenceIds,
  type OwnReference,
  type ReferenceResolver,
} from '../../domain/reference.ts'
import { startTimeSlices, type TimeSlices } from '../concurrency/time-slices.ts'

/** Do work in slices, and look up the references that it asks for. Throws `Failure` if the store is away. */
export const resolveReferences = async <T>(
  work: ReferenceResolver<T>,
  find: (wanted: readonly OwnReference[]) => ReturnType<FindReferences>,
  slices: TimeSlices = startTimeSlices(),
): Promise<T> => {
  let step = work.next(noReferenceIds)
  while (step.done !== true) {
    if (step.value !== undefined) step = work.next(await find(step.value))
    else {
      if (slices.isOver()) await slices.pause()
      step = work.next(undefined)
    }
  }
  return step.value
}
