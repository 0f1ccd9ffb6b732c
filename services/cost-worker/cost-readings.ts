import { recordDefaults } from '../domain/record/record.ts'
import { type RegisterInterval, updateRegister } from '../domain/record/register.ts'
import { tenantKey } from '../domain/tenant.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import {
  type MeterReadingRow,
  type ReadingQuery,
  readingsAround,
  registerKey,
} from '../platform/clickhouse/readings/meter-readings.ts'
import type { BatchFailureRow } from '../platform/clickhouse/readings/receipts.ts'
import type { ChunkHeaders } from '../platform/log/chunk-headers.ts'
import type { ReadingChunk } from '../platform/log/messages.ts'
import { rowVersionOf } from '../platform/log/row-version.ts'
import type { MessageOrigin, RecordToCost } from './record-to-cost.ts'

/** Reading of a message, as the row to store if it is valid. */
export type ReadingToStore = { readonly row: MeterReadingRow; readonly origin: MessageOrigin }

/**
 * Register interval to cost as a record, with the part of its closing reading. A withdrawn interval has no energy, the
 * part of its opening reading, and the latest possible end. `origin`: the message of the reading that changed in this
 * step.
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
  return chunk.parts.flatMap(({ readings, ...part }) =>
    readings.map((reading): ReadingToStore => {
      const version = rowVersionOf(generation, origin.message.offset, position)
      position += 1
      return { row: { ...part, ...reading, version, sourceVersion: version }, origin }
    }),
  )
}

/** Newest reading of each register, by `registerKey`. Later readings need no read of the store. */
export type NewestReadings = Map<string, MeterReadingRow>

/**
 * Calculate the intervals of a step's readings, in the order of the partition, with the stored readings around them. It
 * reads the store once for each account and mode.
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
  const origins = new Map(arrived.map(({ row, origin }) => [row, origin]))
  const registers = Map.groupBy(origins.keys(), registerKey)
  const stored = await gatherStored(db, registers, newest)
  for (const [key, rows] of registers) {
    const before = stored.get(key) ?? []
    const result = updateRegister(before, rows)
    for (const reading of result.readings) readings.push(reading)
    for (const interval of result.intervals) intervals.push(intervalToCost(interval, origins))
    for (const { closing, refusal } of result.failures)
      failures.push(...failuresOf(closing, `${refusal.code}: ${refusal.message}`))
    remember(newest, key, [...before, ...result.readings])
  }
  return { readings, intervals, failures }
}

type Registers = ReadonlyMap<string, readonly MeterReadingRow[]>

/** Read the stored readings around the new readings of each register. */
const gatherStored = async (db: ClickHouse, registers: Registers, newest: NewestReadings): Promise<Registers> => {
  const stored = new Map<string, readonly MeterReadingRow[]>()
  const queries: ReadingQuery[] = []
  for (const [key, rows] of registers) {
    const last = newest.get(key)
    if (last !== undefined && rows.every(({ time }) => time > last.time)) stored.set(key, [last])
    else queries.push(queryOf(rows))
  }
  for (const tenantQueries of Map.groupBy(queries, ({ register }) => tenantKey(register)).values()) {
    const [{ register }] = tenantQueries as [ReadingQuery]
    for (const [key, rows] of Map.groupBy(await readingsAround(db, register, tenantQueries), registerKey))
      stored.set(key, rows)
  }
  return stored
}

const maxRememberedRegisters = 100_000

/**
 * Remember the last reading of a register. `rows` are all its readings after the first new one. The oldest registers
 * are dropped.
 */
const remember = (newest: NewestReadings, key: string, rows: readonly MeterReadingRow[]): void => {
  const last = rows.reduce<MeterReadingRow | undefined>(
    (latest, row) => (latest === undefined || row.time >= latest.time ? row : latest),
    undefined,
  )
  newest.delete(key)
  if (last !== undefined) newest.set(key, last)
  for (const oldest of newest.keys()) {
    if (newest.size <= maxRememberedRegisters) return
    newest.delete(oldest)
  }
}

const queryOf = (rows: readonly MeterReadingRow[]): ReadingQuery => ({
  register: rows[0] as MeterReadingRow,
  times: [...new Set(rows.map(({ time }) => time))].sort((a, b) => a - b),
})

const intervalToCost = (
  { opening, consumption, end, version, sourceVersion }: RegisterInterval<MeterReadingRow>,
  origins: ReadonlyMap<MeterReadingRow, MessageOrigin>,
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
    origin: origins.get(part) ?? origins.get(opening) ?? null,
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
