import { z } from 'zod'
import { writeInstant } from '../../domain/instant.ts'
import type { StoredImport } from '../../domain/record/undo.ts'
import { count, instantText, orNull } from '../answer-field.ts'
import { dryRunMember } from '../dry-run.ts'
import { fields, optional, text } from '../field.ts'
import { listAnswer, listEnvelope } from '../list.ts'
import { defineOperation } from '../operation.ts'
import { parameters, wholeNumber } from '../parameter.ts'
import { importId } from './meter-batch.ts'

const importShape = z
  .object({
    object: z.literal('meter_import'),
    id: z.string().describe('import_id of the submissions.'),
    time_started: instantText.describe('Arrival of the first submission.'),
    time_ended: instantText.describe('Arrival of the last submission.'),
    records_accepted: count.describe('Accepted records and register readings.'),
    time_undone: orNull(instantText).describe('Start of the last undo; null without one.'),
  })
  .meta({ component: 'MeterImport' })

export type MeterImportWire = z.output<typeof importShape>

/** Import with the start of its last undo. */
export type MeterImport = StoredImport & { readonly undoneAt: number | null }

const importToWire = ({ id, startedAt, endedAt, recordsAccepted, undoneAt }: MeterImport): MeterImportWire => ({
  object: 'meter_import',
  id,
  time_started: writeInstant(startedAt),
  time_ended: writeInstant(endedAt),
  records_accepted: recordsAccepted,
  time_undone: undoneAt === null ? null : writeInstant(undoneAt),
})

const listUrl = '/meters/imports'

/** Write a list of imports, newest first. */
export const importsToWire = (imports: readonly MeterImport[], hasMore: boolean) =>
  listAnswer(listUrl, { items: imports.map(importToWire), hasMore })

const exampleImport: MeterImport = {
  id: 'january-readings',
  startedAt: 1_757_844_000_000,
  endedAt: 1_757_844_042_000,
  recordsAccepted: 2_976,
  undoneAt: null,
}

const tag = 'Metering'

const maxListed = 100

export const meterImportList = defineOperation({
  id: 'meter_import_list',
  summary: 'List imports',
  description:
    'Returns the imports of the last 24 hours, which can be undone: the submissions with an import_id. The newest are listed, newest first.',
  tag,
  access: 'any',
  routes: { current: [{ method: 'GET', path: listUrl }], earlier: [] },
  query: parameters({
    limit: wholeNumber({ min: 1, max: maxListed }).default(maxListed).describe('Number of imports in the answer.'),
  }),
  answer: { name: 'MeterImportList', shape: listEnvelope(importShape) },
  status: 200,
  examples: { answer: importsToWire([exampleImport], false) },
})

const undoShape = z
  .object({
    object: z.literal('meter_import_undo'),
    import_id: z.string(),
    dry_run: z.boolean(),
    records_withdrawn: count.describe('Records and readings that only this import and undone imports sent.'),
    records_restored: count.describe('Records and readings that get the value before the import again.'),
    records_unchanged: count.describe(
      'Records and readings of the import that need no change: their value before the import was equal, or an earlier undo has changed them.',
    ),
    records_left: orNull(count).describe(
      'Records and readings that are left as they are: another submission sent them later, or their location or device does not exist any more. Null until the last call.',
    ),
    other_imports: orNull(z.array(z.string()).readonly()).describe(
      'Imports that sent some of these records and readings too, newest first, at most 20; undone imports are left out. Such records keep the value that others sent last. Null until the last call.',
    ),
    next_cursor: orNull(z.string()).describe('Cursor of the next call; null if the undo is complete.'),
  })
  .meta({ component: 'MeterImportUndo' })

export type ImportUndoWire = z.output<typeof undoShape>

export const meterImportUndo = defineOperation({
  id: 'meter_import_undo',
  summary: 'Undo an import',
  description:
    'Undoes the submissions with an import_id, within 24 hours after the first one. A record or register reading that the import replaced gets its earlier value again. A record that only this import and undone imports sent is withdrawn: it gets the value 0 with the confidence 0.000001, and a reading the value null. Records that another submission has sent since are left. Each call works for about 1 second. Repeat it with next_cursor until next_cursor is null; the counts include the earlier calls. A repeated undo has the same result. Costs follow as after a correction.',
  tag,
  access: 'metering',
  auditAction: 'readings.import_undo',
  routes: { current: [{ method: 'POST', path: '/meters/imports/undo' }], earlier: [] },
  body: fields({
    import_id: importId,
    dry_run: dryRunMember,
    cursor: optional(text({ max: 1_000 })).describe('next_cursor of the call before. Default: start the undo.'),
  }),
  answer: { name: 'MeterImportUndo', shape: undoShape },
  status: 200,
  refusals: ['import_not_found', 'import_too_old', 'cursor_not_found'],
  examples: {
    body: { import_id: 'january-readings', dry_run: true },
    answer: {
      object: 'meter_import_undo',
      import_id: 'january-readings',
      dry_run: true,
      records_withdrawn: 2_880,
      records_restored: 92,
      records_unchanged: 0,
      records_left: 4,
      other_imports: ['february-readings'],
      next_cursor: null,
    },
  },
})
