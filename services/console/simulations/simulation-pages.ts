import type { FormBody } from '../../contract/call.ts'
import { parseExactJson } from '../../contract/json/exact-json.ts'
import type { JsonNumber } from '../../contract/json/exact-number.ts'
import type { AnswerOf } from '../../contract/operation.ts'
import { type PlanWire, planList } from '../../contract/plans/plan.ts'
import { simulationCreate, simulationRetrieve } from '../../contract/simulations/simulation.ts'
import { civilDate, dayNumber, parseDate, writeDate } from '../../domain/civil-date.ts'
import { type Content, type Html, html } from '../../web/ui-kit/html.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute } from '../console-request.ts'
import { differenceOf, exactText, money, wholeNumber } from '../kit/amount.ts'
import { curlBlock } from '../kit/api-requests.ts'
import { type Column, dataTable, type TableView, withParameters } from '../kit/data-table.ts'
import { firstSimulation } from '../kit/first-requests.ts'
import { objectName } from '../kit/object-name.ts'
import { findObject } from '../kit/object-text.ts'
import type { PageResult, PageView } from '../page-frame.ts'
import { choice, errorNotice, facts, field } from '../page-parts.ts'

/** Amount of a bill, with its days of standing charges. */
type Part = { readonly amount: JsonNumber; readonly days: number | null }

type SimulationWire = AnswerOf<typeof simulationRetrieve>
type Bill = NonNullable<SimulationWire['baseline']>

/** Amount of a row with the stored prices and with the other ones. */
type Compared = { readonly name: string; readonly before: string; readonly after: string }

const sumRows = (before: Bill, after: Bill): readonly Compared[] =>
  [
    ['Energy', before.energy, after.energy] as const,
    ['Charges', before.charges, after.charges] as const,
    ['Tax', before.tax, after.tax] as const,
  ].map(([name, one, other]) => ({ name, before: exactText(one), after: exactText(other) }))

const daysText = (count: number): string => `${wholeNumber(count)} ${count === 1 ? 'day' : 'days'}`

/** Say that the standing charges of two parts have different days. */
const daysNote = (before: Part | undefined, after: Part | undefined): string => {
  const [one, other] = [before?.days ?? null, after?.days ?? null]
  return one === null || other === null || one === other
    ? ''
    : ` (${daysText(one)} stored, ${daysText(other)} simulated)`
}

type NamedParts = readonly (readonly [string, Part])[]

const joined = (before: NamedParts, after: NamedParts): readonly Compared[] => {
  const [first, second] = [new Map(before), new Map(after)]
  return [...new Set([...first.keys(), ...second.keys()])].map(name => {
    const [one, other] = [first.get(name), second.get(name)]
    return {
      name: `${name}${daysNote(one, other)}`,
      before: exactText(one?.amount ?? '0'),
      after: exactText(other?.amount ?? '0'),
    }
  })
}

const monthRows = (before: Bill, after: Bill): readonly Compared[] => {
  const totals = ({ months }: Bill) =>
    months.map(({ month, total, standing_days: days }) => [month, { amount: total, days }] as const)
  return joined(totals(before), totals(after))
}

const lineRows = (before: Bill, after: Bill): readonly Compared[] => {
  const amounts = ({ lines = [] }: Bill) =>
    lines.map(
      ({ component, name, amount, standing_days: days }) => [`${component}: ${name}`, { amount, days }] as const,
    )
  return joined(amounts(before), amounts(after))
}

const comparedColumns = (first: string, other: string, currency: string): readonly Column<Compared>[] => {
  const amount = (key: string, name: string, of: (one: Compared) => string): Column<Compared> => ({
    key,
    name,
    isNumber: true,
    text: of,
    show: one => money(of(one), currency),
  })
  return [
    { key: 'name', name: first, text: one => one.name },
    amount('stored', 'Stored', one => one.before),
    amount('simulated', other, one => one.after),
    amount('difference', 'Difference', one => differenceOf(one.after, one.before)),
  ]
}

/** Say that two bills have standing charges for different days; null if they do not. */
const standingNotice = (before: Bill, { name, ...after }: Bill & { readonly name: string }): Content => {
  const daysOf = ({ months }: Bill): string => months.map(one => one.standing_days).join()
  if (daysOf(before) === daysOf(after)) return null
  const days = ({ standing_days: count }: Bill): string => (count === null ? 'unknown' : wholeNumber(count))
  return html`<p class="notice warn">Days with all standing charges: ${days(before)} stored, ${days(after)} with ${name}. Part of the
difference comes from the days.</p>`
}

