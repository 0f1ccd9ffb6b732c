import type { JsonNumber } from '../../contract/json/exact-number.ts'
import { locationRetrieve } from '../../contract/registry/location.ts'
import type { StatementWire } from '../../contract/statements/statement.ts'
import {
  statementCreate,
  statementFinalise,
  statementRetrieve,
  statementVoid,
} from '../../contract/statements/statement-operations.ts'
import { civilDate, dayNumber, parseDate, writeDate } from '../../domain/civil-date.ts'
import { asMarkup, type Content, type Html, html } from '../../web/ui-kit/html.ts'
import type { Fault } from '../api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute, mayDo, postRoute } from '../console-request.ts'
import { counted, exactText, money } from '../kit/amount.ts'
import { confirmationFault, confirmPage } from '../kit/confirm.ts'
import { withParameters } from '../kit/data-table.ts'
import { type LocationNames, locationField, newestLocations } from '../kit/location-names.ts'
import { objectLinks } from '../kit/object-name.ts'
import { warningNotices } from '../kit/warning-notices.ts'
import { historySection } from '../objects/tariff-kind.ts'
import type { PageResult, PageView } from '../page-frame.ts'
import { choice, errorNotice, facts, field, instant } from '../page-parts.ts'
import { planComparison } from '../simulations/simulation-pages.ts'
import { finalStatements, finalStatementsPath } from './final-statements.ts'
import { peakSections } from './statement-peaks.ts'
import { lineTable, monthComparison, priceTable } from './statement-view.ts'

const path = '/console/statements'

const monthOf = (day: number, months: number): number => {
  const { year, month } = civilDate(day)
  const index = year * 12 + month - 1 + months
  return dayNumber(Math.floor(index / 12), (index % 12) + 1, 1)
}

const profiles = [
  ['EXACT', 'All digits'],
  ['LARGEST_REMAINDER', 'Rounded total'],
  ['EN16931', 'Rounded lines'],
] as const

type Asked = { readonly locationId: string; readonly start: number; readonly end: number; readonly profile: string }

const askedOf = ({ query, at }: ConsoleRequest): Asked => {
  const start = parseDate(query.get('start') ?? '') ?? monthOf(Math.floor(at / 86_400_000), 0)
  return {
    locationId: query.get('location_id')?.trim() ?? '',
    start,
    end: Math.max(parseDate(query.get('end') ?? '') ?? monthOf(start, 1), start + 1),
    profile: query.get('rounding') ?? 'EXACT',
  }
}

const statementForm = ({ locationId, start, end, profile }: Asked, names: LocationNames = new Map()): Html =>
  html`<form class="filter" method="get" action="${path}">
${locationField(names, locationId)}
${field('start', 'First day', { type: 'date', value: writeDate(start) })}
${field('end', 'Day after the last', { type: 'date', value: writeDate(end) })}
${choice('rounding', 'Rounding', profiles, profile)}
<button class="quiet" type="submit">Calculate</button></form>`

const calculate = ({ call }: ConsoleRequest, { locationId, start, end, profile }: Asked, more: object = {}) =>
  call(
    statementCreate,
    { id: locationId },
    {
      start_date: writeDate(start),
      end_date: writeDate(end),
      ...(profile === 'EXACT' ? {} : { rounding: { profile } }),
      ...more,
    },
  )

/** Question that a statement answers. */
const askedBy = ({ location_id: locationId, start_date, end_date, rounding }: StatementWire): Asked => {
  const start = parseDate(start_date) ?? 0
  return { locationId, start, end: parseDate(end_date) ?? start + 1, profile: rounding.profile }
}

const actionsOf = (request: ConsoleRequest, { id, status, location_id: location }: StatementWire): Content => {
  const page = `${path}/${id}`
  const action =
    status === 'DRAFT'
      ? mayDo(request, statementFinalise) && html`<a class="button" href="${page}/finalise">Finalise</a>`
      : mayDo(request, statementVoid) && html`<a class="button danger" href="${page}/void">Void</a>`
  return html`<div class="actions"><a class="button" href="${page}">Link to this statement</a><a class="button" href="${finalStatementsPath(location)}">Final statements</a>${action === false ? null : action}</div>`
}

/** Fact of an energy in kWh; none if it is 0, or unknown in an older FINAL statement. */
const energyFact = (name: string, energy: JsonNumber | undefined): readonly (readonly [string, string])[] =>
  energy === undefined || exactText(energy) === '0' ? [] : [[name, `${exactText(energy)} kWh`]]

