import { blockRank, type CalendarDayKind, entryRanks, fullRank, rankCount, secondsPerDay } from './day-pattern.ts'
import type { DaysAndHours, ScheduleEntry, TimeBand } from './tariff.ts'

/** No time band covers the part of the day. */
export const noTimeBand = -1
/** Several time bands of the highest rank cover the part of the day. */
export const overlappingTimeBands = -2

/**
 * Visitor of the parts of a day, in seconds. `timeBand` is an index of `timeBands`, `noTimeBand` or
 * `overlappingTimeBands`. Returns true to end the sweep.
 */
export type VisitTimeBand = (from: number, to: number, timeBand: number) => boolean

/**
 * Schedule prepared to examine many kinds of days. Days of one class have the same bands at the same ranks.
 * Creating it takes time in proportion to the schedule (except for one sort). A class takes a few steps for each entry.
 * A sweep takes a few steps for each entry and each applicable band, and one for each 32 edges of the schedule.
 */
export type DaySweep = {
  readonly timeBands: readonly TimeBand[]
  /** Return a text that is equal for kinds of days of one class. */
  readonly classOf: (kind: CalendarDayKind) => string
  /** Return the number of bands that apply on a kind of day, of every rank. */
  readonly timeBandCount: (kind: CalendarDayKind) => number
  /** Visit the parts of a kind of day in order, without a gap. Neighbours can have the same band. */
  readonly sweep: (kind: CalendarDayKind, visit: VisitTimeBand) => void
}

/**
 * Block of a schedule: `index` in the schedule; `ranks` by weekday, -1 if it does not apply; `edges` are ascending indexes of the edges of its
 * bands.
 */
type Block = {
  readonly index: number
  readonly timeBands: number
  readonly days: DaysAndHours['days']
  readonly ranks: readonly number[]
  readonly edges: number[]
}

/**
 * Edges in order of time: second of the day, index of the block, index of the band, sign 1 for a start and -1 for an
 * end.
 */
type Edges = {
  readonly second: Int32Array
  readonly block: Int32Array
  readonly timeBand: Int32Array
  readonly sign: Int8Array
}

const weekdays = [0, 1, 2, 3, 4, 5, 6]
const maxEdges = 4_194_304

