import { z } from 'zod'
import { writeInstant } from '../../domain/instant.ts'
import { connectionTypes, type StoredTariff } from '../../domain/tariff/stored-tariff.ts'
import { scheduleAt, schedulesOf } from '../../domain/tariff/tariff-version.ts'
import { count, idText, instantOrNull, instantText, orNull, storedMembers } from '../answer-field.ts'
import type { ApiVersion } from '../api-version.ts'
import { dryRunMember, dryRunParameter } from '../dry-run.ts'
import {
  clearable,
  fields,
  identifier,
  instant,
  objectIdentifier,
  oneOf,
  optional,
  refuseField,
  text,
} from '../field.ts'
import { fixedMembers } from '../fixed-member.ts'
import { listEnvelope, listParameters } from '../list.ts'
import { defineOperation, deletion, type Method, type Routes, retrieval } from '../operation.ts'
import { flag, parameters } from '../parameter.ts'
import { locationOnly } from '../reference.ts'
import { tariffCreation, tariffDirections, tariffTypes } from './tariff-draft.ts'
import { scheduleFrame, scheduleShape, scheduleToWire } from './tariff-schedule.ts'

const tariffShape = z.object({
  id: idText('trf'),
  object: z.literal('tariff'),
  location_id: idText('loc'),
  live_mode: storedMembers.live_mode,
  is_linked: z.boolean().describe('True if Connect maintains the tariff, from a provider or its library.'),
  connection_type: z.enum(connectionTypes),
  direction: z.enum(tariffDirections),
  type: z.enum(tariffTypes),
  status: z.enum(['CONNECTED', 'ERROR']),
  timezone: z.string(),
  display_name: orNull(z.string()),
  provider_id: orNull(idText('prv')),
  market_rates: z.boolean(),
  plan_id: orNull(idText('pln')).describe('Plan that keeps the tariff; null if there is none.'),
  plan_version: orNull(count).describe('Version of the plan.'),
  component: z.string().describe('Name of its lines on statements.'),
  contract_start_date: orNull(instantText).describe('Inclusive; null is open.'),
  contract_end_date: orNull(instantText).describe('Exclusive; null is open.'),
  schedule: scheduleShape.describe('The current prices; before the contract its first prices.'),
  versions: z
    .array(
      z.object({
        effective_from: orNull(instantText).describe('Inclusive; null is the open start of the contract.'),
        schedule: scheduleShape,
      }),
    )
    .describe('All prices of the tariff, ascending. Each applies until the next one.'),
  time_created: storedMembers.time_created,
  account_id: storedMembers.account_id,
})

export type TariffWire = z.output<typeof tariffShape>

/** Write a tariff at `at` (ms). `inList` omits the dates of its schedules. */
export const tariffToWire = (
  tariff: Omit<StoredTariff, 'libraryTariffId' | 'closedAt'>,
  at: number,
  { inList = false }: { readonly inList?: boolean } = {},
): TariffWire => {
  const versions: TariffWire['versions'] = []
  let schedule: TariffWire['schedule'] = []
  for (const version of schedulesOf(tariff)) {
    const written = scheduleToWire(version.schedule, !inList)
    versions.push({ effective_from: instantOrNull(version.effectiveFrom), schedule: written })
    if (version.schedule === scheduleAt(tariff, at)) schedule = written
  }
  return {
    id: tariff.id,
    object: 'tariff',
    location_id: tariff.locationId,
    live_mode: tariff.liveMode,
    is_linked: tariff.connectionType !== 'MANUAL',
    connection_type: tariff.connectionType,
    direction: tariff.direction,
    type: tariff.type,
    status: tariff.status,
    timezone: tariff.timezone,
    display_name: tariff.displayName,
    provider_id: tariff.providerId,
    market_rates: tariff.marketRates,
    plan_id: tariff.planId,
    plan_version: tariff.planVersion,
    component: tariff.component,
    contract_start_date: instantOrNull(tariff.contractStart),
    contract_end_date: instantOrNull(tariff.contractEnd),
    schedule,
    versions,
    time_created: writeInstant(tariff.createdAt),
    account_id: tariff.accountId,
  }
}

const collectionPaths = { current: '/tariffs', earlier: '/tariffs/elements' } as const satisfies Record<
  ApiVersion,
  string
>

/** Return the `url` of tariff lists. */
export const tariffListUrl = (apiVersion: ApiVersion): string => collectionPaths[apiVersion]

const routes = <const Rest extends string>(method: Method, rest: Rest): Routes<`/tariffs${Rest}`> => ({
  current: [{ method, path: `${collectionPaths.current}${rest}` }],
  earlier: [{ method, path: `${collectionPaths.earlier}${rest}` }],
})

const exampleSchedule = {
  months: ['All'],
  days_and_hours: [
    {
      days: ['All'],
      hours: [
        { valid_from: '06:00:00', valid_to: '22:00:00', rate: [{ fixed: 0.31 }] },
        { valid_from: '22:00:00', valid_to: '06:00:00', rate: [{ fixed: 0.24 }] },
      ],
    },
  ],
}

const example = {
  id: 'trf_0198c0ffee00112233445566',
  object: 'tariff',
  location_id: 'loc_0198c0ffee00112233445566',
  live_mode: false,
  is_linked: false,
  connection_type: 'MANUAL',
  direction: 'IMPORT',
  type: 'COMMODITY',
  status: 'CONNECTED',
  timezone: 'Europe/Berlin',
  display_name: 'Day and night',
  provider_id: null,
  market_rates: false,
  plan_id: null,
  plan_version: null,
  component: 'energy',
  contract_start_date: '2025-01-01T00:00:00Z',
  contract_end_date: null,
  schedule: [{ ...exampleSchedule, dates: [] }],
  versions: [{ effective_from: '2025-01-01T00:00:00Z', schedule: [{ ...exampleSchedule, dates: [] }] }],
  time_created: '2025-09-14T10:00:00Z',
  account_id: 'acc_0198c0ffee00112233445566',
}

