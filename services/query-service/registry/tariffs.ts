import { refuseFixedChange } from '../../contract/fixed-member.ts'
import type { RequestOf } from '../../contract/operation.ts'
import { locationEvent } from '../../contract/registry/location-view.ts'
import { readTariffTerms } from '../../contract/tariffs/read-tariff-terms.ts'
import {
  type TariffWire,
  tariffCreate,
  tariffDelete,
  tariffList,
  tariffListUrl,
  tariffPatch,
  tariffRetrieve,
  tariffToWire,
  tariffUpdate,
} from '../../contract/tariffs/tariff.ts'
import { readTariffDraft, type TariffInput } from '../../contract/tariffs/tariff-draft.ts'
import { noNamedObject, noObject } from '../../domain/no-object.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { scheduleText } from '../../domain/tariff/compiled-schedule.ts'
import type { StoredTariff } from '../../domain/tariff/stored-tariff.ts'
import type { TariffVersion } from '../../domain/tariff/tariff.ts'
import { scheduleAt } from '../../domain/tariff/tariff-version.ts'
import { mapInTimeSlices } from '../../platform/concurrency/time-slices.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import type { EventDraft } from '../../platform/postgres/events/events.ts'
import {
  createTariff,
  endTariff,
  listTariffPage,
  retrieveTariff,
  type TariffChange,
  updateTariff,
  voidTariff,
} from '../../platform/postgres/pricing/tariffs.ts'
import { retrieveLocation } from '../../platform/postgres/registry/locations.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { type Change, omitUndefined } from '../change.ts'
import { changeOrRehearse, type Impact } from '../change-or-rehearse.ts'
import { followTariff } from '../charges/tariff-charges.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { answerList, answerOne } from '../list.ts'

const noTariff = noObject('tariff')

/**
 * Read the prices of a PATCH as a version of its tariff. The result is undefined if the PATCH has no prices, or if it
 * repeats the prices that apply at `at` (ms) without an instant. Refuses an invalid schedule, as for a new tariff.
 */
const versionOf = (
  tariff: StoredTariff,
  { schedule, effective_from: from }: Pick<RequestOf<typeof tariffUpdate>['body'], 'schedule' | 'effective_from'>,
  at: number,
): Result<TariffVersion | undefined> => {
  if (schedule === undefined) return accepted(undefined)
  const { direction, type, marketRates } = tariff
  const terms = readTariffTerms({
    direction,
    type,
    marketRates,
    contractStart: null,
    contractEnd: null,
    schedule,
  })
  if (!terms.ok) return terms
  const isUnchanged = from === undefined && scheduleText(scheduleAt(tariff, at)) === scheduleText(terms.value.schedule)
  return accepted(isUnchanged ? undefined : { effectiveFrom: from?.at ?? at, schedule: terms.value.schedule })
}

/** Create the event that reports a change of a tariff to the subscribers of its location. */
const locationEvents = async (
  transaction: TenantTransaction,
  locationId: string,
  at: number,
): Promise<readonly EventDraft[]> => {
  const location = await retrieveLocation(transaction, locationId)
  return location === null ? [] : [locationEvent('location.update', location, at)]
}

/** Describe a change of a tariff, with its event, audit entry and recost request. */
export const tariffChange = async (
  transaction: TenantTransaction,
  { tariff, recostRequest }: TariffChange,
  action: string,
  at: number,
): Promise<Change<TariffWire>> => {
  const value = tariffToWire(tariff, at)
  return {
    value,
    events: await locationEvents(transaction, tariff.locationId, at),
    audit: [{ action, objectId: tariff.id, detail: value }],
    recostRequests: [recostRequest],
  }
}

/** Report the changed prices of a location to the impact of a dry run. */
const addImpact = (impact: Impact | null, { tariff: { locationId, direction }, changed }: TariffChange): void => {
  if (changed !== null) impact?.addPrices(locationId, [{ direction, ...changed }])
}

/** Add the changes of the charges that follow a changed tariff. */
const withCharges = async <T>(
  dependencies: QueryServiceDependencies,
  transaction: TenantTransaction,
  { tariff }: TariffChange,
  changed: Change<T>,
  at: number,
): Promise<Change<T>> => {
  const { events, audit } = await followTariff(dependencies, transaction, tariff, at)
  return { ...changed, events: [...changed.events, ...events], audit: [...(changed.audit ?? []), ...audit] }
}

