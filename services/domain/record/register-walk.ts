import type { Energy } from '../quantity.ts'
import type { Refusal } from '../refusal.ts'
import { firstIndex, firstIndexFrom } from '../sorted.ts'
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
 * `hasArrived`: the message of the walk has a reading for this place. `hasGapAfter`: readings can be missing between
 * this one and the next one. `closing`: the reading that closes its interval, with the energy. `reachedUntil`: the last
 * reading that can close its interval, now or in the stored state; null if the interval cannot have changed.
 */
export type RegisterEntry = ReadingValue & {
  hasArrived: boolean
  readonly hasGapAfter: boolean
  isDoubtful: boolean
  refusal: Refusal | null
  closing: { readonly entry: RegisterEntry; readonly energy: Energy } | null
  reachedUntil: RegisterEntry | null
}

type Base = ActiveReading<RegisterEntry>

/** Highest followers of the entries from `from` to before `end`, and the entries there with a gap after them. */
type Followers = {
  readonly from: number
  readonly end: number
  readonly highest: readonly (Energy | null)[]
  readonly gaps: readonly number[]
}

/** A walk along a register. `state` is that after the entry `at`; -1 is before the first one. */
type Walk = {
  readonly rule: RegisterRule | null
  readonly entries: readonly RegisterEntry[]
  readonly missingAfter: Set<number>
  readonly touched: Set<RegisterEntry>
  followers: Followers | null
  at: number
  state: RegisterState<RegisterEntry>
}

/**
 * Result of a walk. `missingAfter`: times of entries after which readings are missing that the walk needs; if there are
 * any, the decisions are not valid. `touched`: all entries in which the walk noted something.
 */
export type WalkResult = { readonly missingAfter: ReadonlySet<number>; readonly touched: ReadonlySet<RegisterEntry> }

/** Return whether the readings after this one depend on no reading before it, apart from dips. */
export const isBase = (entry: RegisterEntry): entry is Base => entry.value !== null && !entry.isDoubtful

/**
 * Decide about the readings that arrived, and about the stored ones that they change. Takes the entries by time, the
 * indexes of the arrived ones, and the index of a base from which on all decisions about these hold; -1 if none is known.
 * Notes the decisions in the entries.
 * The walk follows the stored decisions until something is new. Then it applies the rules until it comes back to the
 * stored state: at a reading that was a base and still is one.
 * Law: the time is linear in the number of readings between the first and the last one that it has to look at.
 */
export const walkRegister = (
  rule: RegisterRule | null,
  entries: readonly RegisterEntry[],
  arrived: readonly number[],
  start: number,
): WalkResult => {
  const state = stateAfterBase<RegisterEntry>(null)
  const walk: Walk = {
    rule,
    entries,
    missingAfter: new Set(),
    touched: new Set(),
    followers: null,
    at: -1,
    state,
  }
  skipTo(walk, start)
  for (const index of arrived) {
    if (index <= walk.at) continue
    skipTo(walk, lastBaseBefore(rule, entries, index, (entries[index] as RegisterEntry).time, walk.at))
    while (walk.at < index) {
      followStored(walk, index)
      decide(walk)
    }
  }
  return walk
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
  const end = firstIndex(index, i => (entries[i] as RegisterEntry).time >= before)
  for (let i = end - 1; i > limit; i -= 1) if (isBase(entries[i] as RegisterEntry)) return i
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
const hasOtherDip = (walk: Walk, { value, isRestart, isDoubtful }: RegisterEntry): boolean => {
  const { rule, state, at } = walk
  if (rule?.kind !== 'LIFETIME' || value === null || isRestart || state.base === null) return false
  if (value >= state.base.value || value >= (rangeOf(rule) ?? state.base.value)) return false
  return isFollowed(walk, at + 1, state.base.value) !== isDoubtful
}

/** Apply the rules to the readings after the current one, until the state is the stored one again. */
const decide = (walk: Walk): void => {
  const { rule, entries, state } = walk
  const reached: RegisterEntry[] = [state.base, state.suspect].filter(entry => entry !== null)
  let until = reached.at(-1)
  while (walk.at + 1 < entries.length) {
    const entry = advance(walk)
    walk.touched.add(entry)
    const wasBase = !entry.hasArrived && isBase(entry) && entry.time > (until?.time ?? entry.time)
    if (entry.value !== null) {
      const result = applyReading(rule, walk.state, entry as Base, value => isFollowed(walk, walk.at, value))
      walk.state = result.state
      entry.refusal = result.refusal
      entry.isDoubtful = result.isDoubtful
      if (result.opening !== null) result.opening.closing = { entry, energy: result.energy }
    }
    until = entry
    if (wasBase && isBase(entry)) break
    reached.push(entry)
  }
  for (const entry of reached) {
    entry.reachedUntil = until ?? entry
    walk.touched.add(entry)
  }
}

/** Return whether a reading of the same meter, within 24 h after the one at `index`, has at least a value. */
const isFollowed = (walk: Walk, index: number, value: Energy): boolean => {
  const { entries, missingAfter } = walk
  const { from, highest, gaps } = followersAt(walk, index)
  const gap = entries[gaps[firstIndexFrom(gaps, index)] ?? -1]
  if (gap !== undefined && gap.time <= (entries[index] as RegisterEntry).time + dipMs) missingAfter.add(gap.time)
  const highestValue = highest[index - from] ?? null
  return highestValue !== null && highestValue >= value
}

/** Return the followers of an entry, and of the entries within 24 h after it. */
const followersAt = (walk: Walk, index: number): Followers => {
  const { rule, entries, followers } = walk
  if (followers !== null && index >= followers.from && index < followers.end) return followers
  const indexAfterDip = (from: number): number => {
    const last = (entries[from] as RegisterEntry).time + dipMs
    return firstIndex(entries.length, i => (entries[i] as RegisterEntry).time > last)
  }
  const end = indexAfterDip(index)
  const until = indexAfterDip(end - 1)
  const gaps: number[] = []
  for (let i = index; i < until; i += 1) if (entries[i]?.hasGapAfter === true) gaps.push(i)
  walk.followers = { from: index, end, gaps, highest: highestFollowers(entries, rangeOf(rule), index, until) }
  return walk.followers
}
