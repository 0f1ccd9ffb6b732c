import type { AnswerOf } from '../../contract/operation.ts'
import { type PlanWire, planRetrieve } from '../../contract/plans/plan.ts'
import {
  type AssignmentWire,
  planAssign,
  planAssignmentDelete,
  planAssignmentRetrieve,
  planAssignmentUpdate,
} from '../../contract/plans/plan-assignment.ts'
import { html } from '../../web/ui-kit/html.ts'
import type { Fault } from '../api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute, postRoute } from '../console-request.ts'
import { counted, wholeNumber } from '../kit/amount.ts'
import { checkedChange } from '../kit/checked-change.ts'
import { type LocationNames, locationLink, newestLocations } from '../kit/location-names.ts'
import { objectName } from '../kit/object-name.ts'
import { objectTexts } from '../kit/object-text.ts'
import { form, type PageResult, type PageView } from '../page-frame.ts'
import { errorNotice, field, row, table } from '../page-parts.ts'
import { area } from './object-form.ts'

/** Page with an error. */
export const problem = (title: string, status: number, fault: Fault): PageView => ({
  title,
  status,
  body: html`<h1>${title}</h1>${errorNotice(fault)}`,
})

/** Answer with the plan of a path. */
export const withPlan = async (
  request: ConsoleRequest,
  answer: (plan: PlanWire, path: string) => Promise<PageResult>,
): Promise<PageResult> => {
  const found = await request.call(planRetrieve, { id: request.ids[0] })
  return found.ok ? answer(found.value, `/console/plans/${found.value.id}`) : problem('Plan', found.status, found.fault)
}

/** Return true for a page, and false for a result of the API. */
export const isPage = (result: object): result is PageView => 'body' in result

type AssignResult = AnswerOf<typeof planAssign>

type Entered = { readonly locations: string; readonly start: string; readonly end: string }

const assignForm = (
  { csrf }: ConsoleRequest,
  plan: PlanWire,
  path: string,
  { locations, start, end }: Entered,
  fault: Fault | null,
): PageView => ({
  title: `Assign ${plan.name}`,
  status: fault === null ? 200 : 400,
  body: html`<h1>Assign ${plan.name}</h1><p class="lead">Each location gets the tariffs and charges of the plan for these days.</p>
${fault === null || fault.field === 'locations' ? null : errorNotice(fault)}${form(
  csrf,
  `${path}/assign`,
  html`${area({ name: 'locations', label: 'Locations', hint: 'One ID or reference per line' }, locations, fault)}
${field('start_date', 'First day', { type: 'date', value: start, required: true })}
${field('end_date', 'Day after the last', { type: 'date', value: end, hint: 'Leave empty for an open end.' })}
<div class="actions"><button type="submit">Check assignment</button><a href="${path}">Cancel</a></div>`,
)}`,
})

const assignedPage = (
  names: LocationNames,
  plan: PlanWire,
  path: string,
  { data, failed }: AssignResult,
): PageView => ({
  title: `Assign ${plan.name}`,
  body: html`<h1>Assign ${plan.name}</h1><p class="notice ${failed.length === 0 ? 'good' : 'warn'}" role="status">Assigned: ${counted(data.length, 'location')}. Not assigned: ${wholeNumber(failed.length)}.</p>
${
  failed.length === 0
    ? null
    : table(
        'Locations that are not assigned',
        ['Line', 'Location', 'Reason'],
        failed
          .slice(0, 100)
          .map(one =>
            row(String(one.number), one.location_id === null ? '' : locationLink(names, one.location_id), one.message),
          ),
        '',
      )
}<p><a href="${path}">Back to ${plan.name}</a></p>`,
})

/** Assign a plan to locations. Refused locations are listed; the others are assigned. */
const assignPlan = (request: ConsoleRequest): Promise<PageResult> =>
  withPlan(request, async (plan, path) => {
    const { form: sent, query, at } = request
    const text = (name: string): string => sent.get(name)?.trim() ?? ''
    const entered = { locations: text('locations'), start: text('start_date'), end: text('end_date') }
    const today = new Date(at).toISOString().slice(0, 10)
    const first = { locations: query.get('location_id') ?? '', start: today, end: '' }
    if (!sent.has('csrf')) return assignForm(request, plan, path, first, null)
    const again = (fault: Fault) => assignForm(request, plan, path, entered, fault)
    const locations = objectTexts(entered.locations)
    if (locations.length === 0)
      return again({ code: 'field_required', message: 'Enter at least one location.', field: 'locations' })
    const dates = { start_date: entered.start, ...(entered.end === '' ? {} : { end_date: entered.end }) }
    const result = await checkedChange(request, {
      operation: planAssign,
      parameters: { id: plan.id },
      title: `Assign ${plan.name}`,
      body: locations.map(location_id => ({ location_id, ...dates })),
      effects: html`<p>The tariffs and charges of ${plan.name} apply to ${counted(locations.length, 'location')}, from ${entered.start} to
${entered.end === '' ? 'an open end' : entered.end}.</p>`,
      action: `${path}/assign`,
      button: 'Assign plan',
      back: path,
      typed: null,
      fields: ['locations', 'start_date', 'end_date'],
    })
    if (isPage(result)) return result
    return result.ok ? assignedPage(await newestLocations(request), plan, path, result.value) : again(result.fault)
  })

