/** Submissions of an import without those of its undo. Instants in ms. */
export type StoredImport = {
  readonly id: string
  readonly startedAt: number
  readonly endedAt: number
  readonly recordsAccepted: number
}

/**
 * Value of a record that a submission of an import replaced. `order` ascends with the submissions. `isFromOther`: neither the
 * import nor an import that was undone sent the value. `isOfImport`: the import sent the value or the new one.
 */
export type Replacement<State> = {
  readonly order: bigint
  readonly state: State
  readonly isFromOther: boolean
  readonly isOfImport: boolean
}

/** Sender of the stored value: the import (or its undo), another import that was undone (or its undo), or another. */
export type LastSender = 'import' | 'undone' | 'other'

/** Step of an undo for a record. `withdraw`: only the import sent it. `leave`: another submission sent it later. */
export type UndoStep<State> = { readonly kind: 'withdraw' | 'leave' } | { readonly kind: 'set'; readonly state: State }

const newest = <State>(replacements: readonly Replacement<State>[]): Replacement<State> | undefined =>
  replacements.reduce<Replacement<State> | undefined>(
    (last, one) => (last === undefined || one.order > last.order ? one : last),
    undefined,
  )

/**
 * Decide what the undo of an import does with a record: the record gets the last value that others sent.
 * `replacements`: the values that the import and the undone imports replaced, in any order. The newest of those with equal
 * flags is enough.
 * Law: after the undo of some imports, in any order and repeated, a record is as if these imports had sent nothing.
 */
export const decideUndo = <State>(
  lastSender: LastSender,
  replacements: readonly Replacement<State>[],
): UndoStep<State> => {
  if (lastSender === 'other') return { kind: 'leave' }
  const before = newest(replacements.filter(({ isFromOther }) => isFromOther))
  const own = newest(replacements.filter(({ isOfImport }) => isOfImport))
  const isAfter = own !== undefined && (before === undefined || own.order >= before.order)
  if (lastSender === 'undone' && !isAfter) return { kind: 'leave' }
  return before === undefined ? { kind: 'withdraw' } : { kind: 'set', state: before.state }
}
