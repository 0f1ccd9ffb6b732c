import { intervalCost } from '../../contract/costs/energy-cost.ts'
import { numberText } from '../../contract/json/exact-number.ts'
import { accountOverviewRetrieve } from '../../contract/registry/account-overview.ts'
import { locationList, locationRetrieve } from '../../contract/registry/location.ts'
import { writeDate } from '../../domain/civil-date.ts'
import { referenceKinds } from '../../domain/reference.ts'
import { type Content, type Html, html } from '../../web/ui-kit/html.ts'
import type { ApiResult, Fault } from '../api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute } from '../console-request.ts'
import { energy, exactText, money, sumTexts } from '../kit/amount.ts'
import { curlBlock } from '../kit/api-requests.ts'
import { dataTable, withParameters } from '../kit/data-table.ts'
import { type DayRange, instantsOf, rangeFields, rangeLinks, rangeParameters, readRange, zoneOf } from '../kit/dates.ts'
import { firstRecord } from '../kit/first-requests.ts'
import { objectName } from '../kit/object-name.ts'
import { findObject } from '../kit/object-text.ts'
import { warningNotices } from '../kit/warning-notices.ts'
import type { PageResult, PageView } from '../page-frame.ts'
import { choice, errorNotice, facts, field } from '../page-parts.ts'
import {
  type CostUnit,
  type CostWire,
  costChart,
  costColumns,
  costText,
  costTotals,
  costUnits,
  uncertainFacts,
} from './cost-view.ts'

const directions = [
  ['IMPORT', 'Import'],
  ['EXPORT', 'Export'],
  ['LOCAL', 'Local generation'],
] as const

/** Longest ranges in days that a page shows by hour and by day. */
const maxDaysBy = { HOUR: 3, DAY: 62 } as const

const unitOf = (query: URLSearchParams, { start, end }: DayRange): CostUnit => {
  const requested = costUnits.find(([unit]) => unit === query.get('by'))?.[0]
  const days = end - start
  if (requested === 'HOUR' && days <= maxDaysBy.HOUR) return 'HOUR'
  if (requested === 'MONTH' || days > maxDaysBy.DAY) return 'MONTH'
  return requested === undefined && days === 1 ? 'HOUR' : 'DAY'
}

/** Time zones of objects by the last answers. They are guesses: each answer says its zone. */
const lastZones = new Map<string, string>()
const maxLastZones = 1_000
/** Maximum number of requests for a cost, if its zone changes between them. */
const maxAsks = 3

/** Cost of the requested days. The days are those of the zone of the answer. */
type RangeCost = { readonly cost: CostWire; readonly range: DayRange; readonly unit: CostUnit }

const zoneKey = ({ session }: ConsoleRequest, id: string, parameters: URLSearchParams): string =>
  [session.accountId, session.liveMode, id, parameters].join(' ')

/** Guess the zone of an object: that of its last answer, of the location itself, or of the newest location. */
const guessZone = async (request: ConsoleRequest, id: string, parameters: URLSearchParams): Promise<string> => {
  const last = lastZones.get(zoneKey(request, id, parameters))
  if (last !== undefined) return last
  const { call } = request
  const location = id.startsWith('loc_') ? await call(locationRetrieve, { id }) : null
  if (location?.ok === true) return location.value.timezone
  const newest = await call(locationList, { limit: 1 })
  return newest.ok ? (newest.value.data[0]?.timezone ?? 'UTC') : 'UTC'
}