/** Answer with the plan and the assignment of a path. */
const withAssignment = (
  request: ConsoleRequest,
  answer: (plan: PlanWire, assignment: AssignmentWire, path: string) => Promise<PageResult>,
): Promise<PageResult> =>
  withPlan(request, async (plan, path) => {
    const found = await request.call(planAssignmentRetrieve, { id: plan.id, assignment_id: request.ids[1] })
    return found.ok ? answer(plan, found.value, path) : problem('Assignment', found.status, found.fault)
  })

const endForm = (
  { csrf }: ConsoleRequest,
  title: string,
  { action, back, end }: { readonly [Name in 'action' | 'back' | 'end']: string },
  fault: Fault | null,
): PageView => ({
  title,
  status: fault === null ? 200 : 400,
  body: html`<h1>${title}</h1>${fault === null || fault.field === 'end_date' ? null : errorNotice(fault)}${form(
    csrf,
    action,
    html`${field('end_date', 'Day after the last', { type: 'date', value: end, fault, hint: 'Leave empty for an open end.' })}
<div class="actions"><button type="submit">Check changes</button><a href="${back}">Cancel</a></div>`,
  )}`,
})

/** Change the end of an assignment. */
const endAssignment = (request: ConsoleRequest): Promise<PageResult> =>
  withAssignment(request, async (plan, assignment, path) => {
    const title = `End ${plan.name} at ${await objectName(request, assignment.location_id)}`
    const page = { action: `${path}/assignments/${assignment.id}/end`, back: path }
    const { form: sent, at } = request
    const today = new Date(at).toISOString().slice(0, 10)
    if (!sent.has('csrf')) return endForm(request, title, { ...page, end: assignment.end_date ?? today }, null)
    const end = sent.get('end_date')?.trim() ?? ''
    const result = await checkedChange(request, {
      ...page,
      operation: planAssignmentUpdate,
      title,
      parameters: { id: plan.id, assignment_id: assignment.id },
      body: { end_date: end === '' ? null : end },
      effects: html`<p>The plan applies to this location ${end === '' ? 'without an end' : `until the start of ${end}`}.</p>`,
      button: 'Change end',
      typed: null,
      fields: ['end_date'],
    })
    if (isPage(result)) return result
    const undo = { action: page.action, fields: { end_date: assignment.end_date ?? '' } }
    return result.ok ? { to: `${path}?done=saved`, undo } : endForm(request, title, { ...page, end }, result.fault)
  })

const deleteAssignment = (request: ConsoleRequest): Promise<PageResult> =>
  withAssignment(request, async (plan, assignment, path) => {
    const title = `Remove ${plan.name} from ${await objectName(request, assignment.location_id)}`
    const result = await checkedChange(request, {
      operation: planAssignmentDelete,
      title,
      back: path,
      parameters: { id: plan.id, assignment_id: assignment.id },
      effects: html`<p>The tariffs and charges of the plan are removed from their start, as if they had never existed. Without another tariff the
records have no price. To keep the past, end the assignment instead.</p>`,
      action: `${path}/assignments/${assignment.id}/delete`,
      button: 'Remove plan',
      typed: plan.name,
      fields: [],
    })
    if (isPage(result)) return result
    return result.ok ? { to: `${path}?done=deleted` } : problem(title, result.status, result.fault)
  })

/** Routes of a form below the page of a plan. */
export const planRoute = (rest: string, answer: ConsoleRoute['answer']): readonly ConsoleRoute[] =>
  [getRoute, postRoute].map(route => route(`/console/plans/:id/${rest}`, answer))

/** Pages that change the assignments of a plan. */
export const planRoutes: readonly ConsoleRoute[] = [
  ...planRoute('assign', assignPlan),
  ...planRoute('assignments/:assignment/end', endAssignment),
  ...planRoute('assignments/:assignment/delete', deleteAssignment),
]
