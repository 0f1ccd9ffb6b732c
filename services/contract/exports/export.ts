import { z } from 'zod'
import type { Refusal } from '../../domain/refusal.ts'
import { type TableFormat, tableFormats } from '../../domain/table-format.ts'
import type { OwnedObject } from '../../domain/tenant.ts'
import {
  acceptedMessage,
  count,
  exampleObject,
  instantOrNull,
  instantText,
  objectShape,
  objectToWire,
  orNull,
} from '../answer-field.ts'
import { toSentence } from '../error.ts'
import { currencyCode, fields, instant, objectIdentifier, oneOf, optional, refuseField, text } from '../field.ts'
import { listing, listParameters } from '../list.ts'
import { currentRoute, defineOperation, deletion, retrieval } from '../operation.ts'
import { customerOnly, deviceOnly, locationOnly } from '../reference.ts'

export const exportKinds = ['records', 'costs', 'tariffs', 'events', 'statements'] as const
export type ExportKind = (typeof exportKinds)[number]

/** Limits of exports. Source: docs/rules/export.md #files. */
export const exportLimits = { unfinished: 2, bytes: 20 * 2 ** 30, retentionMs: 86_400_000 } as const

const exportInput = fields({
  kind: oneOf(...exportKinds),
  format: oneOf(...tableFormats),
  start_time: instant.describe('Records, costs and events at or after this time; tariffs and statements after it.'),
  end_time: instant,
  location_id: optional(objectIdentifier('loc')),
  device_id: optional(objectIdentifier('dev')).describe('Only for records and costs.'),
  customer_id: optional(objectIdentifier('cus')).describe('Only for records and costs.'),
  session_reference_id: optional(text()).describe('Only for records.'),
  pieces: optional(z.boolean()).describe('Only for records: one row for each piece of a record.'),
  raw: optional(z.boolean()).describe('CSV texts that begin like a formula get no leading apostrophe.'),
  aggregation: optional(oneOf('HOUR', 'DAY', 'MONTH')).describe('Only for costs. Default: DAY.'),
  tariff_direction: optional(oneOf('IMPORT', 'EXPORT', 'LOCAL')).describe('Only for costs. Default: IMPORT.'),
  currency_code: optional(currencyCode).describe('Only for costs: required if there are costs in several currencies.'),
}).superRefine((body, context) => {
  if (body.end_time.at <= body.start_time.at)
    refuseField(context, 'end_before_start', 'must be after start_time', ['end_time'])
  const selections = ['location_id', 'device_id', 'customer_id', 'session_reference_id'] as const
  const [, second] = selections.filter(name => body[name] !== undefined)
  if (second !== undefined)
    refuseField(context, 'field_invalid', 'must not be combined with another selection', [second])
  for (const name of onlyFor(body.kind))
    if (body[name] !== undefined) refuseField(context, 'field_invalid', `must be absent for ${body.kind}`, [name])
})

const recordMembers = ['session_reference_id', 'pieces'] as const
const costMembers = ['aggregation', 'tariff_direction', 'currency_code'] as const

/** Members that a kind does not have. */
const onlyFor = (kind: ExportKind) => [
  ...(kind === 'records' ? [] : recordMembers),
  ...(kind === 'costs' ? [] : costMembers),
  ...(kind === 'records' || kind === 'costs' ? [] : (['device_id', 'customer_id'] as const)),
]

/** Body of a new export. It is stored as the wire has it, with instants as ms. */
export type ExportInput = z.output<typeof exportInput>

const manifestShape = z
  .object({
    kind: z.enum(exportKinds),
    format: z.enum(tableFormats),
    span: z.object({ start_time: instantText, end_time: instantText }),
    filters: z.record(z.string(), z.string()),
    rows: count,
    sums: z.object({
      energy_wh: orNull(z.string()),
      cost: z.record(z.string(), z.string()).describe('Sum of each currency.'),
      unpriced_records: count,
    }),
    sha256: z.string(),
    bytes: count,
    schema: z.array(z.object({ name: z.string(), type: z.string() })),
    lanes: z
      .array(z.object({ lane: count, position: z.string() }))
      .describe('Position of each partition before which all records are in the file.'),
    made_at: instantText,
    version: z.string().describe('Version of Wattledger that wrote the file.'),
  })
  .meta({ component: 'ExportManifest' })

export type ExportManifest = z.output<typeof manifestShape>

