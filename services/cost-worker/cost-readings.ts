import { dipMs, maxLeftOut, type RegisterRule } from '../domain/record/reading-rules.ts'
import { recordDefaults } from '../domain/record/record.ts'
import { openRegister, type RegisterInterval, type RegisterUpdate } from '../domain/record/register.ts'
import { tenantKey } from '../domain/tenant.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import {
  type FoundReadings,
  joinFound,
  type MeterReadingRow,
  readingsAround,
  registerKey,
} from '../platform/clickhouse/readings/meter-readings.ts'
import type { BatchFailureRow } from '../platform/clickhouse/readings/receipts.ts'
import { startTimeSlices, type TimeSlices } from '../platform/concurrency/time-slices.ts'
import { Failure } from '../platform/failure.ts'
import type { ChunkHeaders } from '../platform/log/chunk-headers.ts'
import type { ReadingChunk } from '../platform/log/messages.ts'
import { rowVersionOf } from '../platform/log/row-version.ts'
import type { MessageOrigin, RecordToCost } from './record-to-cost.ts'

/** Reading of a message, as the row to store if it is valid, and the properties of its register. */
export type ReadingToStore = {
  readonly row: MeterReadingRow
  readonly rule: RegisterRule | null
  readonly origin: MessageOrigin
}

/**
 * Register interval to cost as a record, with the part of its closing reading. A withdrawn interval has no energy, the
 * part of its opening reading, and the latest possible end. `origin`: the message of its reading that arrived in this
 * step, else that of the last reading.
 */
export type IntervalToCost = RecordToCost & { readonly isWithdrawn: boolean }

export type ReadingsResult = {
  readonly readings: readonly MeterReadingRow[]
  /** In the order of registers, then by start. Each record id is there once. */
  readonly intervals: readonly IntervalToCost[]
  readonly failures: readonly BatchFailureRow[]
}

/** Return the readings of a chunk. The position of a reading counts the readings of all parts, from 0. */
export const readingsOfChunk = (
  chunk: ReadingChunk,
  { generation }: ChunkHeaders,
  origin: MessageOrigin,
): readonly ReadingToStore[] => {
  let position = 0
  return chunk.parts.flatMap(({ readings, register: rule, ...part }) =>
    readings.map((reading): ReadingToStore => {
      const version = rowVersionOf(generation, origin.message.offset, position)
      position += 1
      return { row: { ...part, ...reading, isDoubtful: false, version, sourceVersion: version }, rule, origin }
    }),
  )
}

/**
 * By `registerKey`, the readings of each register that decide about later ones, by time. Later readings of a register
 * of the same kind need no read of the store.
 */
export type NewestReadings = Map<string, { readonly kind: RegisterKind; readonly readings: readonly MeterReadingRow[] }>
type RegisterKind = RegisterRule['kind'] | undefined

/**
 * Calculate the intervals of a step's readings, in the order of the partition, with the stored readings around them. It
 * reads the store once for each account and mode, and again for registers whose intervals depend on readings further
 * away.
 * Law: the same messages give the same rows, even if some or all of them are stored already.
 * Failures depend on the readings that were stored before. Therefore store `failures` before `readings`, and `readings`
 * after all other rows.
 * The function updates `newest`. Clear it after a step that was not stored, and after an assignment or an erasure.
 */
export const costReadings = async (
  db: ClickHouse,
  arrived: readonly ReadingToStore[],
  newest: NewestReadings,
): Promise<ReadingsResult> => {
  const readings: MeterReadingRow[] = []
  const intervals: IntervalToCost[] = []
  const failures: BatchFailureRow[] = []
  const registers = Map.groupBy(arrived, ({ row }) => registerKey(row))
  const slices = startTimeSlices()
  const updates = await updateRegisters(db, registers, newest, slices)
  for (const [key, own] of registers) {
    if (slices.isOver()) await slices.pause()
    const update = updates.get(key) as RegisterUpdate<MeterReadingRow>
    for (const reading of update.readings) readings.push(reading)
    const origins = new Map(own.map(({ row, origin }) => [row.sourceVersion, origin]))
    const latest = (own.at(-1) as ReadingToStore).origin
    for (const interval of update.intervals) intervals.push(intervalToCost(interval, origins, latest))
    for (const { reading, refusal } of update.failures)
      failures.push(...failuresOf(reading, `${refusal.code}: ${refusal.message}`))
    remember(newest, key, ruleOf(own)?.kind, update.tail)
  }
  return { readings, intervals, failures }
}

