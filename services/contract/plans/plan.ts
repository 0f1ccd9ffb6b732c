import { z } from 'zod'
import { writeDate } from '../../domain/civil-date.ts'
import { writeInstant } from '../../domain/instant.ts'
import { type PlanProgress, planLimits, type StoredPlan } from '../../domain/plan/plan.ts'
import { count, exampleObject, idText, objectShape, objectToWire } from '../answer-field.ts'
import { dryRunMember, dryRunParameter } from '../dry-run.ts'
import { currencyCode, fields, localDate, optional, text } from '../field.ts'
import { fixedMembers } from '../fixed-member.ts'
import { listEnvelope, listParameters } from '../list.ts'
import { currentRoute, defineOperation, deletion, retrieval } from '../operation.ts'
import { parameters } from '../parameter.ts'
import { deviceOnly } from '../reference.ts'
import {
  type PlanVersionView,
  pricesInput,
  versionMembers,
  versionMembersToWire,
  versionShape,
} from './plan-version.ts'

const { version, from, time_created } = versionMembers

const failureShape = z.object({
  location_id: idText('loc'),
  code: z.string(),
  message: z.string().describe('What to change.'),
})

const ownMembers = {
  name: z.string(),
  currency_code: z.string(),
  sites: count.describe('Locations with an assignment of the plan.'),
  applied: count.describe('Locations whose tariffs and charges are those of all versions.'),
  failed: z
    .array(failureShape)
    .describe('The first 100 locations to which a version cannot be applied. The service retries every 10 minutes.'),
}

/** Plan without the tariffs and charges of its versions, as lists and events have it. */
export const planSummaryShape = objectShape('pln', 'plan', {
  ...ownMembers,
  versions: z.array(z.object({ version, from, time_created })).describe('Ascending by from.'),
}).meta({ component: 'PlanSummary' })

export const planShape = objectShape('pln', 'plan', {
  ...ownMembers,
  versions: z
    .array(z.object(versionMembers).meta({ component: 'PlanVersionEntry' }))
    .describe('Ascending by from. Each version applies until the next one starts.'),
})

export type PlanSummaryWire = z.output<typeof planSummaryShape>
export type PlanWire = z.output<typeof planShape>

/** Stored plan with its progress and its versions, ascending by their first day. */
export type PlanView<Version> = Omit<StoredPlan, 'revision' | 'lastVersion'> &
  PlanProgress & { readonly versions: readonly Version[] }

const dateOrNull = (day: number | null): string | null => (day === null ? null : writeDate(day))

type Summary = Pick<PlanVersionView, 'version' | 'startDay' | 'createdAt'>

const ownToWire = ({ name, currencyCode: currency, sites, applied, failed }: PlanView<unknown>) => ({
  name,
  currency_code: currency,
  sites,
  applied,
  failed: failed.map(({ locationId, code, message }) => ({ location_id: locationId, code, message })),
})

/** Write a plan without the tariffs and charges of its versions. */
export const planSummaryToWire = (plan: PlanView<Summary>): PlanSummaryWire =>
  objectToWire('plan', plan, {
    ...ownToWire(plan),
    versions: plan.versions.map(({ version: number, startDay, createdAt }) => ({
      version: number,
      from: dateOrNull(startDay),
      time_created: writeInstant(createdAt),
    })),
  })

/** Write a plan. */
export const planToWire = (plan: PlanView<Omit<PlanVersionView, 'planId'>>): PlanWire =>
  objectToWire('plan', plan, { ...ownToWire(plan), versions: plan.versions.map(versionMembersToWire) })

const exampleTariff = {
  direction: 'IMPORT',
  type: 'COMMODITY',
  display_name: 'Day and night',
  schedule: [
    {
      days_and_hours: [
        {
          days: ['All'],
          hours: [
            { valid_from: '06:00:00', valid_to: '22:00:00', rate: [{ fixed: 0.31 }] },
            { valid_from: '22:00:00', valid_to: '06:00:00', rate: [{ fixed: 0.24 }] },
          ],
        },
      ],
    },
  ],
}
const exampleCharge = { kind: 'DEMAND', name: 'Peak', price: 4.25 }

/** Prices of the examples on the reference page. */
export const examplePrices = { tariffs: [exampleTariff], charges: [exampleCharge] }

const exampleSummary = objectToWire('plan', exampleObject('pln'), {
  name: 'Home 2026',
  currency_code: 'GBP',
  sites: 214,
  applied: 214,
  failed: [],
  versions: [{ version: 1, from: null, time_created: '2025-09-14T10:00:00.000Z' }],
})

const example = {
  ...exampleSummary,
  versions: [{ version: 1, from: null, ...examplePrices, time_created: '2025-09-14T10:00:00.000Z' }],
}

/** Charges accept own references of devices. */
const chargeReferences = { body: { 'charges.device_ids': deviceOnly } }

const tag = 'Plans'
const answer = { name: 'Plan', shape: planShape }

/** Codes of invalid prices of a version. */
export const priceRefusals = [
  'provider_not_found',
  'device_not_found',
  'tariff_overlap',
  'schedule_overlap',
  'schedule_gap',
  'schedule_invalid',
  'charge_invalid',
  'price_missing',
  'price_ambiguous',
  'steps_not_rising',
  'base_empty',
  'interval_not_supported',
  'end_before_start',
] as const

/** Codes of a version that cannot be applied to a location of the plan. */
export const siteRefusals = [
  'currency_mismatch',
  'calendar_required',
  'day_type_not_found',
  'schedule_overlap',
  'charge_invalid',
] as const

