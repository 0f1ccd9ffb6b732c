import { createHash } from 'node:crypto'
import { nearestName } from '../../contract/message-text.ts'
import type { RequestOf } from '../../contract/operation.ts'
import { noNamedObject } from '../../domain/no-object.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { nextTurnFor } from '../../platform/http/request-body.ts'
import { lockLocation } from '../../platform/postgres/registry/locations.ts'
import { rehearseTenant, type TenantTransaction } from '../../platform/postgres/transaction.ts'
import { type Change, change, tenantOf } from '../../query-service/change.ts'
import type { QueryServiceDependencies } from '../../query-service/dependencies.ts'
import { isJsonText, readJsonSource } from '../contract/json-source.ts'
import { importOptionsOf, type TariffImportWire, tariffImport } from '../contract/tariff-import.ts'
import { detectTariffFormat, readTariffFile } from '../domain/read-tariff-file.ts'
import type { SourceValue } from '../domain/source-value.ts'
import { type ImportContext, type TariffFile, type TariffFormat, tariffFormats } from '../domain/tariff-file.ts'
import { readYamlSource } from '../platform/yaml.ts'
import { type SavedImport, type SavedPart, saveImport } from './save-import.ts'

type ImportRequest = RequestOf<typeof tariffImport>

/** Parse the file: YAML for fri-nettleie, and for an unknown format that does not begin like JSON. */
const readSourceOf = async ({ query, body, caller }: ImportRequest): Promise<Result<SourceValue>> =>
  query.format === 'fri-nettleie' || (query.format === undefined && !isJsonText(body.bytes))
    ? readYamlSource(body.bytes, caller.accountId)
    : readJsonSource(body.bytes)

/** Choose the format of a file: the requested one, or the one of its members. */
const formatOf = ({ query }: ImportRequest, source: SourceValue): Result<TariffFormat> => {
  const format = query.format ?? detectTariffFormat(source)
  return format === null
    ? refused(
        'field_required',
        `The format of the file is unknown. Set format to one of ${tariffFormats.join(', ')}`,
        'format',
      )
    : accepted(format)
}

const partToWire = (
  { id, isCreated, draft }: SavedPart<{ readonly name: string; readonly from: readonly string[] }>,
  isDryRun: boolean,
) => ({
  id: isDryRun && isCreated ? null : id,
  name: draft.name,
  status: isCreated ? ('CREATED' as const) : ('UNCHANGED' as const),
  from: [...new Set(draft.from)],
})

const answerOf = (
  { query, body }: ImportRequest,
  format: TariffFormat,
  { notImported, noted }: TariffFile,
  { tariffs, charges, replaced }: SavedImport,
): TariffImportWire => {
  const { dry_run: isDryRun } = query
  const parts = [...tariffs, ...charges]
  return {
    object: 'tariff_import',
    format,
    location_id: query.location_id,
    sha256: createHash('sha256').update(body.bytes).digest('hex'),
    dry_run: isDryRun,
    created: parts.filter(({ isCreated }) => isCreated).length,
    unchanged: parts.filter(({ isCreated }) => !isCreated).length,
    replaced,
    imported: [
      ...tariffs.map(part => ({
        object: 'tariff' as const,
        ...partToWire(part, isDryRun),
        direction: part.draft.terms.direction,
        type: part.draft.terms.type,
      })),
      ...charges.map(part => ({
        object: 'charge' as const,
        ...partToWire(part, isDryRun),
        direction: null,
        type: part.draft.terms.kind,
      })),
    ],
    not_imported: [...notImported],
    noted: [...noted],
  }
}

/** Read the file for a locked location and write its tariffs and charges. */
const importFile = async (
  dependencies: QueryServiceDependencies,
  request: ImportRequest,
  source: SourceValue,
  transaction: TenantTransaction,
): Promise<Result<Change<TariffImportWire>>> => {
  const { location_id: locationId, replace: replaces } = request.query
  const format = formatOf(request, source)
  if (!format.ok) return format
  const location = await lockLocation(transaction, locationId)
  const timeZone = location === null ? null : dependencies.timeZone(location.timezone)
  if (location === null || timeZone === null) return noNamedObject('location', 'location_id')
  const context: ImportContext = {
    currencyCode: location.currencyCode,
    timeZone,
    hasCalendar: location.calendarId !== null,
    nearestName,
  }
  const file = readTariffFile(format.value, source, context, importOptionsOf(request.query))
  if (!file.ok) return file
  const saved = await saveImport(transaction, location, file.value, { replaces, at: request.at })
  if (!saved.ok) return saved
  return accepted({ ...saved.value, value: answerOf(request, format.value, file.value, saved.value.value) })
}

/** Bind the import of tariffs. A dry run does the same work and undoes its transaction. */
export const tariffImportOperation = (dependencies: QueryServiceDependencies): Binding =>
  bind(tariffImport, async request => {
    await nextTurnFor(request.body, request.caller.accountId)
    const source = await readSourceOf(request)
    if (!source.ok) return source
    if (!request.query.dry_run)
      return change(dependencies, tariffImport, request, transaction =>
        importFile(dependencies, request, source.value, transaction),
      )
    const rehearsed = await rehearseTenant(dependencies.database, tenantOf(request), transaction =>
      importFile(dependencies, request, source.value, transaction),
    )
    return rehearsed.ok ? accepted(rehearsed.value.value) : rehearsed
  })