/** Return the edges of a band as [second, sign]. A band that passes midnight starts twice. */
const edgesOfTimeBand = ({ validFrom, validTo }: TimeBand): readonly (readonly [number, 1 | -1])[] => {
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

/** Sort the edges of all bands by time, and add to each block the indexes of its edges. */
const sortEdges = (blocks: readonly Block[], timeBandsOfBlocks: readonly (readonly TimeBand[])[]): Edges => {
  const found: { readonly second: number; readonly sign: number; readonly block: number; readonly timeBand: number }[] =
    []
  let timeBand = 0
  for (const [block, hours] of timeBandsOfBlocks.entries()) {
    for (const one of hours) {
      for (const [second, sign] of edgesOfTimeBand(one)) found.push({ second, sign, block, timeBand })
      timeBand += 1
    }
  }
  const sortKeys = Float64Array.from(found, ({ second }, index) => second * maxEdges + index).sort()
  const numbers = () => new Int32Array(found.length)
  const edges = { second: numbers(), block: numbers(), timeBand: numbers(), sign: new Int8Array(found.length) }
  for (const [edgeIndex, key] of sortKeys.entries()) {
    const edge = found[key % maxEdges] as (typeof found)[number]
    edges.second[edgeIndex] = edge.second
    edges.block[edgeIndex] = edge.block
    edges.timeBand[edgeIndex] = edge.timeBand
    edges.sign[edgeIndex] = edge.sign
    blocks[edge.block]?.edges.push(edgeIndex)
  }
  return edges
}

/** Return for each weekday the first weekday on which all blocks have the same ranks. */
const sameRankWeekdays = (blocks: readonly Block[]): readonly number[] =>
  weekdays.map(day => weekdays.find(other => blocks.every(({ ranks }) => ranks[day] === ranks[other])) as number)

/**
 * Visit the parts of a day whose edges are marked, and clear the marks. The bit order yields the edges in order, in
 * linear time.
 */
const visitMarked = (edges: Edges, ranks: Int8Array, markedEdges: Int32Array, visit: VisitTimeBand): void => {
  // Open bands by rank: their number, and the sum of their indexes, which is the index if only one is open.
  const [counts, sums] = [new Int32Array(rankCount), new Float64Array(rankCount)]
  let open = 0
  const highestTimeBand = (): number => {
    if (open === 0) return noTimeBand
    const rank = 31 - Math.clz32(open)
    return counts[rank] === 1 ? (sums[rank] as number) : overlappingTimeBands
  }
  let second = 0
  let isDone = false
  for (let word = 0; word < markedEdges.length; word += 1) {
    for (let bits = markedEdges[word] as number; bits !== 0; bits &= bits - 1) {
      const edge = word * 32 + 31 - Math.clz32(bits & -bits)
      const edgeSecond = edges.second[edge] as number
      if (edgeSecond > second && !isDone) {
        isDone = visit(second, edgeSecond, highestTimeBand())
        second = edgeSecond
      }
      const rank = ranks[edges.block[edge] as number] as number
      const sign = edges.sign[edge] as number
      const count = (counts[rank] as number) + sign
      counts[rank] = count
      sums[rank] = (sums[rank] as number) + sign * (edges.timeBand[edge] as number)
      open = count > 0 ? open | (1 << rank) : open & ~(1 << rank)
    }
    markedEdges[word] = 0
  }
  if (second < secondsPerDay && !isDone) visit(second, secondsPerDay, highestTimeBand())
}

/**
 * Prepare a schedule to be examined day by day.
 * Source: docs/rules/tariffs.md #time-bands, #special-days.
 */
export const createDaySweep = (schedule: readonly ScheduleEntry[]): DaySweep => {
  const all = schedule.flatMap(({ daysAndHours }) => daysAndHours)
  const blocks = all.map((block, index): Block => {
    const blockRanks = weekdays.map(day => blockRank(block, day))
    return { index, timeBands: block.hours.length, days: block.days, ranks: blockRanks, edges: [] }
  })
  const timeBandsOfBlocks = all.map(block => block.hours)
  let firstBlock = 0
  const blocksOfEntries = schedule.map(({ daysAndHours }) => {
    firstBlock += daysAndHours.length
    return blocks.slice(firstBlock - daysAndHours.length, firstBlock)
  })
  const edges = sortEdges(blocks, timeBandsOfBlocks)
  const sameRankDays = sameRankWeekdays(blocks)
  const entryRank = entryRanks(schedule)
  const ranks = new Int8Array(blocks.length)
  const markedEdges = new Int32Array(Math.ceil(edges.second.length / 32))

  /** Set the ranks of the blocks that apply on a kind of day, and return these blocks. */
  const applicableBlocks = ({ month, date, weekday, special }: CalendarDayKind): readonly Block[] => {
    const applicable: Block[] = []
    for (let entry = 0; entry < schedule.length; entry += 1) {
      const rankOfEntry = entryRank(entry, month, date)
      if (rankOfEntry < 0) continue
      for (const block of blocksOfEntries[entry] as readonly Block[]) {
        const rank = fullRank(block.days, special, rankOfEntry, block.ranks[weekday] as number)
        ranks[block.index] = rank
        if (rank >= 0) applicable.push(block)
      }
    }
    return applicable
  }

  const classOf: DaySweep['classOf'] = ({ month, date, weekday, special = [] }) => {
    let text = `${special.join(',')}|${String.fromCharCode(sameRankDays[weekday] as number)}`
    for (let entry = 0; entry < schedule.length; entry += 1)
      if (entryRank(entry, month, date) >= 0) text += String.fromCharCode(entry)
    return text
  }

  const timeBandCount: DaySweep['timeBandCount'] = kind =>
    applicableBlocks(kind).reduce((count, { timeBands }) => count + timeBands, 0)

  const sweep: DaySweep['sweep'] = (kind, visit) => {
    for (const { edges: own } of applicableBlocks(kind)) {
      for (const edgeIndex of own)
        markedEdges[edgeIndex >>> 5] = (markedEdges[edgeIndex >>> 5] as number) | (1 << (edgeIndex & 31))
    }
    visitMarked(edges, ranks, markedEdges, visit)
  }

  return { timeBands: timeBandsOfBlocks.flat(), classOf, timeBandCount, sweep }
}