export const planCreate = defineOperation({
  id: 'plan_create',
  summary: 'Create a plan',
  description:
    'A plan has tariffs and charges for many locations. Its first version applies from the beginning. Assign the plan to locations, and each of them gets the tariffs and charges.',
  tag,
  access: 'all',
  routes: currentRoute('POST', '/plans'),
  query: parameters({ dry_run: dryRunParameter }),
  references: chargeReferences,
  body: fields({ name: text(), currency_code: currencyCode, ...pricesInput, dry_run: dryRunMember }),
  answer,
  status: 201,
  idempotent: true,
  dryRun: true,
  refusals: [...priceRefusals, 'too_many_versions'],
  examples: { body: { name: 'Home 2026', currency_code: 'GBP', ...examplePrices }, answer: example },
})

export const planList = defineOperation({
  id: 'plan_list',
  summary: 'List plans',
  description: 'Newest first, without the tariffs and charges of their versions.',
  tag,
  access: 'read',
  routes: currentRoute('GET', '/plans'),
  query: listParameters({}),
  answer: { name: 'PlanList', shape: listEnvelope(planSummaryShape) },
  status: 200,
  refusals: ['cursor_not_found'],
  examples: { answer: { object: 'list', url: '/plans', has_more: false, data: [exampleSummary] } },
})

export const planRetrieve = defineOperation({
  id: 'plan_retrieve',
  summary: 'Retrieve a plan',
  description:
    'Returns the plan with all versions. After a change, applied grows to sites while the service changes the tariffs and charges of the locations.',
  tag,
  ...retrieval(answer, example),
  routes: currentRoute('GET', '/plans/{id}'),
})

export const planUpdate = defineOperation({
  id: 'plan_update',
  summary: 'Update a plan',
  description: 'Changes the name. Change prices with a version. All other members may be sent back unchanged.',
  tag,
  access: 'all',
  routes: currentRoute('PATCH', '/plans/{id}'),
  query: parameters({ dry_run: dryRunParameter }),
  body: fields({ ...fixedMembers(planShape), name: text().optional(), dry_run: dryRunMember }),
  answer,
  status: 200,
  dryRun: true,
  refusals: ['field_immutable'],
  examples: { body: { name: 'Home 2027' }, answer: { ...example, name: 'Home 2027' } },
})

export const planDelete = defineOperation({
  id: 'plan_delete',
  summary: 'Delete a plan',
  description: 'Deletes a plan without assignments.',
  tag,
  ...deletion,
  routes: currentRoute('DELETE', '/plans/{id}'),
  query: parameters({ dry_run: dryRunParameter }),
  dryRun: true,
  refusals: ['plan_in_use'],
})

const versionAnswer = { name: 'PlanVersion', shape: versionShape }

const exampleVersion = {
  object: 'plan_version',
  plan_id: exampleObject('pln').id,
  version: 2,
  from: '2026-01-01',
  ...examplePrices,
  time_created: '2025-09-14T10:00:00.000Z',
  sites: 214,
  applied: 0,
}

export const planVersionCreate = defineOperation({
  id: 'plan_version_create',
  auditAction: 'plan.version_create',
  summary: 'Create a version',
  description: `The version applies from this local day of each location until the next version. The service changes the tariffs and charges of the locations and prices their stored records again; the plan shows the progress. A plan has at most ${planLimits.versions} versions.`,
  tag,
  access: 'all',
  routes: currentRoute('POST', '/plans/{id}/versions'),
  query: parameters({ dry_run: dryRunParameter }),
  references: chargeReferences,
  body: fields({ from: localDate.describe('First local day.'), ...pricesInput, dry_run: dryRunMember }),
  answer: versionAnswer,
  status: 202,
  idempotent: true,
  dryRun: true,
  refusals: [...new Set([...priceRefusals, ...siteRefusals]), 'version_exists', 'too_many_versions'],
  examples: { body: { from: '2026-01-01', ...examplePrices }, answer: exampleVersion },
})

export const planVersionUpdate = defineOperation({
  id: 'plan_version_update',
  auditAction: 'plan.version_update',
  summary: 'Update a version',
  description:
    'Replaces the tariffs, the charges or the first day of a version. Absent members do not change. Stored records of the version are priced again.',
  tag,
  access: 'all',
  routes: currentRoute('PATCH', '/plans/{id}/versions/{version}'),
  query: parameters({ dry_run: dryRunParameter }),
  references: chargeReferences,
  body: fields({ from: optional(localDate).describe('First local day.'), ...pricesInput, dry_run: dryRunMember }),
  answer: versionAnswer,
  status: 202,
  dryRun: true,
  refusals: [...new Set([...priceRefusals, ...siteRefusals]), 'version_exists', 'too_many_versions', 'field_immutable'],
  examples: { body: { from: '2026-02-01', ...examplePrices }, answer: { ...exampleVersion, from: '2026-02-01' } },
})

export const planVersionDelete = defineOperation({
  id: 'plan_version_delete',
  auditAction: 'plan.version_delete',
  summary: 'Delete a version',
  description:
    'The version before it applies instead, and stored records are priced again. The first version cannot be deleted.',
  tag,
  ...deletion,
  routes: currentRoute('DELETE', '/plans/{id}/versions/{version}'),
  query: parameters({ dry_run: dryRunParameter }),
  dryRun: true,
  refusals: ['field_immutable', 'tariff_overlap', ...siteRefusals],
})
