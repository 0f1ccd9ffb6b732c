import { z } from 'zod'
import { type EventType as EventTypeName, eventFilters, typesOfFilter } from '../../domain/event-types.ts'
import { idText, instantText, storedMembers } from '../answer-field.ts'
import { calendarShape } from '../calendars/calendar.ts'
import { chargeShape } from '../charges/write-charge.ts'
import type { VersionRename } from '../earlier-api-version.ts'
import { nearestName, quote } from '../message-text.ts'
import { planSummaryShape } from '../plans/plan.ts'
import { customerShape } from '../registry/customer.ts'
import { deviceShape } from '../registry/device.ts'
import { locationRenames, locationShape } from '../registry/location.ts'
import { scheduleAmount } from '../schedules/schedule-amount.ts'
import { statementSummaryShape } from '../statements/statement.ts'
import { tariffDirections } from '../tariffs/tariff-draft.ts'
import { connectSessionRenames, connectSessionShape } from './connect-session.ts'

/** Data of an event: the name of its schema, its shape, and its differences between the API versions. */
type EventData = { readonly name: string; readonly shape: z.ZodType; readonly renames?: readonly VersionRename[] }

/** Type of an event, with its cause and its data. */
export type EventType = { readonly type: EventTypeName; readonly description: string; readonly data: EventData }

const failedChange: EventData = {
  name: 'FailedChange',
  shape: z.object({
    reference_id: z.string().optional().describe('The reference_id of the request.'),
    id: z.string().optional().describe('The id of the object of the request.'),
    error: z.object({ code: z.string(), message: z.string() }),
    request_id: z.string(),
  }),
}

const tariffNotice: EventData = {
  name: 'TariffNotice',
  shape: z.object({
    live_mode: storedMembers.live_mode,
    tariff_id: idText('trf').nullable(),
    location_id: idText('loc').nullable(),
    account_id: storedMembers.account_id,
  }),
}

const priceUpdate: EventData = {
  name: 'PriceUpdate',
  shape: z.object({
    live_mode: storedMembers.live_mode,
    location_id: idText('loc'),
    tariff_direction: z.enum(tariffDirections),
    start_time: instantText.nullable().describe('First instant with another price; null if there is no bound.'),
    end_time: instantText.nullable().describe('First instant after the change; null if there is no bound.'),
    account_id: storedMembers.account_id,
  }),
  renames: [{ current: 'tariff_direction', earlier: 'direction' }],
}

const session: EventData = {
  name: 'CompletedConnectSession',
  shape: connectSessionShape,
  renames: [...connectSessionRenames, { earlier: 'complete_action', constant: 'SAVE' }],
}

const statementSummaryData: EventData = { name: 'StatementSummary', shape: statementSummaryShape }
const calendar: EventData = { name: 'Calendar', shape: calendarShape }

const objectKinds: readonly { readonly kind: 'customer' | 'location' | 'device'; readonly data: EventData }[] = [
  { kind: 'customer', data: { name: 'Customer', shape: customerShape } },
  { kind: 'location', data: { name: 'Location', shape: locationShape, renames: locationRenames } },
  { kind: 'device', data: { name: 'Device', shape: deviceShape } },
]

const changeEventsOf = ({ kind, data }: (typeof objectKinds)[number]): readonly EventType[] =>
  (['create', 'update', 'delete'] as const).flatMap(verb => [
    {
      type: `${kind}.${verb}`,
      description: `A ${kind} is ${verb}d. The data is the ${kind}; after a deletion its last state.`,
      data,
    },
    { type: `${kind}.${verb}.failed`, description: `A request to ${verb} a ${kind} is refused.`, data: failedChange },
  ])

const planData: EventData = { name: 'PlanSummary', shape: planSummaryShape }

const planEvents: readonly EventType[] = [
  { type: 'plan.create', description: 'A plan is created.', data: planData },
  {
    type: 'plan.update',
    description:
      'The name, a version or assignments of a plan change, or the service has changed the tariffs and charges of all its locations: then applied equals sites. Each changed location sends location.update and price.update.',
    data: planData,
  },
  { type: 'plan.delete', description: 'A plan is deleted. The data is its last state.', data: planData },
]

/**
 * All types of events, by resource. The list is closed.
 * Source: docs/rules/events-and-webhooks.md #event-types.
 */
export const eventTypes: readonly EventType[] = [
  ...objectKinds.flatMap(changeEventsOf),
  ...(['create', 'update', 'delete'] as const).map(
    (verb): EventType => ({
      type: `charge.${verb}`,
      description: `A charge is ${verb}d. The data is the charge; after a deletion its last state.`,
      data: { name: 'Charge', shape: chargeShape },
    }),
  ),
  ...(['create', 'update', 'delete'] as const).map(
    (verb): EventType => ({
      type: `calendar.${verb}`,
      description: `A calendar is ${verb}d. The data is the calendar; after a deletion its last state.`,
      data: calendar,
    }),
  ),
  ...planEvents,
  {
    type: 'price.update',
    description: 'Prices of a location change in an interval. The event location.update is sent too.',
    data: priceUpdate,
  },
  {
    type: 'schedule.created',
    description: 'A schedule by amount is created for a location.',
    data: {
      name: 'ScheduleAmount',
      shape: scheduleAmount.answer.shape,
      ...(scheduleAmount.renames?.answer === undefined ? {} : { renames: scheduleAmount.renames.answer }),
    },
  },
  {
    type: 'statement.finalised',
    description: 'A statement became FINAL. The data is the statement without its lines.',
    data: statementSummaryData,
  },
  {
    type: 'statement.voided',
    description: 'A FINAL statement was voided. The data is its last FINAL state without its lines.',
    data: statementSummaryData,
  },
  { type: 'tariff.expiring', description: 'The contract of a tariff ends in 10 days.', data: tariffNotice },
  { type: 'tariff.expired', description: 'The contract of a tariff has ended.', data: tariffNotice },
  {
    type: 'tariff.fetch.failed',
    description: 'Prices or a tariff cannot be fetched from their source.',
    data: tariffNotice,
  },
  { type: 'connect_session.complete', description: 'A Connect session is complete and has prices.', data: session },
]

/** Return the message for an unknown filter; null for a filter with event types. */
export const explainUnknownFilter = (filter: string): string | null => {
  if (typesOfFilter(filter).length > 0) return null
  const nearest = nearestName(filter, eventFilters)
  return `${quote(filter)} is not an event type; ${nearest === undefined ? 'use *, a group such as customer.*, or a type such as customer.create' : `did you mean ${nearest}?`}`
}

const byName = new Map<string, EventType>(eventTypes.map(one => [one.type, one]))

/** Return the shape and renames of the data of an event; undefined for the test event of an endpoint. */
export const eventDataOf = (type: string): EventData | undefined => byName.get(type)?.data
