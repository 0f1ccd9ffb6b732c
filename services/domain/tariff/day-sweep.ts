import { blockRank, type DayKind, entryRanks, secondsOfDay } from './day-pattern.ts'
import type { Hours, ScheduleEntry } from './tariff.ts'

/** No band covers the interval. */
export const gap = -1
/** Several bands of the highest rank cover the interval. */
export const overlap = -2

/** Called for each part of a day, in seconds; `band` is the index of the band in `bands`, `gap` or `overlap`. True ends the sweep. */
export type VisitBand = (from: number, to: number, band: number) => boolean

/**
 * A schedule made ready to look at many kinds of days. Days of one class have the same bands at the same ranks.
 * Building it costs time in proportion to the schedule (but for one sort), a class some steps for each entry, and a sweep some steps for
 * each band that applies, and one for each 32 edges of the schedule.
 */
export type DaySweep = {
  readonly bands: readonly Hours[]
  /** Return a text that is equal for kinds of days of one class. */
  readonly classOf: (kind: DayKind) => string
  /** Return how many bands apply on a kind of day, of every rank. */
  readonly bandCount: (kind: DayKind) => number
  /** Visit the parts of a kind of day in order, without gap; neighbours may have the same band. */
  readonly sweep: (kind: DayKind, visit: VisitBand) => void
}

/** `ranks`: by weekday, -1 if it does not apply. `edges`: places of the edges of its bands, ascending. */
type Block = { readonly entry: number; readonly bands: number; readonly ranks: readonly number[]; readonly edges: number[] }

/** Edges in order of time: second of the day, number of the block, index of the band, and 1 if the band opens, -1 if it closes. */
type Edges = { readonly at: Int32Array; readonly block: Int32Array; readonly band: Int32Array; readonly sign: Int8Array }

const weekdays = [0, 1, 2, 3, 4, 5, 6]
const manyEdges = 4_194_304

/** The edges of a band as [second, sign]; a band that wraps opens twice. */
const edgesOfBand = ({ validFrom, validTo }: Hours): readonly (readonly [number, 1 | -1])[] => {
  if (validTo > validFrom)
    return [
      [validFrom, 1],
      [validTo, -1],
    ]
  return validTo === 0
    ? [[validFrom, 1]]
    : [
        [0, 1],
        [validTo, -1],
        [validFrom, 1],
      ]
}

/** Sort the edges of all bands by time, and tell each block the places of its own. */
const sortEdges = (blocks: readonly Block[], bandsOf: readonly (readonly Hours[])[]): Edges => {
  const found: { readonly at: number; readonly sign: number; readonly block: number; readonly band: number }[] = []
  let band = 0
  for (const [block, hours] of bandsOf.entries()) {
    for (const one of hours) {
      for (const [at, sign] of edgesOfBand(one)) found.push({ at, sign, block, band })
      band += 1
    }
  }
  const keys = Float64Array.from(found, ({ at }, index) => at * manyEdges + index).sort()
  const numbers = () => new Int32Array(found.length)
  const edges = { at: numbers(), block: numbers(), band: numbers(), sign: new Int8Array(found.length) }
  for (const [place, key] of keys.entries()) {
    const edge = found[key % manyEdges] as (typeof found)[number]
    edges.at[place] = edge.at
    edges.block[place] = edge.block
    edges.band[place] = edge.band
    edges.sign[place] = edge.sign
    blocks[edge.block]?.edges.push(place)
  }
  return edges
}

/** Weekdays on which all blocks rank alike have the number of the first of them. */
const alikeWeekdays = (blocks: readonly Block[]): readonly number[] =>
  weekdays.map(day => weekdays.find(other => blocks.every(({ ranks }) => ranks[day] === ranks[other])) as number)

/** Visit the parts of a day whose edges are marked, and unmark them. The marked edges come out in order, as from a sort, in linear time. */
const sweepMarked = (edges: Edges, ranks: Int8Array, marked: Int32Array, visit: VisitBand): void => {
  // The bands that are open, by rank: how many, and the sum of their indexes, which is that of the only one.
  const [counts, sums] = [new Int32Array(12), new Float64Array(12)]
  let open = 0
  const highest = (): number => {
    if (open === 0) return gap
    const rank = 31 - Math.clz32(open)
    return counts[rank] === 1 ? (sums[rank] as number) : overlap
  }
  let at = 0
  let isDone = false
  for (let word = 0; word < marked.length; word += 1) {
    for (let bits = marked[word] as number; bits !== 0; bits &= bits - 1) {
      const edge = word * 32 + 31 - Math.clz32(bits & -bits)
      const time = edges.at[edge] as number
      if (time > at && !isDone) {
        isDone = visit(at, time, highest())
        at = time
      }
      const rank = ranks[edges.block[edge] as number] as number
      const sign = edges.sign[edge] as number
      const count = (counts[rank] as number) + sign
      counts[rank] = count
      sums[rank] = (sums[rank] as number) + sign * (edges.band[edge] as number)
      open = count > 0 ? open | (1 << rank) : open & ~(1 << rank)
    }
    marked[word] = 0
  }
  if (at < secondsOfDay && !isDone) visit(at, secondsOfDay, highest())
}

/** Make a schedule ready to be looked at day by day. Source: docs/rules/tariffs.md #time-bands. */
export const daySweep = (schedule: readonly ScheduleEntry[]): DaySweep => {
  const all = schedule.flatMap(({ daysAndHours }, entry) => daysAndHours.map(block => ({ entry, block })))
  const blocks = all.map(({ entry, block }): Block => {
    return { entry, bands: block.hours.length, ranks: weekdays.map(day => blockRank(block, day)), edges: [] }
  })
  const bandsOf = all.map(({ block }) => block.hours)
  const edges = sortEdges(blocks, bandsOf)
  const alike = alikeWeekdays(blocks)
  const entryRank = entryRanks(schedule)
  const ranks = new Int8Array(blocks.length)
  const marked = new Int32Array(Math.ceil(edges.at.length / 32))

  /** Set the ranks of the blocks on a kind of day, and return how many bands apply. */
  const rankBlocks = ({ month, date, weekday }: DayKind): number => {
    let count = 0
    for (const [index, block] of blocks.entries()) {
      const [outer, inner] = [entryRank(block.entry, month, date), block.ranks[weekday] as number]
      const rank = outer < 0 || inner < 0 ? -1 : outer * 3 + inner
      ranks[index] = rank
      if (rank >= 0) count += block.bands
    }
    return count
  }

  const classOf: DaySweep['classOf'] = ({ month, date, weekday }) => {
    let text = String.fromCharCode(alike[weekday] as number)
    for (let entry = 0; entry < schedule.length; entry += 1) if (entryRank(entry, month, date) >= 0) text += String.fromCharCode(entry)
    return text
  }

  const sweep: DaySweep['sweep'] = (kind, visit) => {
    rankBlocks(kind)
    for (const [index, { edges: own }] of blocks.entries()) {
      if ((ranks[index] as number) < 0) continue
      for (const place of own) marked[place >>> 5] = (marked[place >>> 5] as number) | (1 << (place & 31))
    }
    sweepMarked(edges, ranks, marked, visit)
  }

  return { bands: bandsOf.flat(), classOf, bandCount: rankBlocks, sweep }
}
