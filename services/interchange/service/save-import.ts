import { createHash } from 'node:crypto'
import { accepted, type Result } from '../../domain/refusal.ts'
import type { Location } from '../../domain/registry/location.ts'
import { chargesOf, createCharge, deleteCharge } from '../../platform/postgres/pricing/charges.ts'
import { importSourcesOf, saveImportSource } from '../../platform/postgres/pricing/import-sources.ts'
import { createTariff, listTariffs, voidTariff } from '../../platform/postgres/pricing/tariffs.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import type { Change } from '../../query-service/change.ts'
import { chargeChange } from '../../query-service/charges/charges.ts'
import { tariffChange } from '../../query-service/registry/tariffs.ts'
import { decideImport, type ImportDecision, type SourcedCharge, type SourcedTariff } from '../domain/decide-import.ts'
import type { DraftCharge, DraftTariff, TariffFile } from '../domain/tariff-file.ts'
import { saveMarketSeries } from './market-series.ts'

/** Object of an import and its stored id. */
export type SavedPart<Draft> = { readonly draft: Draft; readonly id: string; readonly isCreated: boolean }

export type SavedImport = {
  readonly tariffs: readonly SavedPart<DraftTariff>[]
  readonly charges: readonly SavedPart<DraftCharge>[]
  readonly replaced: number
}

type ImportChange = Change<SavedImport>
type Effects = Pick<ImportChange, 'events' | 'audit' | 'recostRequests'>

const maxSourceLength = 255

/** Shorten a long source id to a hash, so that equal ids stay equal. */
const withShortSource = <Draft extends { readonly sourceId: string }>(draft: Draft): Draft =>
  draft.sourceId.length <= maxSourceLength
    ? draft
    : { ...draft, sourceId: createHash('sha256').update(draft.sourceId).digest('hex') }

const loadStored = async (transaction: TenantTransaction, locationId: string) => {
  const tariffSources = await importSourcesOf(transaction, 'tariffs', locationId)
  const chargeSources = await importSourcesOf(transaction, 'charges', locationId)
  const stored = await listTariffs(transaction, { locationId, direction: null, type: null })
  const charges = (await chargesOf(transaction, [locationId])).get(locationId) ?? []
  return {
    tariffs: stored.map((one): SourcedTariff => ({ ...one, sourceId: tariffSources.get(one.id) ?? null })),
    charges: charges.map(({ id, terms }): SourcedCharge => ({ id, terms, sourceId: chargeSources.get(id) ?? null })),
  }
}

/** Void the replaced tariffs and delete the replaced charges. */
const removeReplaced = async (
  transaction: TenantTransaction,
  { voidedTariffs, deletedCharges }: ImportDecision,
  at: number,
): Promise<Result<readonly Effects[]>> => {
  const effects: Effects[] = []
  for (const id of voidedTariffs) {
    const voided = await voidTariff(transaction, id, at)
    if (!voided.ok) return voided
    effects.push(await tariffChange(transaction, voided.value, 'tariff.void', at))
  }
  for (const id of deletedCharges) {
    const deleted = await deleteCharge(transaction, id, at)
    if (!deleted.ok) return deleted
    effects.push(chargeChange(deleted.value, 'charge.delete'))
  }
  return accepted(effects)
}

const saveTariff = async (
  transaction: TenantTransaction,
  locationId: string,
  { name, sourceId, terms }: DraftTariff,
  at: number,
): Promise<Result<{ readonly id: string; readonly effects: Effects }>> => {
  const draft = { ...terms, locationId, displayName: name, providerId: null, libraryTariffId: null }
  const kind = { connectionType: 'MANUAL', status: 'CONNECTED' } as const
  const created = await createTariff(transaction, { ...draft, ...kind }, at)
  if (!created.ok) return created
  const { id } = created.value.tariff
  await saveImportSource(transaction, 'tariffs', id, sourceId)
  return accepted({ id, effects: await tariffChange(transaction, created.value, 'tariff.create', at) })
}

const saveCharge = async (
  transaction: TenantTransaction,
  locationId: string,
  { sourceId, terms }: DraftCharge,
  at: number,
): Promise<Result<{ readonly id: string; readonly effects: Effects }>> => {
  const created = await createCharge(transaction, { locationId, terms, planId: null, planVersion: null }, at)
  if (!created.ok) return created
  await saveImportSource(transaction, 'charges', created.value.id, sourceId)
  return accepted({ id: created.value.id, effects: chargeChange(created.value, 'charge.create') })
}