/** Check that the time zone of a draft is the time zone of its location. */
const validateZone = async (
  transaction: TenantTransaction,
  { locationId, timezone }: TariffInput,
): Promise<Result<null>> => {
  if (timezone === null) return accepted(null)
  const location = await retrieveLocation(transaction, locationId)
  if (location === null) return noNamedObject('location', 'location_id')
  return location.timezone === timezone
    ? accepted(null)
    : refused(
        'field_invalid',
        `timezone must be ${location.timezone}, the time zone of the location. Correct it or leave it out`,
        'timezone',
      )
}

const recreateAdvice = 'delete the tariff, with void=true if it must never have applied, and create another one'

const createBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(tariffCreate, async request => {
    const read = readTariffDraft(request.body)
    if (!read.ok) return read
    const { locationId, displayName, providerId, component, terms } = read.value
    return changeOrRehearse(dependencies, tariffCreate, request, async (transaction, impact) => {
      const zone = await validateZone(transaction, read.value)
      if (!zone.ok) return zone
      const draft = {
        ...terms,
        locationId,
        displayName,
        providerId,
        component,
        libraryTariffId: null,
        connectionType: 'MANUAL',
        status: 'CONNECTED',
      } as const
      const created = await createTariff(transaction, draft, request.at)
      if (!created.ok) return created
      addImpact(impact, created.value)
      return accepted(await tariffChange(transaction, created.value, 'tariff.create', request.at))
    })
  })

const updateBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(tariffUpdate, request =>
    changeOrRehearse(dependencies, tariffUpdate, request, async (transaction, impact) => {
      const { display_name: displayName, provider_id: providerId, contract_end_date: end } = request.body
      const tariff = await retrieveTariff(transaction, request.id)
      if (tariff === null) return noTariff
      const shown = tariffToWire(tariff, request.at)
      const { dry_run: _, ...sent } = request.body
      const fixedFieldRefusal = refuseFixedChange(sent, shown, Object.keys(tariffPatch), recreateAdvice)
      if (fixedFieldRefusal !== null) return { ok: false, refusal: fixedFieldRefusal }
      const version = versionOf(tariff, request.body, request.at)
      if (!version.ok) return version
      const patch = omitUndefined({
        displayName,
        providerId,
        contractEnd: end === null ? null : end?.at,
        version: version.value,
      })
      const updated = await updateTariff(transaction, request.id, patch, request.at)
      if (!updated.ok) return updated
      addImpact(impact, updated.value)
      const changed = await tariffChange(transaction, updated.value, 'tariff.update', request.at)
      return accepted(await withCharges(dependencies, transaction, updated.value, changed, request.at))
    }),
  )

/** Bind the operations on tariffs. */
export const tariffOperations = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  createBinding(dependencies),
  bind(tariffList, request => {
    const { location_id: locationId = null, direction = null, type = null } = request.query
    return answerList(
      dependencies,
      request,
      tariffListUrl(request.apiVersion),
      async (transaction, page) =>
        locationId !== null && (await retrieveLocation(transaction, locationId)) === null
          ? noNamedObject('location', 'location_id')
          : listTariffPage(transaction, { locationId, direction, type }, page),
      tariffs =>
        mapInTimeSlices(tariffs, read => tariffToWire(read(), request.at, { inList: true }), request.caller.accountId),
    )
  }),
  bind(tariffRetrieve, request =>
    answerOne(dependencies, request, retrieveTariff, noTariff, tariff => tariffToWire(tariff, request.at)),
  ),
  updateBinding(dependencies),
  bind(tariffDelete, request =>
    changeOrRehearse(dependencies, tariffDelete, request, async (transaction, impact) => {
      const removeTariff = request.query.void ? voidTariff : endTariff
      const removal = await removeTariff(transaction, request.id, request.at)
      if (!removal.ok) return removal
      addImpact(impact, removal.value)
      const action = request.query.void ? 'tariff.void' : 'tariff.delete'
      const done = await tariffChange(transaction, removal.value, action, request.at)
      const followed = await withCharges(dependencies, transaction, removal.value, done, request.at)
      return accepted({ ...followed, value: { message: 'Accepted' as const } })
    }),
  ),
]