/** Read the costs of the requested days. The zone decides when days start, so a wrong guess needs another request. */
const readCosts = async (
  request: ConsoleRequest,
  id: string,
  parameters: URLSearchParams,
): Promise<ApiResult<RangeCost>> => {
  const { call, query } = request
  const subject = zoneKey(request, id, parameters)
  let zone = await guessZone(request, id, parameters)
  for (let asks = 1; ; asks += 1) {
    const range = readRange(request, zoneOf(zone))
    const unit = unitOf(query, range)
    const asked = { id, aggregation: unit, ...Object.fromEntries(parameters) }
    const result = await call(intervalCost, asked, instantsOf(range))
    if (!result.ok) return result
    const cost = result.value
    lastZones.delete(subject)
    lastZones.set(subject, cost.location_timezone)
    for (const oldest of lastZones.keys()) {
      if (lastZones.size <= maxLastZones) break
      lastZones.delete(oldest)
    }
    if (cost.location_timezone === zone || asks === maxAsks) return { ok: true, value: { cost, range, unit } }
    zone = cost.location_timezone
  }
}

const filterForm = (request: ConsoleRequest, id: string, range: DayRange | null, unit: CostUnit): Html =>
  html`<form class="filter" method="get" action="/console/costs">
${field('object', 'Location, device, customer or account', { value: id, hint: 'ID or reference' })}
${range === null ? null : rangeFields(range)}
${choice('by', 'By', costUnits, unit)}
${choice('direction', 'Direction', directions, request.query.get('direction') ?? 'IMPORT')}
${field('currency', 'Currency', { value: request.query.get('currency') ?? '', hint: 'If there are several' })}
<button class="quiet" type="submit">Show</button></form>`

/** Costs that a page asks for. `parameters` select the direction, the currency and the location. */
type Asked = {
  readonly id: string
  readonly name: () => Content | Promise<Content>
  readonly parameters: URLSearchParams
}

const askedOf = (request: ConsoleRequest): Asked => {
  const { query, session } = request
  const requested = query.get('object')?.trim() ?? ''
  const id = requested === '' ? session.accountId : requested
  const parameters = new URLSearchParams({ tariff_direction: query.get('direction') ?? 'IMPORT' })
  for (const [name, value] of [
    ['currency_code', query.get('currency')],
    ['location_id', query.get('location')],
  ] as const)
    if (value) parameters.set(name, value)
  return { id, name: () => (requested === '' ? 'the account' : objectName(request, id)), parameters }
}

/** Show a link for each currency of the account, for objects with costs in several currencies. */
const currencyLinks = async (request: ConsoleRequest): Promise<Html> => {
  const overview = await request.call(accountOverviewRetrieve, {})
  if (!overview.ok) return errorNotice(overview.fault)
  const links = overview.value.currency_codes.map(
    currency => html`<a href="${withParameters(request, { currency })}">${currency}</a>`,
  )
  return html`<p class="lead">There are costs in several currencies. Choose one.</p>
<nav class="presets" aria-label="Currencies">${links}</nav>`
}

/** Explain why there are no costs. */
const refusalOf = async (request: ConsoleRequest, fault: Fault): Promise<Html> =>
  fault.code === 'currency_ambiguous' && !request.query.get('currency') ? currencyLinks(request) : errorNotice(fault)

/** Say whose records the costs include. */
const noteOf = ({ object_id: id, includes_devices: includesDevices, warning }: CostWire): Content => {
  if (includesDevices === undefined) return null
  const basis = includesDevices ? "the location's devices" : 'the location itself'
  const mixed = warning === undefined ? '' : ' Records of its devices are not included.'
  return id.startsWith('loc_')
    ? html`<p class="hint">Costs of the records of ${basis}.${mixed}</p>`
    : html`<p class="hint">Costs of the locations' own records. A location without own records counts those of its devices.</p>`
}

