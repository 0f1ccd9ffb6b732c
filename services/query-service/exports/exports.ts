import { rm } from 'node:fs/promises'
import {
  type ExportInput,
  type ExportManifest,
  exportCreate,
  exportDelete,
  exportFile,
  exportLimits,
  exportList,
  exportRetrieve,
  exportToWire,
} from '../../contract/exports/export.ts'
import { type AnswerOf, mayCall, type Outcome, type RequestOf } from '../../contract/operation.ts'
import { accepted, type Refused, type Result, refused } from '../../domain/refusal.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { newId } from '../../platform/ids/new-id.ts'
import type { Loop } from '../../platform/jobs/loop.ts'
import {
  createExport,
  deleteExport,
  findExport,
  listExports,
  type StoredExport,
} from '../../platform/postgres/exports/exports.ts'
import { costTarget } from '../../platform/postgres/pricing/costed-locations.ts'
import { type TenantTransaction, withTenant } from '../../platform/postgres/transaction.ts'
import { change, tenantOf } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { answerList } from '../list.ts'
import type { ExportFolder } from './export-folder.ts'

/** `folder` is null if several processes share no folder. */
export type ExportDependencies = QueryServiceDependencies & { readonly folder: ExportFolder | null }

const notFound = refused('not_found', 'No export has this id. Exports are kept for 24 hours')
const notCreator = refused(
  'insufficient_scope',
  'Another key or user created this export. Use the key that created it, or a key of scope all',
)
const noFolder = refused(
  'export_folder_missing',
  'Exports need a folder that all processes share. Set WATTLEDGER_EXPORT_DIR, or read a stream of GET /meters/records',
)

const toWire = ({ request, manifest, ...stored }: StoredExport) => {
  const { kind, format } = JSON.parse(request) as ExportInput
  const parsed = manifest === null ? null : (JSON.parse(manifest) as ExportManifest)
  return exportToWire({ ...stored, kind, format, manifest: parsed })
}

const selections = [
  ['location_id', 'location'],
  ['device_id', 'device'],
  ['customer_id', 'customer'],
] as const

/** Refuse the id of an object that the account does not have. */
const refuseUnknown = async (transaction: TenantTransaction, body: ExportInput): Promise<Refused | null> => {
  for (const [name, kind] of selections) {
    const id = body[name]
    if (id !== undefined && (await costTarget(transaction, id)) === null)
      return refused(`${kind}_not_found`, `${name} must be the id of a ${kind} of the account`, name)
  }
  return null
}

const startExport = async (
  dependencies: ExportDependencies,
  { wake }: Pick<Loop, 'wake'>,
  request: RequestOf<typeof exportCreate>,
): Promise<Result<AnswerOf<typeof exportCreate>>> => {
  if (dependencies.folder === null) return noFolder
  const { body, at, caller } = request
  const created = await change(dependencies, exportCreate, request, async transaction => {
    const unknown = await refuseUnknown(transaction, body)
    if (unknown !== null) return unknown
    const draft = { id: newId('export', at), request: JSON.stringify(body), actor: caller.keyId }
    const stored = await createExport(transaction, draft, exportLimits, at)
    if (!stored.ok) return stored
    const { kind, format } = body
    return accepted({
      value: toWire(stored.value),
      events: [],
      audit: [{ action: 'export.create', objectId: draft.id, detail: { kind, format } }],
    })
  })
  if (created.ok) wake()
  return created
}

const find = (
  { database }: ExportDependencies,
  request: Pick<RequestOf<typeof exportRetrieve>, 'caller' | 'id' | 'at'>,
): Promise<StoredExport | null> =>
  withTenant(database, tenantOf(request), transaction => findExport(transaction, request.id, exportLimits, request.at))

const download = async (
  dependencies: ExportDependencies,
  request: RequestOf<typeof exportFile>,
): Promise<Outcome<AnswerOf<typeof exportFile>>> => {
  const stored = await find(dependencies, request)
  if (stored === null || dependencies.folder === null) return notFound
  if (stored.status !== 'DONE' || stored.claim === null || stored.manifest === null) {
    const advice = stored.status === 'FAILED' ? 'Create a new export' : 'Wait until its status is DONE'
    return refused('export_not_done', `The export is ${stored.status}, so it has no file. ${advice}`)
  }
  const { format, bytes, sha256, kind } = JSON.parse(stored.manifest) as ExportManifest
  const path = dependencies.folder.fileOf({ id: stored.id, claim: stored.claim, format })
  return { ok: true, file: { path, bytes, etag: `"${sha256}"`, name: `${kind}.${format}` }, table: format }
}

const remove = async (
  dependencies: ExportDependencies,
  request: RequestOf<typeof exportDelete>,
): Promise<Result<AnswerOf<typeof exportDelete>>> => {
  const { caller } = request
  const stored = await find(dependencies, request)
  if (stored !== null && stored.actor !== caller.keyId && !mayCall({ access: 'all' }, caller.scope)) return notCreator
  const deleted = await change(dependencies, exportDelete, request, async transaction => {
    if (!(await deleteExport(transaction, request.id))) return notFound
    return accepted({
      value: { message: 'Accepted' as const },
      events: [],
      audit: [{ action: 'export.delete', objectId: request.id, detail: {} }],
    })
  })
  if (deleted.ok && stored?.status === 'DONE' && stored.claim !== null && dependencies.folder !== null) {
    const { format } = JSON.parse(stored.request) as ExportInput
    await rm(dependencies.folder.fileOf({ id: stored.id, claim: stored.claim, format }), { force: true })
  }
  return deleted
}

/** Bind the operations on exports. Source: docs/rules/export.md #files. */
export const exportOperations = (dependencies: ExportDependencies, work: Pick<Loop, 'wake'>): readonly Binding[] => [
  bind(exportCreate, request => startExport(dependencies, work, request)),
  bind(exportList, request =>
    answerList(
      dependencies,
      request,
      '/exports',
      (transaction, page) => listExports(transaction, exportLimits, request.at, page),
      stored => stored.map(toWire),
    ),
  ),
  bind(exportRetrieve, async request => {
    const stored = await find(dependencies, request)
    return stored === null ? notFound : accepted(toWire(stored))
  }),
  bind(exportFile, request => download(dependencies, request)),
  bind(exportDelete, request => remove(dependencies, request)),
]
