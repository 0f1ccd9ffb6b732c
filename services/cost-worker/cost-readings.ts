import { type RegisterInterval, updateRegister } from '../domain/record/register.ts'
import { fullConfidence } from '../domain/record/validate-record.ts'
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

/** A reading as it stands in its lane, laid out as the row that is stored if it holds. */
export type ReadingToStore = { readonly row: MeterReadingRow; readonly origin: MessageOrigin }

/**
 * An interval to be costed as a record, with the part of its closing reading; withdrawn, it has no energy and the part of its
 * opening reading, and ends where what is withdrawn can have ended. `origin`: the message of the end that changed in this step.
 */
export type IntervalToCost = RecordToCost & { readonly isWithdrawn: boolean }

export type ReadingsResult = {
  readonly readings: readonly MeterReadingRow[]
  /** By register in order of arrival, then by start; each record id once. */
  readonly intervals: readonly IntervalToCost[]
  readonly failures: readonly BatchFailureRow[]
}

/** Take the readings out of a chunk; a reading's position is its place among the readings of all parts, from 0. */
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

/** The newest reading of registers, by `registerKey`: those behind it need not ask the store. */
export type NewestReadings = Map<string, MeterReadingRow>

/**
 * Settle the readings of a step, in lane order, with the stored ones around them; asks the store once for an account and mode.
 * The same messages give the same rows, also where all or some of them are stored already. Failures are judged by what was stored
 * before: store `failures` before `readings`, and these behind all other rows of the step. `newest` is learned from step to step; clear
 * it where a step did not reach the store, and where a lane came, went or was erased from.
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

/** Gather what is stored around the readings of each register. */
const gatherStored = async (db: ClickHouse, registers: Registers, newest: NewestReadings): Promise<Registers> => {
  const stored = new Map<string, readonly MeterReadingRow[]>()
  const queries: ReadingQuery[] = []
  for (const [key, rows] of registers) {
    const last = newest.get(key)
    if (last !== undefined && rows.every(({ time }) => time > last.time)) stored.set(key, [last])
    else queries.push(queryOf(rows))
  }
  for (const tenantQueries of Map.groupBy(
    queries,
    ({ register }) => `${register.accountId}/${register.liveMode}`,
  ).values()) {
    const [{ register }] = tenantQueries as [ReadingQuery]
    for (const [key, rows] of Map.groupBy(await readingsAround(db, register, tenantQueries), registerKey))
      stored.set(key, rows)
  }
  return stored
}

const maxRememberedRegisters = 100_000

/** Keep the last of a register's readings, which are all there are behind its first new one; of registers those seen last. */
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
  { opening, consumption: metered, end, version, sourceVersion }: RegisterInterval<MeterReadingRow>,
  origins: ReadonlyMap<MeterReadingRow, MessageOrigin>,
): IntervalToCost => {
  const part = metered?.closing ?? opening
  const { accountId, liveMode, batchId, receivedAt } = part
  return {
    record: {
      locationId: opening.locationId,
      deviceId: opening.deviceId,
      energyFlowDirection: opening.energyFlowDirection,
      tariffDirection: opening.tariffDirection,
      start: opening.time,
      end,
      energy: metered?.energy ?? 0n,
      confidence: fullConfidence,
      sessionReferenceId: metered?.closing.sessionReferenceId ?? null,
      recordReferenceId: metered?.closing.recordReferenceId ?? null,
      recordId: opening.recordId,
      recordNumber: part.recordNumber,
    },
    part: { accountId, liveMode, batchId, receivedAt },
    version,
    sourceVersion,
    origin: origins.get(part) ?? origins.get(opening) ?? null,
    isWithdrawn: metered === null,
  }
}

const failuresOf = (reading: MeterReadingRow, error: string): readonly BatchFailureRow[] => {
  const { accountId, liveMode, batchId, recordNumber, recordReferenceId, locationId, deviceId } = reading
  if (batchId === null) return []
  return [
    { accountId, liveMode, batchId, recordNumber, recordReferenceId, locationId, deviceId, foundLater: true, error },
  ]
}