type Registers = ReadonlyMap<string, readonly ReadingToStore[]>

/** Return the properties of a register, as its newest message has them. */
const ruleOf = (own: readonly ReadingToStore[]): RegisterRule | null => own.at(-1)?.rule ?? null

/** Readings that are read at each edge of a gap if the nearest ones do not suffice: all that can be left out in a row. */
const wideEdge = maxLeftOut + 1
/** LIFETIME registers that are read together: each of them can have 172,800 readings within 24 h of a new one. */
const maxLifetimeRegisters = 20

/** New readings of a register, the times (ms) around which stored readings are needed, and the readings found before. */
type RegisterToRead = {
  readonly own: readonly ReadingToStore[]
  readonly times: ReadonlySet<number>
  readonly found: FoundReadings
}

/** Add the messages of a register, with pauses. Returns the times around which stored readings are missing, if there are any. */
const updateRegister = async (
  own: readonly ReadingToStore[],
  found: FoundReadings,
  slices: TimeSlices,
): Promise<RegisterUpdate<MeterReadingRow> | { readonly missingAfter: ReadonlySet<number> }> => {
  const register = openRegister(ruleOf(own), found)
  for (const message of messagesOf(own)) {
    if (slices.isOver()) await slices.pause()
    const missingAfter = register.add(message)
    if (missingAfter.size > 0) return { missingAfter }
  }
  return register.update()
}

/** Update each register, with as many stored readings around its new readings as it needs. */
const updateRegisters = async (
  db: ClickHouse,
  registers: Registers,
  newest: NewestReadings,
  slices: TimeSlices,
): Promise<ReadonlyMap<string, RegisterUpdate<MeterReadingRow>>> => {
  const updates = new Map<string, RegisterUpdate<MeterReadingRow>>()
  let toRead = new Map<string, RegisterToRead>()
  const update = async (key: string, { own, times, found }: RegisterToRead, isWide: boolean): Promise<void> => {
    const updated = await updateRegister(own, found, slices)
    if (!('missingAfter' in updated)) updates.set(key, updated)
    else if (isWide && [...updated.missingAfter].every(time => times.has(time))) throw changedMeanwhile
    else toRead.set(key, { own, times: updated.missingAfter, found })
  }
  for (const [key, own] of registers) {
    const known = newestBefore(newest, key, own)
    const times = new Set(own.map(({ row }) => row.time))
    if (known === null) toRead.set(key, { own, times, found: noReadings })
    else await update(key, { own, times, found: { readings: known, gapsAfter: new Set() } }, false)
  }
  for (let edge = 1; toRead.size > 0; edge = wideEdge) {
    const all = [...toRead]
    toRead = new Map()
    const others = all.filter(register => !isLifetime(register))
    for (const group of [others, ...groupsOf(all.filter(isLifetime), maxLifetimeRegisters)]) {
      const stored = await gatherStored(db, group, edge)
      for (const [key, register] of group) {
        const found = joinFound(register.found, stored.get(key) ?? noReadings)
        await update(key, { ...register, found }, edge === wideEdge)
      }
    }
  }
  return updates
}

/** Another process erased readings between two reads, so that a gap has no readings. The step runs again. */
const changedMeanwhile = new Failure('unavailable', 'Register readings changed during a step.', { retriable: true })

