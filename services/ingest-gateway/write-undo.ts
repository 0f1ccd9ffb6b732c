import type { Tenant } from '../domain/tenant.ts'
import type { EarlierState } from '../platform/clickhouse/readings/earlier-values.ts'
import type { ImportedRow } from '../platform/clickhouse/readings/import-rows.ts'
import { registerKey } from '../platform/clickhouse/readings/meter-readings.ts'
import { semaphore } from '../platform/concurrency/semaphore.ts'
import { findRegister, type KnownObjects } from './known-objects.ts'
import type { KnownReferences } from './known-references.ts'
import type { RecordEntrance } from './record-entrance.ts'
import { addReadRecord, unvalidatedRecords, validateRecords } from './validate-records.ts'

/** Row of an import with its new state. */
export type UndoChange = { readonly row: ImportedRow; readonly state: EarlierState; readonly isWithdrawn: boolean }

type UndoWriter = {
  readonly known: KnownObjects
  readonly references: KnownReferences
  readonly entrance: RecordEntrance
  readonly tenant: Tenant
  readonly at: number
  readonly importId: string
}

/**
 * Send records with their new states, as one submission of the undo. Returns the changes that are durable: records of deleted
 * objects are left out. Throws as `RecordEntrance.accept` does.
 */
export const writeUndoneRecords = async (
  { known, references, entrance, tenant, at, importId }: UndoWriter,
  changes: readonly UndoChange[],
): Promise<readonly UndoChange[]> => {
  if (changes.length === 0) return []
  const batch = entrance.begin(tenant, at, { id: importId, isUndo: true })
  const records = unvalidatedRecords(tenant)
  for (const [index, { row, state }] of changes.entries()) {
    const { value, ...texts } = state
    addReadRecord(records, { ...row, ...texts, energy: value ?? 0n }, index + 1)
  }
  const validated = await validateRecords(records, { part: batch, apiVersion: 'current', at, known, references })
  const { parts, refused, warnings } = validated
  const refusedNumbers = new Set(refused.map(({ recordNumber }) => recordNumber))
  if (validated.recordsAccepted > 0)
    await entrance.accept(batch, { kind: 'records', parts, refused, warnings }, validated)
  return changes.filter((_, index) => !refusedNumbers.has(index + 1))
}

/** Submissions of registers that are written at the same time. */
const concurrentRegisters = 32

/**
 * Send register readings with their new states, as one submission of the undo for each register and session. Returns the
 * changes that are durable: readings of deleted objects are left out. Throws as `RecordEntrance.accept` does.
 */
export const writeUndoneReadings = async (
  writer: UndoWriter,
  changes: readonly UndoChange[],
): Promise<readonly UndoChange[]> => {
  const limited = semaphore(concurrentRegisters)
  const registers = Map.groupBy(
    changes,
    ({ row, state }) => `${registerKey({ ...writer.tenant, ...row })}/${state.sessionReferenceId}`,
  )
  const written = await Promise.all([...registers.values()].map(own => limited(() => writeRegister(writer, own))))
  return written.flat()
}

const writeRegister = async (
  { known, entrance, tenant, at, importId }: UndoWriter,
  changes: readonly UndoChange[],
): Promise<readonly UndoChange[]> => {
  const [first] = changes
  if (first === undefined) return []
  const { locationId, deviceId, energyFlowDirection, tariffDirection } = first.row
  const { sessionReferenceId } = first.state
  const place = await findRegister(known, tenant, { locationId, deviceId }, at)
  if (!place.ok) return []
  const { partition, rule: register } = place.value
  const readings = changes.map(({ row: { start: time, isRestart, recordId }, state }, index) => ({
    time,
    isRestart,
    value: state.value,
    recordReferenceId: state.recordReferenceId,
    recordNumber: index + 1,
    recordId,
  }))
  await entrance.accept(
    entrance.begin(tenant, at, { id: importId, isUndo: true }),
    {
      kind: 'readings',
      partition,
      register: { locationId, deviceId, energyFlowDirection, tariffDirection, sessionReferenceId, register },
      readings,
      refused: [],
    },
    { recordsSubmitted: readings.length, recordsAccepted: readings.length },
  )
  return changes
}
