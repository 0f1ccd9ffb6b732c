import type { Energy } from '../quantity.ts'
import type { Refusal } from '../refusal.ts'
import { firstIndexFrom } from '../sorted.ts'
import { highestFollowers } from './followers.ts'
import {
  type ActiveReading,
  applyReading,
  dipMs,
  type ReadingValue,
  type RegisterRule,
  type RegisterState,
  rangeOf,
  stateAfterBase,
  stateAfterLeftOut,
} from './reading-rules.ts'

/**
 * A reading of a register, and what a walk decides about it. `isDoubtful` is the stored decision before the walk.
 * `closing`: the reading that closes its interval, with the energy. `reachedUntil`: the last reading that can close its
 * interval, now or in the stored state; null if the interval cannot have changed.
 */
export type RegisterEntry = ReadingValue & {
  readonly index: number
  readonly hasArrived: boolean
  /** Whether readings can be missing between this one and the next one. */
  readonly hasGapAfter: boolean
  isDoubtful: boolean
  refusal: Refusal | null
  closing: { readonly entry: RegisterEntry; readonly energy: Energy } | null
  reachedUntil: RegisterEntry | null
}

type Base = ActiveReading<RegisterEntry>

/** A walk along a register. `state` is that after the entry `at`; -1 is before the first one. */
type Walk = {
  readonly rule: RegisterRule | null
  readonly entries: readonly RegisterEntry[]
  readonly gaps: readonly number[]
  highest: readonly (Energy | null)[] | null
  /** Times of entries after which readings are missing that the walk needs. */
  readonly missingAfter: Set<number>
  at: number
  state: RegisterState<RegisterEntry>
}

/** Return whether the readings after this one depend on no reading before it, apart from dips. */
export const isBase = (entry: RegisterEntry): entry is Base => entry.value !== null && !entry.isDoubtful

/**
 * Decide about the arrived readings, and about the stored ones that they change. Takes the readings by time, and notes
 * the decisions in them. Returns the times of readings after which others are missing that the walk needs; if there are
 * any, the decisions are not valid.
 * The walk follows the stored decisions until something is new. Then it applies the rules until it comes back to the
 * stored state: at a reading that was a base and still is one.
 * Law: the time is linear in the number of readings, apart from searches.
 */
export const walkRegister = (rule: RegisterRule | null, entries: readonly RegisterEntry[]): ReadonlySet<number> => {
  const gaps = entries.flatMap(({ hasGapAfter, index }) => (hasGapAfter ? [index] : []))
  const state = stateAfterBase<RegisterEntry>(null)
  const walk: Walk = { rule, entries, gaps, highest: null, missingAfter: new Set(), at: -1, state }
  for (const arrived of entries) {
    if (!arrived.hasArrived || arrived.index <= walk.at) continue
    skipTo(walk, lastBaseBefore(rule, entries, arrived.index, arrived.time, walk.at))
    while (walk.at < arrived.index) {
      followStored(walk, arrived.index)
      decide(walk)
    }
  }
  return walk.missingAfter
}

/**
 * Return the index of the last base before `index` on which all decisions from `time` on depend; `limit` if there is
 * none after it. A LIFETIME register needs the bases of all falls within 24 h: they can be dips.
 */
export const lastBaseBefore = (
  rule: RegisterRule | null,
  entries: readonly RegisterEntry[],
  index: number,
  time: number,
  limit = -1,
): number => {
  const before = rule?.kind === 'LIFETIME' ? time - dipMs : Number.POSITIVE_INFINITY
  for (let i = index - 1; i > limit; i -= 1) {
    const entry = entries[i] as RegisterEntry
    if (entry.time < before && isBase(entry)) return i
  }
  return limit
}

const skipTo = (walk: Walk, index: number): void => {
  if (index <= walk.at) return
  walk.at = index
  walk.state = stateAfterBase(walk.entries[index] as Base)
}

/** Go to the next reading. */
const advance = (walk: Walk): RegisterEntry => {
  const current = walk.entries[walk.at]
  if (current?.hasGapAfter === true) walk.missingAfter.add(current.time)
  walk.at += 1
  return walk.entries[walk.at] as RegisterEntry
}

/** Follow the stored decisions up to the reading before `end`, or before the first dip that is new or none any more. */
const followStored = (walk: Walk, end: number): void => {
  while (walk.at + 1 < end) {
    if (hasOtherDip(walk, walk.entries[walk.at + 1] as RegisterEntry)) return
    const entry = advance(walk)
    if (isBase(entry)) walk.state = stateAfterBase(entry)
    else if (entry.value !== null) walk.state = stateAfterLeftOut(walk.rule, walk.state, entry as Base)
  }
}

/** Return whether a stored fall is a dip and was none, or is none and was one. */
const hasOtherDip = (walk: Walk, { value, isRestart, isDoubtful, index }: RegisterEntry): boolean => {
  const { rule, state } = walk
  if (rule?.kind !== 'LIFETIME' || value === null || isRestart || state.base === null) return false
  if (value >= state.base.value || value >= (rangeOf(rule) ?? state.base.value)) return false
  return isFollowed(walk, index, state.base.value) !== isDoubtful
}

/** Apply the rules to the readings after the current one, until the state is the stored one again. */
const decide = (walk: Walk): void => {
  const { rule, entries, state } = walk
  const reached: RegisterEntry[] = [state.base, state.suspect].filter(entry => entry !== null)
  let until = reached.at(-1)
  while (walk.at + 1 < entries.length) {
    const entry = advance(walk)
    const wasBase = !entry.hasArrived && isBase(entry) && entry.time > (until?.time ?? entry.time)
    if (entry.value !== null) {
      const result = applyReading(rule, walk.state, entry as Base, value => isFollowed(walk, entry.index, value))
      walk.state = result.state
      entry.refusal = result.refusal
      entry.isDoubtful = result.isDoubtful
      if (result.opening !== null) result.opening.closing = { entry, energy: result.energy }
    }
    until = entry
    if (wasBase && isBase(entry)) break
    reached.push(entry)
  }
  for (const entry of reached) entry.reachedUntil = until ?? entry
}

/** Return whether a reading of the same meter, within 24 h after the one at `index`, has at least a value. */
const isFollowed = (walk: Walk, index: number, value: Energy): boolean => {
  const { rule, entries, gaps, missingAfter } = walk
  walk.highest ??= highestFollowers(entries, rangeOf(rule))
  const gap = entries[gaps[firstIndexFrom(gaps, index)] ?? -1]
  if (gap !== undefined && gap.time <= (entries[index] as RegisterEntry).time + dipMs) missingAfter.add(gap.time)
  const highest = walk.highest[index] ?? null
  return highest !== null && highest >= value
}