export const exportShape = objectShape('exp', 'export', {
  kind: z.enum(exportKinds),
  format: z.enum(tableFormats),
  status: z.enum(['PENDING', 'RUNNING', 'DONE', 'FAILED']),
  progress: z.object({ bytes: count.describe('Bytes that are written so far.') }),
  manifest: orNull(manifestShape).describe('Content of the file, counted from the file itself; null before DONE.'),
  error: orNull(z.object({ code: z.string(), message: z.string() })).describe('Reason of the status FAILED.'),
  time_finished: orNull(instantText),
  time_expires: orNull(instantText).describe('The file can be read until this time.'),
})

/** Export of an answer; instants in ms. */
export type ExportView = OwnedObject & {
  readonly kind: ExportKind
  readonly format: TableFormat
  readonly status: 'PENDING' | 'RUNNING' | 'DONE' | 'FAILED'
  readonly bytes: number
  readonly manifest: ExportManifest | null
  readonly refusal: Refusal | null
  readonly finishedAt: number | null
}

/** Write an export. */
export const exportToWire = (view: ExportView): z.output<typeof exportShape> =>
  objectToWire('export', view, {
    kind: view.kind,
    format: view.format,
    status: view.status,
    progress: { bytes: view.bytes },
    manifest: view.manifest,
    error: view.refusal === null ? null : { code: view.refusal.code, message: toSentence(view.refusal.message) },
    time_finished: instantOrNull(view.finishedAt),
    time_expires: instantOrNull(view.finishedAt === null ? null : view.finishedAt + exportLimits.retentionMs),
  })

const example = exportToWire({
  ...exampleObject('exp'),
  kind: 'records',
  format: 'parquet',
  status: 'PENDING',
  bytes: 0,
  manifest: null,
  refusal: null,
  finishedAt: null,
})

const answer = { name: 'Export', shape: exportShape }
const tag = 'Exports'

export const exportCreate = defineOperation({
  id: 'export_create',
  summary: 'Create an export',
  description:
    'Starts to write records, costs, tariffs, events or FINAL statements of a period into a file. Two exports of an account run at the same time. GET /exports/{id} answers the progress, and GET /exports/{id}/file the file, for 24 hours.',
  tag,
  access: 'read',
  routes: currentRoute('POST', '/exports'),
  references: { body: { location_id: locationOnly, device_id: deviceOnly, customer_id: customerOnly } },
  body: exportInput,
  answer,
  status: 202,
  idempotent: true,
  refusals: [
    'end_before_start',
    'location_not_found',
    'device_not_found',
    'customer_not_found',
    'too_many_exports',
    'export_folder_missing',
  ],
  examples: {
    body: {
      kind: 'records',
      format: 'parquet',
      start_time: '2026-01-01T00:00:00Z',
      end_time: '2027-01-01T00:00:00Z',
    },
    answer: example,
  },
})

export const exportList = defineOperation({
  id: 'export_list',
  summary: 'List exports',
  description: 'Returns the exports that run, or that ended in the last 24 hours, newest first.',
  tag,
  ...listing('Export', exportShape, '/exports', example),
  routes: currentRoute('GET', '/exports'),
  query: listParameters({}),
})

export const exportRetrieve = defineOperation({
  id: 'export_retrieve',
  summary: 'Retrieve an export',
  description: 'Returns the progress of an export and, after its end, the manifest of its file.',
  tag,
  ...retrieval(answer, example),
  routes: currentRoute('GET', '/exports/{id}'),
})

export const exportFile = defineOperation({
  id: 'export_file',
  summary: 'Download the file of an export',
  description:
    'Returns the file of an export that is DONE. Range requests and ETag are supported, so an interrupted download can continue.',
  tag,
  access: 'read',
  routes: currentRoute('GET', '/exports/{id}/file'),
  answer: { name: 'ExportFile', shape: z.string() },
  status: 200,
  tables: tableFormats,
  tablesOnly: true,
  refusals: ['export_not_done', 'precondition_failed', 'range_not_satisfiable'],
})

export const exportDelete = defineOperation({
  id: 'export_delete',
  summary: 'Delete an export',
  description:
    'Stops an export that runs, and deletes its file. A key of scope read, or a user with the role read, deletes only its own exports.',
  tag,
  ...deletion,
  access: 'read',
  answer: { name: 'Accepted', shape: acceptedMessage },
  routes: currentRoute('DELETE', '/exports/{id}'),
})
