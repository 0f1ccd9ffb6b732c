import type { ChargeTerms } from '../../domain/charge/charge.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { scheduleText } from '../../domain/tariff/compiled-schedule.ts'
import type { Tariff } from '../../domain/tariff/tariff.ts'
import { overlappingTariff } from '../../domain/tariff/tariff-change.ts'
import type { DraftCharge, DraftTariff, TariffFile } from './tariff-file.ts'

/** Active tariff of a location. `sourceId` null: it was not imported. */
export type SourcedTariff = Tariff & { readonly sourceId: string | null }
/** Active charge of a location. */
export type SourcedCharge = { readonly id: string; readonly sourceId: string | null; readonly terms: ChargeTerms }

/** Draft and the stored object that it equals; null if the object must be created. */
type Step<Draft> = { readonly draft: Draft; readonly storedId: string | null }

export type ImportDecision = {
  readonly tariffs: readonly Step<DraftTariff>[]
  readonly charges: readonly Step<DraftCharge>[]
  readonly voidedTariffs: readonly string[]
  readonly deletedCharges: readonly string[]
}

const asTariff = ({ terms }: DraftTariff, id: string): Tariff => ({ ...terms, id, closedAt: null })

/** A market tariff stays for prices of a part of its contract, because its prices are in the market source. */
const isSameContract = ({ terms, marketPrices }: DraftTariff, stored: SourcedTariff): boolean =>
  marketPrices === undefined
    ? stored.contractStart === terms.contractStart && stored.contractEnd === terms.contractEnd
    : (stored.contractStart ?? -Infinity) <= (terms.contractStart ?? -Infinity) &&
      (stored.contractEnd ?? Infinity) >= (terms.contractEnd ?? Infinity)

const isSameTariff = (draft: DraftTariff, stored: SourcedTariff): boolean =>
  stored.sourceId === draft.sourceId &&
  stored.direction === draft.terms.direction &&
  stored.type === draft.terms.type &&
  stored.marketRates === draft.terms.marketRates &&
  isSameContract(draft, stored) &&
  (stored.versions ?? []).length === 0 &&
  scheduleText(stored.schedule) === scheduleText(draft.terms.schedule)

/** Replace an object by a copy with its members in the order of their names, and an integer by its text. */
const inOrder = (_: string, value: unknown): unknown => {
  if (typeof value === 'bigint') return `${value}`
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

const chargeText = (terms: ChargeTerms): string => JSON.stringify(terms, inOrder)

const isSameCharge = (draft: DraftCharge, stored: SourcedCharge): boolean =>
  stored.sourceId === draft.sourceId && chargeText(stored.terms) === chargeText(draft.terms)

const isInTime = (a: ChargeTerms, b: ChargeTerms): boolean =>
  (a.startDay ?? -Infinity) < (b.endDay ?? Infinity) && (b.startDay ?? -Infinity) < (a.endDay ?? Infinity)

const describe = ({ from, name }: DraftTariff): string => `${name} (${from[0] ?? ''})`

/** Refuse a file in which two tariffs of one kind share time. */
const refuseOverlapInside = (tariffs: readonly DraftTariff[]): Result<null> => {
  const all = tariffs.map((draft, index) => asTariff(draft, `${index}`))
  for (const [index, tariff] of all.entries()) {
    const other = overlappingTariff(tariff, all.slice(0, index))
    if (other === undefined) continue
    const names = [tariffs[Number(other.id)], tariffs[index]].map(draft => (draft === undefined ? '' : describe(draft)))
    return refused(
      'tariff_overlap',
      `Two tariffs of the file apply at one time: ${names.join(' and ')}. Choose one of them`,
    )
  }
  return accepted(null)
}

/** Match each draft with an equal stored object. A stored object matches one draft. */
const matchEach = <Draft, Stored extends { readonly id: string }>(
  drafts: readonly Draft[],
  stored: readonly Stored[],
  isSame: (draft: Draft, stored: Stored) => boolean,
): readonly Step<Draft>[] => {
  const matched = new Set<string>()
  return drafts.map(draft => {
    const equal = stored.find(one => !matched.has(one.id) && isSame(draft, one))
    if (equal !== undefined) matched.add(equal.id)
    return { draft, storedId: equal?.id ?? null }
  })
}

/**
 * Decide what an import changes at a location. An equal object of the same source is unchanged. With `replaces`, other
 * tariffs in the time of a new tariff are voided, and the charges of the replaced sources are deleted.
 * Law: the same import again changes nothing.
 * Refuses `tariff_overlap` for two tariffs of the file, and without `replaces` for other tariffs or charges in the time.
 * Source: docs/rules/interchange-tariffs.md #twice.
 */
export const decideImport = (
  { tariffs, charges }: Pick<TariffFile, 'tariffs' | 'charges'>,
  stored: { readonly tariffs: readonly SourcedTariff[]; readonly charges: readonly SourcedCharge[] },
  replaces: boolean,
): Result<ImportDecision> => {
  const inside = refuseOverlapInside(tariffs)
  if (!inside.ok) return inside
  const tariffSteps = matchEach(tariffs, stored.tariffs, isSameTariff)
  const chargeSteps = matchEach(charges, stored.charges, isSameCharge)
  const unchangedIds = new Set([...tariffSteps, ...chargeSteps].map(({ storedId }) => storedId))
  const created = tariffSteps.filter(({ storedId }) => storedId === null).map(({ draft }) => draft)
  const others = stored.tariffs.filter(({ id }) => !unchangedIds.has(id))
  const voided = others.filter(other =>
    created.some(draft => overlappingTariff(asTariff(draft, ''), [other]) !== undefined),
  )
  const replacedSources = new Set([...tariffs, ...charges, ...voided].map(({ sourceId }) => sourceId))
  const inTime = (charge: SourcedCharge): boolean => charges.some(({ terms }) => isInTime(terms, charge.terms))
  const deleted = stored.charges.filter(
    charge =>
      charge.sourceId !== null &&
      !unchangedIds.has(charge.id) &&
      replacedSources.has(charge.sourceId) &&
      (inTime(charge) || voided.some(({ sourceId }) => sourceId === charge.sourceId)),
  )
  const [first] = [...voided, ...deleted]
  if (first !== undefined && !replaces) {
    const message = `${first.id} of this location applies in the time of the import. Send replace=true to void it, or choose other dates`
    return refused('tariff_overlap', message, 'replace')
  }
  return accepted({
    tariffs: tariffSteps,
    charges: chargeSteps,
    voidedTariffs: voided.map(({ id }) => id),
    deletedCharges: deleted.map(({ id }) => id),
  })
}