const tag = 'Tariffs'
const answer = { name: 'Tariff', shape: tariffShape }

/** The earlier API version has no plans. */
const renamesAt = (path: '' | 'data.') =>
  ['plan_id', 'plan_version', 'component'].map(name => ({ current: `${path}${name}` }))

export const tariffCreate = defineOperation({
  id: 'tariff_create',
  summary: 'Create a tariff',
  description:
    'Adds prices for energy (COMMODITY) or grid fees (NON_COMMODITY) in one direction to a location. Tariffs of one kind must not overlap. Costs that the tariff changes are calculated again automatically.',
  tag,
  access: 'all',
  routes: routes('POST', ''),
  references: { body: { location_id: locationOnly } },
  query: parameters({ dry_run: dryRunParameter }),
  dryRun: true,
  body: tariffCreation,
  renames: { body: [{ current: 'component' }], answer: renamesAt('') },
  answer,
  status: 200,
  idempotent: true,
  refusals: [
    'location_not_found',
    'provider_not_found',
    'tariff_overlap',
    'schedule_overlap',
    'schedule_gap',
    'schedule_invalid',
    'calendar_required',
    'day_type_not_found',
    'currency_mismatch',
    'end_before_start',
  ],
  examples: {
    body: {
      location_id: 'loc_0198c0ffee00112233445566',
      direction: 'IMPORT',
      type: 'COMMODITY',
      display_name: 'Day and night',
      contract_start_date: '2025-01-01T00:00:00Z',
      schedule: [exampleSchedule],
    },
    answer: example,
  },
})

export const tariffList = defineOperation({
  id: 'tariff_list',
  summary: 'List tariffs',
  description: 'Newest first, of one location or of all locations, without deleted tariffs.',
  tag,
  access: 'read',
  routes: routes('GET', ''),
  references: { query: { location_id: locationOnly } },
  query: listParameters({
    location_id: objectIdentifier('loc').optional().describe('Only the tariffs of this location.'),
    direction: oneOf(...tariffDirections).optional(),
    type: oneOf(...tariffTypes).optional(),
  }),
  renames: { answer: renamesAt('data.') },
  answer: { name: 'TariffList', shape: listEnvelope(tariffShape) },
  status: 200,
  refusals: ['location_not_found', 'cursor_not_found'],
  examples: {
    answer: {
      object: 'list',
      url: '/tariffs',
      has_more: false,
      data: [
        {
          ...example,
          schedule: [exampleSchedule],
          versions: [{ effective_from: '2025-01-01T00:00:00Z', schedule: [exampleSchedule] }],
        },
      ],
    },
  },
})

export const tariffRetrieve = defineOperation({
  id: 'tariff_retrieve',
  summary: 'Retrieve a tariff',
  description: 'Returns the tariff with its complete schedule.',
  tag,
  ...retrieval(answer, example),
  renames: { answer: renamesAt('') },
  routes: routes('GET', '/{id}'),
})

/** Members of a tariff that a PATCH changes. */
export const tariffPatch = {
  display_name: clearable(text()),
  provider_id: clearable(identifier('prv')),
  contract_end_date: clearable(instant),
  schedule: scheduleFrame.optional().describe('Prices from effective_from, validated like the prices of a new tariff.'),
  effective_from: optional(instant).describe(
    'Inclusive. Default: now. With a past time, stored records are priced again.',
  ),
}

export const tariffUpdate = defineOperation({
  id: 'tariff_update',
  summary: 'Update a tariff',
  description:
    'Changes the name, the provider, the prices or the end of the contract; a null end makes the contract open. A schedule replaces the prices from effective_from and removes later versions. Earlier prices stay, and tiers continue to count. Stored costs that the change affects are calculated again automatically. All other members are fixed and may be sent back unchanged.',
  tag,
  access: 'all',
  routes: routes('PATCH', '/{id}'),
  references: { body: { location_id: locationOnly } },
  query: parameters({ dry_run: dryRunParameter }),
  dryRun: true,
  body: fields({ ...fixedMembers(tariffShape), ...tariffPatch, dry_run: dryRunMember }).superRefine(
    (patch, context) => {
      if (patch.effective_from !== undefined && patch.schedule === undefined) {
        refuseField(context, 'field_required', 'is required with effective_from', ['schedule'])
      }
    },
  ),
  renames: { body: renamesAt(''), answer: renamesAt('') },
  answer,
  status: 200,
  refusals: [
    'field_immutable',
    'plan_managed',
    'provider_not_found',
    'tariff_overlap',
    'end_before_start',
    'schedule_overlap',
    'schedule_gap',
    'schedule_invalid',
    'calendar_required',
    'day_type_not_found',
  ],
  examples: {
    body: { contract_end_date: '2026-01-01T00:00:00Z' },
    answer: { ...example, contract_end_date: '2026-01-01T00:00:00Z' },
  },
})

export const tariffDelete = defineOperation({
  id: 'tariff_delete',
  summary: 'Delete a tariff',
  description:
    'The tariff ends now. Its prices up to now stay in the history of the location. With void=true the tariff is removed from its start, and its records are priced again.',
  tag,
  ...deletion,
  refusals: ['plan_managed'],
  routes: routes('DELETE', '/{id}'),
  query: parameters({ void: flag.default(false), dry_run: dryRunParameter }),
  dryRun: true,
})