/** Create the objects of steps that have no equal stored object. Refuses what `save` refuses. */
const saveEach = async <Draft>(
  steps: readonly { readonly draft: Draft; readonly storedId: string | null }[],
  save: (draft: Draft) => Promise<Result<{ readonly id: string; readonly effects: Effects }>>,
): Promise<Result<{ readonly parts: readonly SavedPart<Draft>[]; readonly effects: readonly Effects[] }>> => {
  const parts: SavedPart<Draft>[] = []
  const effects: Effects[] = []
  for (const { draft, storedId } of steps) {
    if (storedId !== null) {
      parts.push({ draft, id: storedId, isCreated: false })
      continue
    }
    const saved = await save(draft)
    if (!saved.ok) return saved
    parts.push({ draft, id: saved.value.id, isCreated: true })
    effects.push(saved.value.effects)
  }
  return accepted({ parts, effects })
}

/** Store the prices of the market tariff of a file. A file has at most one. */
const saveSeries = async (
  transaction: TenantTransaction,
  location: Location,
  drafts: readonly DraftTariff[],
  { decision, at }: { readonly decision: ImportDecision; readonly at: number },
) => {
  const draft = drafts.find(({ marketPrices }) => marketPrices !== undefined)
  if (draft?.marketPrices === undefined) return accepted({ recostRequests: [], changedPrices: null })
  const direction = draft.terms.direction === 'EXPORT' ? 'EXPORT' : 'IMPORT'
  // The voided tariffs do not use the source any more.
  const tariffs = location.tariffs.filter(({ id }) => !decision.voidedTariffs.includes(id))
  const saved = await saveMarketSeries(
    transaction,
    { ...location, tariffs },
    { direction, prices: draft.marketPrices, timezone: draft.marketTimezone ?? location.timezone },
    at,
  )
  if (!saved.ok) return saved
  return accepted({ recostRequests: [saved.value.recostRequest], changedPrices: saved.value.changedPrices })
}

/** Keep one event of each object: its last one. */
const lastEvents = (events: ImportChange['events']): ImportChange['events'] => [
  ...new Map(events.map(event => [`${event.type} ${event.objectId}`, event])).values(),
]

/**
 * Write the tariffs and charges of a file to a locked location. Objects of the same import stay unchanged.
 * Refuses what `decideImport`, `createTariff`, `createCharge`, `voidTariff` and `deleteCharge` refuse.
 */
export const saveImport = async (
  transaction: TenantTransaction,
  location: Location,
  file: Pick<TariffFile, 'tariffs' | 'charges'>,
  { replaces, at }: { readonly replaces: boolean; readonly at: number },
): Promise<Result<ImportChange>> => {
  const { id: locationId } = location
  const drafts = { tariffs: file.tariffs.map(withShortSource), charges: file.charges.map(withShortSource) }
  const decision = decideImport(drafts, await loadStored(transaction, locationId), replaces)
  if (!decision.ok) return decision
  const removed = await removeReplaced(transaction, decision.value, at)
  if (!removed.ok) return removed
  const series = await saveSeries(transaction, location, drafts.tariffs, { decision: decision.value, at })
  if (!series.ok) return series
  const tariffs = await saveEach(decision.value.tariffs, draft => saveTariff(transaction, locationId, draft, at))
  if (!tariffs.ok) return tariffs
  const charges = await saveEach(decision.value.charges, draft => saveCharge(transaction, locationId, draft, at))
  if (!charges.ok) return charges
  const effects = [...removed.value, ...tariffs.value.effects, ...charges.value.effects]
  return accepted({
    value: { tariffs: tariffs.value.parts, charges: charges.value.parts, replaced: removed.value.length },
    events: lastEvents(effects.flatMap(({ events }) => events)),
    audit: effects.flatMap(({ audit = [] }) => audit),
    recostRequests: [...series.value.recostRequests, ...effects.flatMap(({ recostRequests = [] }) => recostRequests)],
    changedPrices: series.value.changedPrices,
  })
}
