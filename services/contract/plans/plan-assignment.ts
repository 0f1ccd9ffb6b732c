import { z } from 'zod'
import { writeDate } from '../../domain/civil-date.ts'
import type { AssignmentInput, StoredAssignment } from '../../domain/plan/assignment.ts'
import { planLimits } from '../../domain/plan/plan.ts'
import type { Refusal, Result } from '../../domain/refusal.ts'
import { refused } from '../../domain/refusal.ts'
import { count, dateText, exampleObject, idText, objectShape, objectToWire, orNull } from '../answer-field.ts'
import { dryRunMember, dryRunParameter } from '../dry-run.ts'
import { toSentence } from '../error.ts'
import { clearable, fields, listOf, localDate, objectIdentifier, optional } from '../field.ts'
import { fixedMembers } from '../fixed-member.ts'
import { listing, listParameters } from '../list.ts'
import { schemaOf } from '../openapi/schema-document.ts'
import { currentRoute, defineOperation, deletion, retrieval } from '../operation.ts'
import { parameters } from '../parameter.ts'
import { readShape } from '../read-shape.ts'
import { locationOnly } from '../reference.ts'
import { siteRefusals } from './plan.ts'

const assignmentInput = fields({
  location_id: objectIdentifier('loc'),
  start_date: localDate.describe('First local day.'),
  end_date: optional(localDate).describe('Local day after the last one. Default: open.'),
})

/** Read one element of a request. Refuses with the field of the element. */
const readAssignment = (element: unknown): Result<AssignmentInput> => {
  const read = readShape(assignmentInput, element, 'body')
  if (!read.ok) return read
  const { location_id: locationId, start_date: startDay, end_date: endDay = null } = read.value
  return endDay !== null && endDay <= startDay
    ? refused('end_before_start', 'end_date must be after start_date', 'end_date')
    : { ok: true, value: { locationId, startDay, endDay } }
}

/** Element of a request. Each element is read by itself, so that an invalid one does not refuse the others. */
const assignmentElement = z.unknown().transform(readAssignment).meta(schemaOf(assignmentInput))

const assignmentShape = objectShape('pla', 'plan_assignment', {
  plan_id: idText('pln'),
  location_id: idText('loc'),
  start_date: dateText,
  end_date: orNull(dateText),
  status: z
    .enum(['APPLIED', 'PENDING', 'FAILED'])
    .describe('APPLIED: the location has the tariffs and charges of all versions. FAILED: error says why not.'),
  error: orNull(z.object({ code: z.string(), message: z.string() })),
})

export type AssignmentWire = z.output<typeof assignmentShape>

/** Write an assignment. */
export const assignmentToWire = (assignment: StoredAssignment): AssignmentWire => {
  const { planId, locationId, startDay, endDay, isApplied, refusal } = assignment
  return objectToWire('plan_assignment', assignment, {
    plan_id: planId,
    location_id: locationId,
    start_date: writeDate(startDay),
    end_date: endDay === null ? null : writeDate(endDay),
    status: isApplied ? ('APPLIED' as const) : refusal === null ? ('PENDING' as const) : ('FAILED' as const),
    error: isApplied || refusal === null ? null : { code: refusal.code, message: toSentence(refusal.message) },
  })
}

/** Element of a request that was refused. `number` counts from 1. */
export type FailedAssignment = {
  readonly number: number
  readonly locationId: string | null
  readonly refusal: Refusal
}

const failedShape = z.object({
  number: count.describe('Position in the request, from 1.'),
  location_id: orNull(idText('loc')).describe('Null if the element has no known location.'),
  code: z.string(),
  message: z.string().describe('What to change.'),
  field: orNull(z.string()),
})

const resultShape = z.object({
  object: z.literal('plan_assignment_result'),
  plan_id: idText('pln'),
  data: z.array(assignmentShape).describe('The new assignments, in the order of the request.'),
  failed: z.array(failedShape).describe('Refused elements. The others are assigned.'),
})

