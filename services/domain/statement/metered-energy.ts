import type { CountedFlow, EnergySelection } from '../charge/charge.ts'
import type { TimeZone } from '../civil-time.ts'
import { type Interval, intervalsWithin } from '../interval.ts'
import { type Energy, shareWithin } from '../quantity.ts'
import type { MeterRecord } from '../record/record.ts'
import type { DemandGrid } from './demand-grid.ts'
import type { RangeMeasurement } from './measurement.ts'

/**
 * Record as charges read it, priced or not, with its energy before actuals cover it. `covered`: parts of an estimate
 * that actuals cover, sorted and separate.
 */
export type MeteredRecord = MeterRecord & { readonly covered: readonly Interval[] }

/** Flow of a record: bought, sold or own generation. */
export type MeterFlow = 'IMPORT' | 'EXPORT' | 'LOCAL'

/** Records of a flow, by start. */
type FlowRecords = { readonly records: readonly MeteredRecord[]; readonly maxLengthMs: number }

/** Energy in each interval between edges, and the number of records that share time with the edges. */
export type EnergySums = { readonly energies: readonly Energy[]; readonly records: number }

/** Sums between edges that are in memory, the oldest first, and the number of their intervals. */
type CachedSums = {
  readonly byEdges: WeakMap<readonly number[], Map<string, EnergySums>>
  readonly inOrder: { readonly edges: readonly number[]; readonly key: string }[]
  intervals: number
}

/**
 * Session from its first start to its last end. `idleFrom`: last end of a record with energy; null if no record has
 * energy.
 */
export type MeteredSession = Interval & { readonly idleFrom: number | null }

/**
 * Records of a location, prepared for charges. Sums are cached by the identity of their edges, grids by their range.
 * Sessions are cached by their devices and their last local day, `missing` time by the terms of the search, and
 * `measurements` by their terms and days. Equal charges and the candidates of a simulation share the cached values.
 * `work` counts the records and intervals that were visited.
 */
export type MeteredEnergy = {
  readonly timeZone: TimeZone
  readonly includesDevices: Readonly<Record<MeterFlow, boolean>>
  readonly flows: Readonly<Record<MeterFlow, FlowRecords>>
  readonly grids: Map<string, DemandGrid>
  readonly sessions: Map<string, ReadonlyMap<number, readonly MeteredSession[]>>
  readonly sums: CachedSums
  readonly missing: Map<string, readonly Interval[]>
  readonly measurements: Map<string, RangeMeasurement>
  readonly work: { visited: number }
}

/** Maximum number of intervals of cached sums: about 50 MB. */
const maxCachedIntervals = 1_000_000

const noIntervals: readonly Interval[] = []

const flowOf = ({ energyFlowDirection, tariffDirection }: MeteredRecord): MeterFlow | null => {
  if (energyFlowDirection === 'INBOUND') return tariffDirection === 'LOCAL' ? 'LOCAL' : 'IMPORT'
  return tariffDirection === 'EXPORT' ? 'EXPORT' : null
}

const byStart = (records: readonly MeteredRecord[]): FlowRecords => {
  let maxLengthMs = 0
  let isSorted = true
  for (const [index, { start, end }] of records.entries()) {
    maxLengthMs = Math.max(maxLengthMs, end - start)
    isSorted &&= index === 0 || (records[index - 1] as MeteredRecord).start <= start
  }
  return { records: isSorted ? records : records.toSorted((a, b) => a.start - b.start), maxLengthMs }
}

/**
 * Prepare the records of a location, in any order.
 * `includesDevices`: flows in which the statement has the records of devices in addition to those of the location.
 * Charges that name devices, and charges of sessions, read the records of devices in any case.
 * A charge reads records before the statement too: the months of a rolling mean and of a ratchet, and the complete
 * records of each session that ends in the statement.
 */
export const createMeteredEnergy = (
  all: Iterable<MeteredRecord>,
  { timeZone, includesDevices }: Pick<MeteredEnergy, 'timeZone' | 'includesDevices'>,
): MeteredEnergy => {
  const records: Record<MeterFlow, MeteredRecord[]> = { IMPORT: [], EXPORT: [], LOCAL: [] }
  for (const record of all) {
    const flow = flowOf(record)
    if (flow !== null) records[flow].push(record)
  }
  const flows = {
    IMPORT: byStart(records.IMPORT),
    EXPORT: byStart(records.EXPORT),
    LOCAL: byStart(records.LOCAL),
  }
  const sums: CachedSums = { byEdges: new WeakMap(), inOrder: [], intervals: 0 }
  const caches = { grids: new Map(), sessions: new Map(), sums, missing: new Map(), measurements: new Map() }
  return { timeZone, includesDevices, flows, ...caches, work: { visited: 0 } }
}

/** Return the intervals of zero energy of a record whose energy actuals cover in part. */
export const coveredParts = (
  pieces: readonly (Interval & { readonly energy: Energy })[],
  isCovered: boolean,
): readonly Interval[] => (isCovered ? pieces.filter(({ energy }) => energy === 0n) : noIntervals)

/**
 * Return the energy of a record in [from, to): its cumulative share, less the shares that actuals cover. An impulse lies
 * in the interval that contains it.
 */
export const energyBetween = (record: MeteredRecord, from: number, to: number): Energy => {
  const { start, end, energy, covered } = record
  if (start === end) return from <= start && start < to ? energy : 0n
  const part = { start: Math.max(from, start), end: Math.min(to, end) }
  if (part.start >= part.end) return 0n
  let sum = shareWithin(energy, record, part)
  if (covered.length > 0) for (const one of intervalsWithin(part, covered)) sum -= shareWithin(energy, record, one)
  return sum
}