/** Return the remembered readings of a register if all its new readings are later; else null. */
const newestBefore = (
  newest: NewestReadings,
  key: string,
  own: readonly ReadingToStore[],
): readonly MeterReadingRow[] | null => {
  const known = newest.get(key)
  const last = known?.readings.at(-1)
  if (known === undefined || last === undefined || known.kind !== ruleOf(own)?.kind) return null
  return own.every(({ row }) => row.time > last.time) ? known.readings : null
}

const groupsOf = <Item>(all: readonly Item[], size: number): readonly (readonly Item[])[] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size))

/** Return the rows of each message, in the order of arrival. */
const messagesOf = (own: readonly ReadingToStore[]): readonly (readonly MeterReadingRow[])[] =>
  [...Map.groupBy(own, ({ origin }) => origin.message).values()].map(message => message.map(({ row }) => row))

const isLifetime = ([, { own }]: readonly [string, RegisterToRead]): boolean => ruleOf(own)?.kind === 'LIFETIME'

const noReadings: FoundReadings = { readings: [], gapsAfter: new Set() }

/** Read the stored readings around the times of each register. A dip needs those of 24 h. */
const gatherStored = async (
  db: ClickHouse,
  registers: readonly (readonly [string, RegisterToRead])[],
  edge: number,
): Promise<ReadonlyMap<string, FoundReadings>> => {
  const stored = new Map<string, FoundReadings>()
  const queries = registers.map(([, { own, times }]) => ({
    register: (own[0] as ReadingToStore).row,
    times: [...times].sort((a, b) => a - b),
    nearMs: ruleOf(own)?.kind === 'LIFETIME' ? dipMs : 0,
  }))
  for (const tenantQueries of Map.groupBy(queries, ({ register }) => tenantKey(register)).values()) {
    const [{ register }] = tenantQueries as [(typeof queries)[number]]
    for (const [key, found] of await readingsAround(db, register, tenantQueries, edge)) stored.set(key, found)
  }
  return stored
}

const maxRememberedRegisters = 100_000
/** A register with more readings that decide about later ones is read from the store. */
const maxRememberedReadings = 64

/** Remember the readings of a register that decide about later ones. The oldest registers are dropped. */
const remember = (
  newest: NewestReadings,
  key: string,
  kind: RegisterKind,
  readings: readonly MeterReadingRow[],
): void => {
  newest.delete(key)
  if (readings.length > 0 && readings.length <= maxRememberedReadings) newest.set(key, { kind, readings })
  for (const oldest of newest.keys()) {
    if (newest.size <= maxRememberedRegisters) return
    newest.delete(oldest)
  }
}

const intervalToCost = (
  { opening, consumption, end, version, sourceVersion }: RegisterInterval<MeterReadingRow>,
  origins: ReadonlyMap<bigint, MessageOrigin>,
  latest: MessageOrigin,
): IntervalToCost => {
  const part = consumption?.closing ?? opening
  const { accountId, liveMode, batchId, receivedAt } = part
  return {
    record: {
      locationId: opening.locationId,
      deviceId: opening.deviceId,
      energyFlowDirection: opening.energyFlowDirection,
      tariffDirection: opening.tariffDirection,
      start: opening.time,
      end,
      energy: consumption?.energy ?? 0n,
      ...recordDefaults,
      sessionReferenceId: consumption?.closing.sessionReferenceId ?? null,
      recordReferenceId: consumption?.closing.recordReferenceId ?? null,
      recordId: opening.recordId,
      recordNumber: part.recordNumber,
    },
    part: { accountId, liveMode, batchId, receivedAt },
    version,
    sourceVersion,
    origin: origins.get(part.sourceVersion) ?? origins.get(opening.sourceVersion) ?? latest,
    isWithdrawn: consumption === null,
  }
}

const failuresOf = (reading: MeterReadingRow, error: string): readonly BatchFailureRow[] => {
  const { accountId, liveMode, batchId, recordNumber, recordReferenceId, locationId, deviceId } = reading
  if (batchId === null) return []
  return [
    { accountId, liveMode, batchId, recordNumber, recordReferenceId, locationId, deviceId, foundLater: true, error },
  ]
}