/** Write the result of a request with assignments. */
export const assignmentResultToWire = (
  planId: string,
  assignments: readonly StoredAssignment[],
  failed: readonly FailedAssignment[],
): z.output<typeof resultShape> => ({
  object: 'plan_assignment_result',
  plan_id: planId,
  data: assignments.map(assignmentToWire),
  failed: failed.map(({ number, locationId, refusal }) => ({
    number,
    location_id: locationId,
    code: refusal.code,
    message: toSentence(refusal.message),
    field: refusal.field ?? null,
  })),
})

const example: AssignmentWire = objectToWire('plan_assignment', exampleObject('pla'), {
  plan_id: exampleObject('pln').id,
  location_id: exampleObject('loc').id,
  start_date: '2026-01-01',
  end_date: null,
  status: 'APPLIED',
  error: null,
})

const tag = 'Plans'
const answer = { name: 'PlanAssignment', shape: assignmentShape }
const onePath = '/plans/{id}/assignments/{assignment_id}'

export const planAssign = defineOperation({
  id: 'plan_assign',
  summary: 'Assign a plan to locations',
  description: `Each location gets the tariffs and charges of the plan for these local days: for each version in these days its own, with contract dates at local midnight. Elements are checked one by one: valid ones are assigned, and failed lists the others. At most ${planLimits.assignmentsPerRequest} elements.`,
  tag,
  access: 'all',
  routes: currentRoute('POST', '/plans/{id}/assignments'),
  references: { body: { location_id: locationOnly }, keepsUnknown: true },
  query: parameters({ dry_run: dryRunParameter }),
  body: listOf(assignmentElement, { min: 1, max: planLimits.assignmentsPerRequest }),
  answer: { name: 'PlanAssignmentResult', shape: resultShape },
  status: 200,
  idempotent: true,
  dryRun: true,
  refusals: ['location_not_found', 'tariff_overlap', 'end_before_start', 'too_many_assignments', ...siteRefusals],
  examples: {
    body: [{ location_id: example.location_id, start_date: example.start_date }],
    answer: { object: 'plan_assignment_result', plan_id: example.plan_id, data: [example], failed: [] },
  },
})

export const planAssignmentList = defineOperation({
  id: 'plan_assignment_list',
  summary: 'List assignments',
  description: 'Newest first.',
  tag,
  ...listing('PlanAssignment', assignmentShape, `/plans/${example.plan_id}/assignments`, example),
  routes: currentRoute('GET', '/plans/{id}/assignments'),
  references: { query: { location_id: locationOnly } },
  query: listParameters({
    location_id: objectIdentifier('loc').optional().describe('Only the assignments of this location.'),
  }),
})

export const planAssignmentRetrieve = defineOperation({
  id: 'plan_assignment_retrieve',
  summary: 'Retrieve an assignment',
  description: 'Returns the assignment with its status.',
  tag,
  ...retrieval(answer, example),
  routes: currentRoute('GET', onePath),
})

export const planAssignmentUpdate = defineOperation({
  id: 'plan_assignment_update',
  auditAction: 'plan.assignment_update',
  summary: 'Update an assignment',
  description:
    'Changes the end of an assignment; a null end makes it open. The tariffs and charges of the location follow, and stored records in the changed time are priced again. All other members may be sent back unchanged.',
  tag,
  access: 'all',
  routes: currentRoute('PATCH', onePath),
  query: parameters({ dry_run: dryRunParameter }),
  references: { body: { location_id: locationOnly } },
  body: fields({
    ...fixedMembers(assignmentShape),
    end_date: clearable(localDate).describe('Local day after the last one; null is open.'),
    dry_run: dryRunMember,
  }),
  answer,
  status: 200,
  dryRun: true,
  refusals: ['field_immutable', 'tariff_overlap', 'end_before_start', ...siteRefusals],
  examples: { body: { end_date: '2027-01-01' }, answer: { ...example, end_date: '2027-01-01' } },
})

export const planAssignmentDelete = defineOperation({
  id: 'plan_assignment_delete',
  auditAction: 'plan.assignment_delete',
  summary: 'Delete an assignment',
  description:
    'The assignment never was: its tariffs and charges are removed from their start, and records are priced again. To end an assignment, set its end_date.',
  tag,
  ...deletion,
  routes: currentRoute('DELETE', onePath),
  query: parameters({ dry_run: dryRunParameter }),
  dryRun: true,
})
