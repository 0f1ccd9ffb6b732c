import {
  type CalendarWire,
  calendarCreate,
  calendarDelete,
  calendarList,
  calendarObject,
  calendarRetrieve,
  calendarUpdate,
  calendarWithDatesToWire,
} from '../../contract/calendars/calendar.ts'
import { refuseFixedChange } from '../../contract/fixed-member.ts'
import type { RequestOf } from '../../contract/operation.ts'
import { locationEvent } from '../../contract/registry/location-view.ts'
import {
  type Calendar,
  type CalendarDraft,
  type CalendarInput,
  calendarChange,
  locationCalendarOf,
  type StoredCalendar,
  validateCalendar,
} from '../../domain/calendar/calendar.ts'
import { noObject } from '../../domain/no-object.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { publicHolidaysOf } from '../../platform/holidays/country-calendar.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import type { OutboxMessage } from '../../platform/postgres/events/outbox.ts'
import {
  affectedPrices,
  recostCalendarPage,
  writeCalendarFanOut,
} from '../../platform/postgres/pricing/calendar-fan-outs.ts'
import {
  createCalendar,
  deleteCalendar,
  listCalendars,
  lockCalendar,
  retrieveCalendar,
  updateCalendar,
} from '../../platform/postgres/pricing/calendars.ts'
import { refuseCalendarDates } from '../../platform/postgres/pricing/location-calendar.ts'
import type { Tenant, TenantTransaction } from '../../platform/postgres/transaction.ts'
import { type Change, deletion, tenantOf } from '../change.ts'
import { changeOrRehearse, type Impact } from '../change-or-rehearse.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { answerList, answerOne } from '../list.ts'

const noCalendar = noObject('calendar')

/** A shared calendar has the mode of the caller. */
const calendarOf = (stored: StoredCalendar, { liveMode }: Tenant): Calendar => ({
  ...stored,
  liveMode: stored.liveMode ?? liveMode,
})

const calendarChanged = (
  verb: 'create' | 'update' | 'delete',
  stored: StoredCalendar,
  tenant: Tenant,
  recostRequests: readonly OutboxMessage[] = [],
): Change<CalendarWire> => {
  const value = calendarObject.toWire(calendarOf(stored, tenant))
  const type = `calendar.${verb}`
  return {
    value,
    events: [{ type, objectId: stored.id, data: value }],
    audit: [{ action: type, objectId: stored.id, detail: value }],
    recostRequests,
  }
}

/** Refuse a calendar with invalid dates. */
const validated = (draft: CalendarDraft): Result<CalendarDraft> => {
  const refusal = validateCalendar(draft)
  return refusal === null ? accepted(draft) : { ok: false, refusal }
}

/** Add the public holidays of the country to a calendar. Refuses an unknown country or state, and invalid dates. */
const draftOf = async (
  dependencies: QueryServiceDependencies,
  given: CalendarInput,
  at: number,
): Promise<Result<CalendarDraft>> => {
  const { countryCode, state } = given
  if (countryCode === null && state !== null)
    return refused('field_required', 'country_code is required with state', 'country_code')
  const country = countryCode === null ? accepted(null) : await publicHolidaysOf(dependencies, countryCode, state, at)
  if (!country.ok) return country
  return validated({ ...given, state: country.value?.state ?? null, countryDays: country.value?.days ?? [] })
}

/** Return a stored calendar with the members of a PATCH. The stored holidays of an unchanged country stay. */
const patched = async (
  dependencies: QueryServiceDependencies,
  before: StoredCalendar,
  { body: { change }, at }: RequestOf<typeof calendarUpdate>,
): Promise<Result<CalendarDraft>> => {
  const { countryCode = before.countryCode } = change
  const given = { ...before, state: countryCode === before.countryCode ? before.state : null, ...change }
  const isSameCountry = given.countryCode === before.countryCode && given.state === before.state
  return isSameCountry ? validated(given) : draftOf(dependencies, given, at)
}

/** Price the locations of a changed calendar again: the first page now, the others in the background. */
const recostLocations = async (
  transaction: TenantTransaction,
  before: StoredCalendar,
  after: StoredCalendar,
  { at, impact }: { readonly at: number; readonly impact: Impact | null },
): Promise<readonly OutboxMessage[]> => {
  const days = calendarChange(locationCalendarOf(before), locationCalendarOf(after))
  if (days === null) return []
  const { accountId, liveMode } = transaction
  const { id: calendarId, revision } = after
  const changed = { ...days, accountId, liveMode, calendarId, revision, cursor: '' }
  if (impact !== null) {
    for (const { locationId, ...prices } of await affectedPrices(transaction.query, changed))
      impact.addPrices(locationId, [prices])
    return []
  }
  const { messages, cursor } = await recostCalendarPage(transaction.query, changed, {
    at,
    eventOf: location => locationEvent('location.update', location, at),
  })
  if (cursor !== null) await writeCalendarFanOut(transaction, { ...changed, cursor })
  return messages
}

const updateBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(calendarUpdate, request =>
    changeOrRehearse(dependencies, calendarUpdate, request, async (transaction, impact) => {
      const locked = await lockCalendar(transaction, request.id)
      if (!locked.ok) return locked
      const before = locked.value
      const shown = calendarObject.toWire(calendarOf(before, transaction))
      const fixedFieldRefusal = refuseFixedChange(request.body.sent, shown, calendarObject.changeable)
      if (fixedFieldRefusal !== null) return { ok: false, refusal: fixedFieldRefusal }
      const draft = await patched(dependencies, before, request)
      if (!draft.ok) return draft
      const [old, now] = [locationCalendarOf(before), locationCalendarOf(draft.value)]
      const refusal = await refuseCalendarDates(transaction, before.id, { before: old, after: now })
      if (refusal !== null) return { ok: false, refusal }
      const after = await updateCalendar(transaction, before, draft.value, calendarChange(old, now) !== null)
      const messages = await recostLocations(transaction, before, after, { at: request.at, impact })
      return accepted(calendarChanged('update', after, transaction, messages))
    }),
  )

/** Bind the operations on calendars. */
export const calendarOperations = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  bind(calendarCreate, async request => {
    const draft = await draftOf(dependencies, request.body, request.at)
    return changeOrRehearse(dependencies, calendarCreate, request, async transaction => {
      if (!draft.ok) return draft
      return accepted(
        calendarChanged('create', await createCalendar(transaction, draft.value, request.at), transaction),
      )
    })
  }),
  bind(calendarList, request =>
    answerList(dependencies, request, '/calendars', listCalendars, calendars =>
      calendars.map(calendar => calendarObject.toWire(calendarOf(calendar, tenantOf(request)))),
    ),
  ),
  bind(calendarRetrieve, request =>
    answerOne(dependencies, request, retrieveCalendar, noCalendar, calendar =>
      calendarWithDatesToWire(calendarOf(calendar, tenantOf(request)), request.query.year ?? null),
    ),
  ),
  updateBinding(dependencies),
  bind(calendarDelete, request =>
    changeOrRehearse(dependencies, calendarDelete, request, async transaction => {
      const locked = await lockCalendar(transaction, request.id)
      if (!locked.ok) return locked
      const deleted = await deleteCalendar(transaction, locked.value, request.at)
      if (!deleted.ok) return deleted
      return accepted(deletion(calendarChanged('delete', locked.value, transaction).events))
    }),
  ),
]
