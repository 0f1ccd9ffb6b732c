import { z } from 'zod'
import { clearable, fields, localDate, objectIdentifier, text } from '../field.ts'
import { fixedMembers } from '../fixed-member.ts'
import { listing, listParameters } from '../list.ts'
import { currentRoute, defineOperation, deletion, retrieval } from '../operation.ts'
import { deviceOnly, locationOnly } from '../reference.ts'
import { maxComponentLength } from './charge-formats.ts'
import { chargeCreation } from './read-charge.ts'
import { chargeObjects, chargeShape } from './write-charge.ts'

/** `url` of the lists. */
export const chargeListUrl = '/charges'

const body = {
  location_id: 'loc_0198c0ffee00112233445566',
  kind: 'DEMAND',
  name: 'Capacity step',
  component: 'grid',
  start_date: '2026-01-01',
  highest: 3,
  distinct_days: true,
  steps: [
    { from_kw: 0, amount: 125 },
    { from_kw: 2, amount: 206 },
    { from_kw: 5, amount: 350 },
  ],
  prorate: 'NONE',
}

const example = {
  id: 'chg_0198c0ffee00112233445566',
  object: 'charge',
  live_mode: false,
  location_id: 'loc_0198c0ffee00112233445566',
  plan_id: null,
  kind: 'DEMAND',
  name: 'Capacity step',
  component: 'grid',
  start_date: '2026-01-01',
  end_date: null,
  sequence: 0,
  counts: 'IMPORT',
  device_ids: null,
  interval_minutes: 60,
  windows: [],
  highest: 3,
  distinct_days: true,
  over: 'PERIOD',
  rolling_months: 12,
  rolling: 'MEAN',
  month_floor_kw: 0,
  ratchet: null,
  floor_kw: 0,
  above_kw: 0,
  round_kw: null,
  history: [],
  price: null,
  tiers: null,
  steps: body.steps,
  step_edge: 'LOWER_INCLUSIVE',
  per: 'MONTH',
  year_basis: 'MONTHS',
  prorate: 'NONE',
  time_created: '2026-01-14T10:00:00Z',
  account_id: 'acc_0198c0ffee00112233445566',
}

const tag = 'Charges'
const answer = { name: 'Charge', shape: chargeShape }

export const chargeCreate = defineOperation({
  id: 'charge_create',
  summary: 'Create a charge',
  description:
    'Adds a price in addition to the tariffs of a location: a standing charge, energy, demand, sessions, a limit or a percentage. Charges appear on statements. They do not change costs, prices and schedules.',
  tag,
  access: 'all',
  routes: currentRoute('POST', '/charges'),
  references: { body: { location_id: locationOnly, device_ids: deviceOnly } },
  body: chargeCreation,
  answer,
  status: 201,
  idempotent: true,
  refusals: [
    'location_not_found',
    'device_not_found',
    'charge_invalid',
    'price_missing',
    'price_ambiguous',
    'steps_not_rising',
    'base_empty',
    'interval_not_supported',
    'end_before_start',
    'calendar_required',
    'day_type_not_found',
    'schedule_overlap',
    'schedule_gap',
    'schedule_invalid',
  ],
  examples: { body, answer: example },
})

export const chargeList = defineOperation({
  id: 'charge_list',
  summary: 'List charges',
  description: 'Newest first, of one location or of all locations, without deleted charges.',
  tag,
  ...listing('Charge', chargeShape, chargeListUrl, example),
  routes: currentRoute('GET', '/charges'),
  references: { query: { location_id: locationOnly } },
  query: listParameters({
    location_id: objectIdentifier('loc').optional().describe('Only the charges of this location.'),
  }),
  refusals: ['location_not_found', 'cursor_not_found'],
})

export const chargeRetrieve = defineOperation({
  id: 'charge_retrieve',
  summary: 'Retrieve a charge',
  description: 'Returns the charge with all its members.',
  tag,
  ...retrieval(answer, example),
  routes: currentRoute('GET', '/charges/{id}'),
})

/** Members of a charge that a PATCH changes. */
export const chargePatch = {
  name: text().optional(),
  component: clearable(text({ max: maxComponentLength })).describe('Null: the default of the kind.'),
  start_date: clearable(localDate).describe('First local day; null is open.'),
  end_date: clearable(localDate).describe('Local day after the last one; null is open.'),
}

const allMembers: z.ZodObject = z.object(Object.assign({}, ...chargeObjects.map(({ shape }) => shape)))

export const chargeUpdate = defineOperation({
  id: 'charge_update',
  summary: 'Update a charge',
  description:
    'Changes the name, the component and the dates. All other members are fixed and may be sent back unchanged. To change a price, end the charge and create another one.',
  tag,
  access: 'all',
  routes: currentRoute('PATCH', '/charges/{id}'),
  references: { body: { location_id: locationOnly, device_ids: deviceOnly } },
  body: fields({ ...fixedMembers(allMembers), ...chargePatch }),
  answer,
  status: 200,
  refusals: ['field_immutable', 'end_before_start', 'plan_managed'],
  examples: { body: { end_date: '2027-01-01' }, answer: { ...example, end_date: '2027-01-01' } },
})

export const chargeDelete = defineOperation({
  id: 'charge_delete',
  summary: 'Delete a charge',
  description: 'The charge never existed. To end a charge and keep its past, set end_date instead.',
  tag,
  ...deletion,
  routes: currentRoute('DELETE', '/charges/{id}'),
  refusals: ['plan_managed'],
})