/** Return the index of the first record that can share time with an interval that starts at `at`. */
const firstIndexFrom = ({ records, maxLengthMs }: FlowRecords, at: number): number => {
  let [low, high] = [0, records.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((records[middle] as MeteredRecord).start < at - maxLengthMs) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * Return the selected records of a flow that share time with an interval or lie in it as an impulse, by start.
 * `deviceIds` null selects the records of the statement.
 */
export function* recordsWithin(
  { flows, includesDevices, work }: MeteredEnergy,
  flow: MeterFlow,
  deviceIds: readonly string[] | null,
  { start, end }: Interval,
): Generator<MeteredRecord, void> {
  const { records } = flows[flow]
  const selected = deviceIds === null ? null : new Set<string | null>(deviceIds)
  const hasAll = selected === null && includesDevices[flow]
  for (let index = firstIndexFrom(flows[flow], start); index < records.length; index += 1) {
    const record = records[index] as MeteredRecord
    if (record.start >= end) break
    work.visited += 1
    const { deviceId } = record
    const isWithin = record.end > start || record.start === start
    if (isWithin && (hasAll || (selected === null ? deviceId === null : selected.has(deviceId)))) yield record
  }
}

const sumFlow = (
  metered: MeteredEnergy,
  flow: MeterFlow,
  deviceIds: readonly string[] | null,
  edges: readonly number[],
): EnergySums => {
  const energies: Energy[] = new Array(edges.length - 1).fill(0n)
  const range = { start: edges[0] as number, end: edges[edges.length - 1] as number }
  let [first, records] = [0, 0]
  for (const record of recordsWithin(metered, flow, deviceIds, range)) {
    records += 1
    const { start, end, energy, covered } = record
    while ((edges[first + 1] as number) <= start) first += 1
    if (start >= range.start && end <= (edges[first + 1] as number) && covered.length === 0) {
      energies[first] = (energies[first] as Energy) + energy
      continue
    }
    for (let cell = first; cell < energies.length; cell += 1) {
      const from = edges[cell] as number
      if (from >= end && from > start) break
      energies[cell] = (energies[cell] as Energy) + energyBetween(record, from, edges[cell + 1] as number)
      metered.work.visited += 1
    }
  }
  return { energies, records }
}

/** Flows whose records a selection counts. */
export const flowsOf: Readonly<Record<CountedFlow, readonly MeterFlow[]>> = {
  IMPORT: ['IMPORT'],
  EXPORT: ['EXPORT'],
  GROSS: ['IMPORT', 'LOCAL'],
  NET_IMPORT: ['IMPORT', 'EXPORT'],
}

/** Calculate the energy that a charge counts between edges, as `sumEnergy` does, without a cache. */
export const sumSelection = (
  metered: MeteredEnergy,
  { counts, deviceIds }: EnergySelection,
  edges: readonly number[],
): EnergySums => {
  const [flow, other] = flowsOf[counts]
  const sums = sumFlow(metered, flow as MeterFlow, deviceIds, edges)
  if (other === undefined) return sums
  const { energies, records } = sumFlow(metered, other, deviceIds, edges)
  const combine = (own: Energy, more: Energy): Energy => {
    if (counts === 'GROSS') return own + more
    return own > more ? own - more : 0n
  }
  return {
    energies: sums.energies.map((energy, index) => combine(energy, energies[index] as Energy)),
    records: sums.records + records,
  }
}

const selectionKey = ({ counts, deviceIds }: EnergySelection): string => `${counts} ${deviceIds?.join(' ') ?? 'all'}`

/** Return a copy in which a selection has other sums between some edges. All else is shared with the original. */
export const withSums = (
  metered: MeteredEnergy,
  selection: EnergySelection,
  changed: readonly { readonly edges: readonly number[]; readonly sums: EnergySums }[],
): MeteredEnergy => {
  const byEdges: CachedSums['byEdges'] = new WeakMap()
  const known = metered.sums.byEdges
  for (const { edges } of metered.grids.values()) byEdges.set(edges, new Map(known.get(edges)))
  for (const { edges, sums } of changed)
    byEdges.set(edges, new Map([...(known.get(edges) ?? []), [selectionKey(selection), sums]]))
  return { ...metered, sums: { byEdges, inOrder: [], intervals: 0 }, measurements: new Map() }
}

/** Cache sums, and drop the oldest ones if there are too many. */
const cacheSums = ({ sums }: MeteredEnergy, edges: readonly number[], key: string, added: EnergySums): void => {
  const ofEdges = sums.byEdges.get(edges) ?? new Map<string, EnergySums>()
  sums.byEdges.set(edges, ofEdges.set(key, added))
  sums.inOrder.push({ edges, key })
  sums.intervals += edges.length
  while (sums.intervals > maxCachedIntervals && sums.inOrder.length > 1) {
    const oldest = sums.inOrder.shift()
    if (oldest === undefined) return
    sums.byEdges.get(oldest.edges)?.delete(oldest.key)
    sums.intervals -= oldest.edges.length
  }
}

/** Return the energy that a charge counts between edges (ascending, at least two). */
export const sumEnergy = (metered: MeteredEnergy, selection: EnergySelection, edges: readonly number[]): EnergySums => {
  const key = selectionKey(selection)
  const cached = metered.sums.byEdges.get(edges)?.get(key)
  if (cached !== undefined) return cached
  const sums = sumSelection(metered, selection, edges)
  cacheSums(metered, edges, key, sums)
  return sums
}