/** Links to the location and the customer of a bill, by their names. The customer is null if the location has none. */
type Parties = { readonly location: Html; readonly customer: Html | null }

const partiesOf = async ({ call }: ConsoleRequest, id: string): Promise<Parties> => {
  const found = await call(locationRetrieve, { id })
  const customerId = found.ok ? found.value.customer_id : null
  const name = found.ok ? (found.value.display_name ?? found.value.reference_id) : null
  return {
    location: html`<a href="/console/locations/${id}">${name ?? id}</a>`,
    customer: customerId === null ? null : ((await objectLinks({ call }, [customerId])).get(customerId) ?? null),
  }
}

const statementFacts = ({ totals, ...statement }: StatementWire, { location, customer }: Parties): Html => {
  const { currency_code: currency } = statement
  const costs = `/console/costs?${new URLSearchParams({
    object: statement.location_id,
    from: statement.start_date,
    to: writeDate((parseDate(statement.end_date) ?? 1) - 1),
  })}`
  return facts(
    ['ID', html`<code>${statement.id}</code>`],
    ['Location', location],
    ...(customer === null ? [] : [['Customer', customer] as const]),
    [
      'Period',
      html`<a href="${costs}">${statement.start_date} to ${statement.end_date}</a> (${statement.location_timezone})`,
    ],
    ['Status', `${statement.status.toLowerCase()}${statement.complete ? '' : ', incomplete'}`],
    ['Revision', String(statement.revision)],
    ['Net', money(totals.net, currency)],
    ['Tax', money(totals.tax, currency)],
    ['Gross', html`<strong>${money(totals.gross, currency)}</strong>`],
    ...energyFact('Estimated energy', totals.estimated_energy),
    ...energyFact('Energy with a forecast price', totals.provisional_energy),
  )
}

const gapReasons = {
  UNPRICED: 'no price',
  PROVISIONAL_PRICE: 'forecast price',
  MISSING: 'no record',
  NOT_ENDED: 'not ended',
} as const

const gapNotice = ({ gaps, gaps_more: more = 0, location_timezone: zone, status }: StatementWire): Content =>
  gaps.length === 0
    ? null
    : html`<div class="notice warn"><p>${counted(String(gaps.length + more), 'gap')}. ${status === 'FINAL' ? 'The statement was finalised with gaps. If records arrive later, the next statement adjusts the amounts.' : 'The amounts can still change.'}</p><details><summary>Gaps</summary><ul>${gaps
        .slice(0, 20)
        .map(
          ({ reason, start_time, end_time }) =>
            html`<li>${instant(start_time, zone, 'minute')} to ${instant(end_time, zone, 'minute')}: ${gapReasons[reason]}</li>`,
        )}</ul></details></div>`

/**
 * Show a statement: its lines, the causes of its peaks, the month before, and the bill of another plan. The prices of the
 * lines take a second calculation. They are shown instead of the month before, which takes one too.
 */
const statementView = async (request: ConsoleRequest, statement: StatementWire): Promise<PageView> => {
  const asked = askedBy(statement)
  const hasPrices = request.query.has('prices')
  const previous = { ...asked, start: monthOf(asked.start, -1), end: monthOf(asked.start, 0) }
  const [before, detailed, beside, peaks, parties, history] = await Promise.all([
    hasPrices ? null : calculate(request, previous),
    hasPrices ? calculate(request, asked, { detail: 'PRICE' }) : null,
    planComparison(request, {
      object: asked.locationId,
      start: asked.start,
      end: asked.end,
      currency: statement.currency_code,
    }),
    peakSections(request, statement),
    partiesOf(request, statement.location_id),
    statement.status === 'FINAL' ? historySection(request, statement.id) : null,
  ])
  const lines = lineTable(request, statement)
  const prices = detailed?.ok === true ? priceTable(request, detailed.value) : null
  const compared = before?.ok === true ? monthComparison(request, statement, before.value) : null
  return {
    title: 'Statement',
    tables: [
      ...[lines, prices, compared].filter(one => one !== null),
      ...peaks.flatMap(({ tables = [] }) => tables),
      ...(history?.tables ?? []),
    ],
    body: html`<p class="trail"><a href="${path}">Statements</a></p><h1>Statement</h1>${statementForm(asked)}
${statementFacts(statement, parties)}${actionsOf(request, statement)}${gapNotice(statement)}${warningNotices(statement.warnings, statement.location_timezone)}
<section aria-labelledby="lines-title"><h2 id="lines-title">Lines</h2>${lines.markup}
${hasPrices ? null : html`<p><a href="${withParameters(request, { prices: '1' })}">Show the prices of each line</a></p>`}</section>
${
  prices === null
    ? null
    : html`<section aria-labelledby="prices-title"><h2 id="prices-title">Prices of the lines</h2>${prices.markup}
<p><a href="${withParameters(request, { prices: null })}#compared">Compare with the month before</a></p></section>`
}
${peaks.map(({ content }) => content)}
${compared === null ? null : html`<section aria-labelledby="compared"><h2 id="compared">Compared with the month before</h2>${compared.markup}</section>`}
<section aria-labelledby="beside"><h2 id="beside">With another plan</h2>${beside}</section>${history?.content}`,
  }
}