/** Sums, chart and table of costs. */
const costSection = (request: ConsoleRequest, id: string, { cost, range, unit }: RangeCost) => {
  const isEmpty = cost.data.every(({ records }) => numberText(records) === '0')
  const table = dataTable(request, {
    id: 'costs',
    label: 'Costs',
    columns: costColumns(request, cost, unit),
    items: cost.data,
    totals: costTotals(cost),
    empty: 'No costs in this period.',
    isCompact: true,
  })
  const total = sumTexts(cost.data.map(costText))
  const totalEnergy = sumTexts(cost.data.map(one => exactText(one.energy.value)))
  const content = html`${facts(
    ['Period', `${writeDate(range.start)} to ${writeDate(range.end - 1)} (${cost.location_timezone})`],
    ['Energy', html`<strong>${energy(totalEnergy)}</strong>`],
    ['Cost', html`<strong>${money(total, cost.currency_code)}</strong>`],
    ...uncertainFacts(cost),
  )}
${noteOf(cost)}${warningNotices(cost.warnings, cost.location_timezone)}${
  isEmpty
    ? html`<div class="empty"><p>No records in this period. Choose another period, or send records:</p>${curlBlock(firstRecord(/^loc_/.test(id) ? { location_id: id } : {}))}</div>`
    : html`${costChart(request, cost, unit, range)}${table.markup}`
}`
  return { tables: [table], content }
}

const path = '/console/costs'
const sumsPath = `${path}/sums`

/** Return the address of the part with the costs of some days; without days, of this month. */
export const costSumsPath = (
  query: URLSearchParams,
  days?: Pick<DayRange, 'start' | 'end'>,
  by: CostUnit = 'DAY',
): string =>
  withParameters({ path: sumsPath, query }, days === undefined ? {} : { ...rangeParameters(days.start, days.end), by })

/** Show the costs of an object by hour, day or month. */
const showCosts = async (request: ConsoleRequest): Promise<PageResult> => {
  const asked = askedOf(request)
  const object = await findObject(request, asked.id, referenceKinds)
  if (object.ok && object.value !== asked.id) return { to: withParameters(request, { object: object.value }) }
  const { id, parameters } = asked
  const addsUpLocations = id === request.session.accountId || id.startsWith('cus_')
  const isOnePage = request.query.has('csv') || request.query.has('whole')
  if (addsUpLocations && !isOnePage) return showFrame(request, asked)
  const [found, name] = await Promise.all([object.ok ? readCosts(request, id, parameters) : object, asked.name()])
  if (!found.ok) {
    const isChoice = found.fault.code === 'currency_ambiguous'
    return {
      title: 'Costs',
      status: isChoice ? 200 : found.status,
      body: html`<h1>Costs</h1>${filterForm(request, id, null, 'DAY')}${await refusalOf(request, found.fault)}`,
    }
  }
  const { range, unit } = found.value
  const { tables, content } = costSection(request, id, found.value)
  return {
    title: 'Costs',
    tables,
    body: html`<h1>Costs of ${name}</h1>
${rangeLinks(request, range)}${filterForm(request, id, range, unit)}${content}`,
  }
}

/** Show a page that loads its costs after it, because they add up the records of many locations. */
const showFrame = async (request: ConsoleRequest, { id, name, parameters }: Asked): Promise<PageView> => {
  const [zone, shownName] = await Promise.all([guessZone(request, id, parameters), name()])
  const range = readRange(request, zoneOf(zone))
  const unit = unitOf(request.query, range)
  const onePage = withParameters(request, { ...rangeParameters(range.start, range.end), by: unit, whole: '1' })
  return {
    title: 'Costs',
    body: html`<h1>Costs of ${shownName}</h1>
${rangeLinks(request, range)}${filterForm(request, id, range, unit)}
<div data-load="${costSumsPath(request.query, range, unit)}"><p class="empty">The records are added up. <a href="${onePage}">Load the costs with the page</a></p></div>`,
  }
}

/** Show the part of a page with its costs. Its links lead to the page. */
const showSums = async (part: ConsoleRequest): Promise<PageResult> => {
  const request = { ...part, path }
  const { id, parameters } = askedOf(request)
  const found = await readCosts(request, id, parameters)
  if (!found.ok) return { fragment: await refusalOf(request, found.fault), showsRequests: true }
  const { tables, content } = costSection(request, id, found.value)
  return { fragment: content, tables, showsRequests: true }
}

export const costRoutes: readonly ConsoleRoute[] = [getRoute(path, showCosts), getRoute(sumsPath, showSums)]