/** Compare a bill with the stored one, by line and by month. */
const comparison = (request: ConsoleRequest, simulation: SimulationWire): { content: Content; tables: TableView[] } => {
  const { baseline, currency_code: currency } = simulation
  const [other] = simulation.data
  if (baseline === null || other === undefined) return { content: null, tables: [] }
  const totals = ['Total', baseline.total, other.total, other.difference].map((one, index) =>
    index === 0 ? String(one) : money(exactText(one as JsonNumber), currency),
  )
  const common = { totals, isCompact: true, isSortable: false }
  const list = (id: string, label: string, first: string, items: readonly Compared[]): TableView =>
    dataTable(request, {
      ...common,
      id,
      label,
      items,
      columns: comparedColumns(first, other.name, currency),
      empty: 'No lines in this time.',
    })
  const lines = list(
    'simulated-lines',
    'Lines',
    'Line',
    baseline.lines === undefined ? sumRows(baseline, other) : lineRows(baseline, other),
  )
  const months = list('simulated-months', 'Months', 'Month', monthRows(baseline, other))
  const difference = exactText(other.difference)
  const isLower = difference.startsWith('-')
  return {
    tables: [lines, months],
    content: html`<p class="lead">With ${other.name} the bill is <strong>${money(other.total, currency)}</strong> instead of
<strong>${money(baseline.total, currency)}</strong>: ${money(difference.replace('-', ''), currency)} ${isLower ? 'less' : 'more'}.</p>
${baseline.complete ? null : html`<p class="notice warn">Records or prices of this time are missing, or its days have not ended. The amounts can still change.</p>`}
${standingNotice(baseline, other)}
<section aria-labelledby="simulated-lines-title"><h2 id="simulated-lines-title">Lines with ${other.name}</h2>${lines.markup}</section>
<section aria-labelledby="simulated-months-title"><h2 id="simulated-months-title">Months with ${other.name}</h2>${months.markup}</section>`,
  }
}

const monthStart = (at: number, months: number): number => {
  const { year, month } = civilDate(Math.floor(at / 86_400_000))
  const index = year * 12 + month - 1 + months
  return dayNumber(Math.floor(index / 12), (index % 12) + 1, 1)
}

type NamedPlan = Pick<PlanWire, 'id' | 'name'>

type Asked = {
  readonly object: string
  readonly start: number
  readonly end: number
  readonly plan: string
  readonly tariff: string
}

/** Read the question of a page. Default: the month before this one. */
const askedOf = ({ query, at }: ConsoleRequest): Asked => {
  const start = parseDate(query.get('start') ?? '') ?? monthStart(at, -1)
  return {
    object: query.get('object')?.trim() ?? '',
    start,
    end: parseDate(query.get('end') ?? '') ?? monthStart(start * 86_400_000, 1),
    plan: query.get('plan') ?? '',
    tariff: query.get('tariff')?.trim() ?? '',
  }
}

const tariffExample = `{"direction": "IMPORT", "type": "COMMODITY", "schedule": [{"days_and_hours": [{"hours": [
  {"valid_from": "00:00:00", "valid_to": "00:00:00", "rate": [{"fixed": 0.29}]}]}]}]}`

const questionForm = ({ object, start, end, plan, tariff }: Asked, plans: readonly NamedPlan[]): Html =>
  html`<form class="form" method="get" action="/console/simulations"><div class="filter">
${field('object', 'Location or customer', { value: object, required: true, hint: 'ID or reference' })}
${field('start', 'First day', { type: 'date', value: writeDate(start) })}
${field('end', 'Day after the last', { type: 'date', value: writeDate(end) })}
${choice('plan', 'Plan', [['', plans.length === 0 ? 'No plans yet' : 'Other tariff'], ...plans.map(one => [one.id, one.name] as const)], plan)}</div>
<details${tariff === '' ? null : html` open=""`}><summary>Other tariff instead of a plan</summary><div class="field"><label for="tariff">Tariff</label>
<textarea id="tariff" name="tariff" rows="5" spellcheck="false" placeholder="${tariffExample}">${tariff}</textarea>
<p class="hint">JSON object or list, as in POST /tariffs, without location and dates. It replaces all tariffs of the location. Its charges stay.</p></div></details>
<div class="actions"><button type="submit">Compare</button></div></form>`

const head = html`<h1>Simulations</h1><p class="lead">What stored records would have cost with another plan or tariff. Nothing is changed.</p>`

/** Read tariffs. A text that is not JSON becomes a list that the API refuses. */
const readTariffs = (text: string): readonly FormBody[] => {
  const read = parseExactJson(text)
  const value = read.ok ? read.value : null
  return (Array.isArray(value) ? value : [value]) as readonly FormBody[]
}

/** Ask for a comparison. A pending simulation is loaded again by its id. */
const simulate = async (request: ConsoleRequest, asked: Asked, plans: readonly NamedPlan[]) => {
  const id = request.query.get('id')
  if (id !== null) return request.call(simulationRetrieve, { id })
  const object = await findObject(request, asked.object, ['location', 'customer'])
  if (!object.ok) return object
  const plan = plans.find(one => one.id === asked.plan)
  const candidate =
    asked.plan === ''
      ? { name: 'the other tariff', tariffs: readTariffs(asked.tariff) }
      : { name: plan?.name ?? 'the plan', plan_id: asked.plan }
  return request.call(
    simulationCreate,
    {},
    {
      ...(object.value.startsWith('cus_') ? { customer_id: object.value } : { object_ids: [object.value] }),
      start_date: writeDate(asked.start),
      end_date: writeDate(asked.end),
      lines: true,
      candidates: [candidate],
    },
  )
}