const refused = (head: Content, status: number, fault: Fault): PageView => ({
  title: 'Statement',
  status,
  body: html`<h1>Statement</h1>${head}${errorNotice(fault)}`,
})

/** Calculate the bill of a location, or list the final ones. */
const showStatements = async (request: ConsoleRequest): Promise<PageView> => {
  const asked = askedOf(request)
  if (asked.locationId === '') {
    const names = await newestLocations(request)
    const finals = await finalStatements(request, names)
    return {
      title: 'Statements',
      tables: finals.tables,
      body: html`<h1>Statements</h1><p class="lead">A bill of a location with a line for each component and charge.</p>
${statementForm(asked, names)}${finals.content}`,
    }
  }
  const form = statementForm(asked)
  const statement = await calculate(request, asked)
  return statement.ok ? statementView(request, statement.value) : refused(form, statement.status, statement.fault)
}

/** Answer with the statement of a path. */
const withStatement = async (
  request: ConsoleRequest,
  answer: (statement: StatementWire) => Promise<PageResult>,
): Promise<PageResult> => {
  const found = await request.call(statementRetrieve, { id: request.ids[0] })
  return found.ok ? answer(found.value) : refused(null, found.status, found.fault)
}

/** Make a statement FINAL. The hash is that of the statement that the page showed. */
const finalise = (request: ConsoleRequest): Promise<PageResult> =>
  withStatement(request, async statement => {
    const page = `${path}/${statement.id}`
    const { form: sent, call } = request
    let fault: Fault | null = null
    if (sent.has('hash')) {
      const body = { hash: sent.get('hash'), allow_incomplete: sent.has('allow_incomplete') }
      const done = await call(statementFinalise, { id: statement.id }, body)
      if (done.ok) return { to: `${page}?done=finalised` }
      fault = done.fault
    }
    return confirmPage(request, {
      title: 'Finalise statement',
      effects: html`<p>${money(statement.totals.gross, statement.currency_code)} for ${statement.start_date} to ${statement.end_date}. The statement then stays
unchanged. If late or corrected records change it, the next statement has a line that adjusts it.</p>${gapNotice(statement)}${warningNotices(statement.warnings, statement.location_timezone)}`,
      action: `${page}/finalise`,
      button: 'Finalise',
      back: page,
      typed: null,
      fault,
      hidden: { hash: statement.hash },
      ...(statement.complete
        ? {}
        : {
            inputs: html`<p><label><input type="checkbox" name="allow_incomplete"${sent.has('allow_incomplete') ? asMarkup(' checked') : null}>
Accept the gaps</label></p>`,
          }),
    })
  })

const voidStatement = (request: ConsoleRequest): Promise<PageResult> =>
  withStatement(request, async statement => {
    const page = `${path}/${statement.id}`
    const { form: sent, call } = request
    let fault = sent.has('confirm') ? confirmationFault(request, statement.start_date) : null
    if (sent.has('confirm') && fault === null) {
      const done = await call(statementVoid, { id: statement.id })
      if (done.ok) return { to: `${page}?done=voided` }
      fault = done.fault
    }
    return confirmPage(request, {
      title: 'Void statement',
      effects: html`<p>The statement of ${statement.start_date} to ${statement.end_date} becomes a draft. It is calculated again from the records, tariffs and
charges of today. The final amounts cannot be restored.</p>`,
      action: `${page}/void`,
      button: 'Void',
      back: page,
      typed: statement.start_date,
      fault,
    })
  })

export const statementRoutes: readonly ConsoleRoute[] = [
  getRoute(path, showStatements),
  getRoute(`${path}/:statement`, request => withStatement(request, statement => statementView(request, statement))),
  ...[getRoute, postRoute].flatMap(route => [
    route(`${path}/:statement/finalise`, finalise),
    route(`${path}/:statement/void`, voidStatement),
  ]),
]
