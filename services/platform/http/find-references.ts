import { beginSlices, type Slices } from '../../contract/slices.ts'
import { type FindReferences, noReferences, type OwnReference, type Referencing } from '../../domain/reference.ts'

/** Do work in slices, and look up the references that it asks for. Throws `Failure` if the store is away. */
export const findingReferences = async <T>(
  work: Referencing<T>,
  find: (wanted: readonly OwnReference[]) => ReturnType<FindReferences>,
  slices: Slices = beginSlices(),
): Promise<T> => {
  let step = work.next(noReferences)
  while (step.done !== true) {
    if (step.value !== undefined) step = work.next(await find(step.value))
    else {
      if (slices.isOver()) await slices.rest()
      step = work.next(undefined)
    }
  }
  return step.value
}