const stateOf = (request: ConsoleRequest, { id, status, progress, error }: SimulationWire): Content => {
  if (status === 'FAILED' && error !== null) return errorNotice({ ...error, field: null })
  if (status === 'DONE' || id === null) return null
  const query = new URLSearchParams(request.query)
  query.set('id', id)
  return html`<p class="notice" role="status">${wholeNumber(progress.done)} of ${wholeNumber(progress.locations)} locations are calculated.
<a href="/console/simulations?${query.toString()}">Load the result</a></p>`
}

/** Compare stored costs with those of another plan or tariff. */
const showSimulation = async (request: ConsoleRequest): Promise<PageView> => {
  const asked = askedOf(request)
  const list = await request.call(planList, { limit: 100 })
  const plans = list.ok ? list.value.data : []
  const page = (body: Content, status = 200, tables: readonly TableView[] = []): PageView => ({
    title: 'Simulations',
    status,
    tables,
    body: html`${head}${questionForm(asked, plans)}${body}`,
  })
  const isStarted = request.query.has('id')
  if (asked.object === '' && !isStarted)
    return page(
      html`<div class="empty"><p>Enter a location and a plan above, or send this request:</p>${curlBlock(firstSimulation)}</div>`,
    )
  if (asked.plan === '' && asked.tariff === '' && !isStarted)
    return page(html`<div class="empty"><p>Choose a plan, or enter a tariff, to compare with.</p></div>`)
  const result = await simulate(request, asked, plans)
  if (!result.ok) return page(errorNotice(result.fault), result.status)
  const { content, tables } = comparison(request, result.value)
  const found = asked.object === '' ? null : await findObject(request, asked.object, ['location', 'customer'])
  const name = found?.ok ? ([['Bill of', await objectName(request, found.value)]] as const) : []
  const period = `${result.value.start_date} to ${result.value.end_date}, the last day excluded`
  return page(html`${facts(...name, ['Period', period])}${stateOf(request, result.value)}${content}`, 200, tables)
}

/** Bill of a statement for which another plan is compared. The choice has plans of the same currency. */
type ComparedBill = {
  readonly object: string
  readonly start: number
  readonly end: number
  readonly currency: string
}

const path = '/console/simulations'

/** Compare a bill with a plan. A statement loads this part after its lines, because the simulation takes as long as they. */
const showBeside = async (request: ConsoleRequest): Promise<PageResult> => {
  const asked = askedOf(request)
  const plan = { id: asked.plan, name: request.query.get('name') ?? 'the plan' }
  const result = await simulate(request, asked, [plan])
  if (!result.ok) return { fragment: errorNotice(result.fault), showsRequests: true }
  const { content, tables } = comparison(request, result.value)
  return { fragment: html`${stateOf(request, result.value)}${content}`, tables, showsRequests: true }
}

/**
 * Compare a bill with the plan in `plan`. An empty `plan` offers the choice of a plan. Without `plan`, a link leads to the
 * choice: counting the locations of each plan takes time.
 */
export const planComparison = async (request: ConsoleRequest, bill: ComparedBill): Promise<Content> => {
  const chosen = request.query.get('plan')
  const asked = { object: bill.object, start: writeDate(bill.start), end: writeDate(bill.end) }
  const page = chosen ? { ...asked, plan: chosen } : asked
  const hint = html`<p class="hint">The <a href="${path}?${new URLSearchParams(page).toString()}">page of simulations</a> also compares other
tariffs.</p>`
  if (chosen === null) {
    const href = `${withParameters(request, { plan: '' })}#beside`
    return html`<p><a class="button" href="${href}">Choose a plan to compare</a></p>${hint}`
  }
  const list = await request.call(planList, { limit: 100 })
  const plans = list.ok ? list.value.data.filter(plan => plan.currency_code === bill.currency) : []
  const others = [...request.query].filter(([name]) => !['plan', 'done', 'csv'].includes(name))
  const form = html`<form class="filter" method="get" action="${request.path}#beside">
${others.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${choice('plan', 'Plan', [['', plans.length === 0 ? `No plan in ${bill.currency}` : 'Choose a plan'], ...plans.map(one => [one.id, one.name] as const)], chosen)}
<button class="quiet" type="submit">Compare</button></form>${hint}`
  if (chosen === '') return form
  const name = plans.find(({ id }) => id === chosen)?.name ?? 'the plan'
  const part = new URLSearchParams({ ...page, name })
  return html`${form}
<div data-load="${path}/beside?${part.toString()}"><p class="empty"><a href="${path}?${new URLSearchParams(page).toString()}">View the comparison</a></p></div>`
}

export const simulationRoutes: readonly ConsoleRoute[] = [
  getRoute(path, showSimulation),
  getRoute(`${path}/beside`, showBeside),
]
