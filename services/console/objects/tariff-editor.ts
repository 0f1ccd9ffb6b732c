import type { DryRunWire } from '../../contract/dry-run.ts'
import { locationRetrieve } from '../../contract/registry/location.ts'
import { tariffRetrieve, tariffUpdate } from '../../contract/tariffs/tariff.ts'
import { type Content, type Html, html } from '../../web/ui-kit/html.ts'
import type { Fault } from '../api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute, postRoute } from '../console-request.ts'
import { counted, wholeNumber } from '../kit/amount.ts'
import { dryRunText, isRefused } from '../kit/checked-change.ts'
import { localText, readLocal, zoneOf } from '../kit/dates.ts'
import { objectTexts } from '../kit/object-text.ts'
import { form, type PageResult, type PageView } from '../page-frame.ts'
import { errorNotice, field, row, table } from '../page-parts.ts'
import { checkTariffs, createTariffs, type Made, type NewTariffCheck } from './new-tariffs.ts'
import { area } from './object-form.ts'
import { rowsOf, scheduleBody } from './schedule-rows.ts'
import { editorRows, maxRows, readRows } from './tariff-rows.ts'
import {
  checkTerms,
  firstRows,
  rowsPicture,
  sentTerms,
  type Terms,
  termChoices,
  withEmptyRows,
} from './tariff-terms.ts'

type Editor = {
  readonly title: string
  readonly action: string
  readonly back: string
  readonly save: string
  /** Inputs above the rows. */
  readonly inputs: Content
  readonly terms: Terms
  readonly currency: string
  /** Effects of a checked tariff; null before the check. */
  readonly effects: Content
  readonly isChecked: boolean
  /** The API would refuse the tariff, as `effects` says. */
  readonly isRefused: boolean
  readonly fault: Fault | null
}

/** Page with the rows of a tariff. A checked tariff has its picture, its effects and the button that saves it. */
const editorPage = ({ csrf }: ConsoleRequest, editor: Editor): PageView => {
  const { title, action, back, save, inputs, terms, currency, effects, isChecked, isRefused, fault } = editor
  const known = fault === null || !['schedule', 'locations'].includes(fault.field ?? '')
  return {
    title,
    status: fault === null ? 200 : 400,
    body: html`<h1>${title}</h1>${fault === null ? null : errorNotice(fault)}${form(
      csrf,
      action,
      html`${inputs}${editorRows(terms.rows, known ? null : fault)}
${isChecked ? html`<section aria-labelledby="picture"><h2 id="picture">These prices as a week</h2>${rowsPicture(terms.rows, terms.isMarket, currency)}</section><div class="lead">${effects}</div>` : null}
<div class="actions">${isChecked && !isRefused ? html`<button type="submit" name="do" value="save">${save}</button>` : null}
<button type="submit" name="do" value="check"${isChecked && !isRefused ? html` class="quiet"` : null}>Check prices</button>
<button type="submit" name="do" value="add" class="quiet">Add rows</button><a href="${back}">Cancel</a></div>`,
      'form wide',
    )}`,
  }
}

type Draft = Terms & {
  readonly locations: string
  readonly name: string
  readonly start: string
  readonly end: string
}

const sentDraft = ({ form: sent }: ConsoleRequest): Draft => {
  const text = (name: string): string => sent.get(name)?.trim() ?? ''
  return {
    locations: text('locations'),
    name: text('display_name'),
    start: text('start'),
    end: text('end'),
    ...sentTerms(sent),
  }
}

/** First draft: a copy of the tariff in `copy`, or an example. */
const firstDraft = async ({ call, query }: ConsoleRequest): Promise<Draft> => {
  const locations = query.get('location_id') ?? ''
  const example = { locations, name: '', start: '', end: '', isMarket: false, rows: firstRows }
  const copied = query.get('copy')
  const found = copied === null ? null : await call(tariffRetrieve, { id: copied })
  if (found?.ok !== true) return { ...example, direction: 'IMPORT', type: 'COMMODITY' }
  const { direction, type, display_name, market_rates: isMarket, schedule } = found.value
  return { ...example, direction, type, isMarket, name: display_name ?? '', rows: rowsOf(schedule, isMarket) }
}

const maxLocations = 100
const locationsOf = ({ locations }: Draft): readonly string[] => objectTexts(locations)

const newInputs = (draft: Draft, fault: Fault | null): Html => {
  const { locations, name, start, end } = draft
  return html`${area({ name: 'locations', label: 'Locations', hint: `One ID or reference per line, at most ${maxLocations}. Each gets this tariff.` }, locations, fault)}
${field('display_name', 'Name', { value: name })}
<div class="filter">${termChoices(draft)}
${field('start', 'Start, local time', { type: 'datetime-local', value: start })}
${field('end', 'End, local time', { type: 'datetime-local', value: end })}</div>
<p class="hint">A contract without start or end is open.</p>`
}

const madePage = (made: readonly Made[]): PageView => {
  const failed = made.filter(({ id }) => id === null).length
  return {
    title: 'Create tariffs',
    body: html`<h1>Create tariffs</h1><p class="notice ${failed === 0 ? 'good' : 'warn'}" role="status">Created: ${counted(made.length - failed, 'tariff')}. Not created: ${wholeNumber(failed)}.</p>${table(
      'Tariffs',
      ['Location', 'Tariff'],
      made.map(({ location, id, message }) =>
        row(
          html`<code>${location}</code>`,
          id === null
            ? html`<span class="tag bad">not created</span> ${message}`
            : html`<a href="/console/tariffs/${id}"><code>${id}</code></a>`,
        ),
      ),
      '',
    )}`,
  }
}

/** Create a tariff at one or many locations. */
const createTariff = async (request: ConsoleRequest): Promise<PageResult> => {
  const { form: sent } = request
  const draft = sent.has('csrf') ? sentDraft(request) : await firstDraft(request)
  const intent = sent.get('do') ?? ''
  const show = (fault: Fault | null, more: NewTariffCheck | null = null): PageView =>
    editorPage(request, {
      title: 'Create tariff',
      action: '/console/tariffs/new',
      back: '/console/tariffs',
      save: 'Create tariff',
      inputs: newInputs(draft, fault),
      fault,
      isChecked: more !== null,
      isRefused: more?.isRefused === true,
      terms: { ...draft, rows: withEmptyRows(draft.rows, intent === 'add' ? 6 : more === null ? 2 : 0) },
      currency: more?.currency ?? '',
      effects: more?.effects,
    })
  if (intent !== 'check' && intent !== 'save') return show(null)
  const locations = locationsOf(draft)
  if (locations.length === 0 || locations.length > maxLocations)
    return show({ code: 'field_invalid', message: `Enter 1 to ${maxLocations} locations.`, field: 'locations' })
  const { read, fault } = checkTerms(draft)
  if (fault !== null) return show(fault)
  const tariff = { ...draft, schedule: read.schedule }
  if (intent === 'check') return show(null, await checkTariffs(request, tariff, locations))
  const made = await createTariffs(request, tariff, locations)
  const [only] = made
  if (made.length > 1 || only === undefined) return madePage(made)
  return only.id === null
    ? show({ code: 'refused', message: only.message, field: null })
    : { to: `/console/tariffs/${only.id}?done=created` }
}

/** Change the prices of a tariff from an instant on. */
const changePrices = async (request: ConsoleRequest): Promise<PageResult> => {
  const { call, dryRun, ids, form: sent, at } = request
  const found = await call(tariffRetrieve, { id: ids[0] })
  if (!found.ok)
    return { title: 'Prices', status: found.status, body: html`<h1>Prices</h1>${errorNotice(found.fault)}` }
  const tariff = found.value
  const { direction, type, market_rates: isMarket, timezone } = tariff
  const zone = zoneOf(timezone)
  const path = `/console/tariffs/${tariff.id}`
  const rows = sent.has('csrf') ? readRows(sent) : rowsOf(tariff.schedule, isMarket)
  const intent = sent.get('do') ?? ''
  const from = sent.get('effective_from') ?? localText(zone, at)
  const location = await call(locationRetrieve, { id: tariff.location_id })
  const show = (fault: Fault | null, effect: DryRunWire | null = null): PageView =>
    editorPage(request, {
      title: `Prices of ${tariff.display_name ?? tariff.id}`,
      action: `${path}/prices`,
      back: path,
      save: 'Save prices',
      inputs: field('effective_from', `From (${timezone})`, {
        type: 'datetime-local',
        value: from,
        fault,
        hint: 'Prices before this time stay.',
        required: true,
      }),
      terms: { direction, type, isMarket, rows: withEmptyRows(rows, intent === 'add' ? 6 : effect === null ? 2 : 0) },
      currency: location.ok ? location.value.currency_code : '',
      fault,
      isChecked: effect !== null,
      ...(effect === null
        ? { effects: null, isRefused: false }
        : { effects: dryRunText(effect), isRefused: isRefused(effect) }),
    })
  if (rows.length > maxRows)
    return show({
      code: 'too_many_rows',
      message: `This page shows ${maxRows} rows. Change this tariff with the API.`,
      field: null,
    })
  if (intent !== 'check' && intent !== 'save') return show(null)
  const instant = readLocal(zone, from)
  if (instant === null)
    return show({ code: 'field_invalid', message: 'Enter a date and a time.', field: 'effective_from' })
  const { read, fault } = checkTerms({ direction, type, isMarket, rows })
  if (fault !== null) return show(fault)
  const body = { schedule: scheduleBody(read.schedule), effective_from: instant }
  if (intent === 'check') {
    const effect = await dryRun(tariffUpdate, { id: tariff.id }, body)
    return effect.ok ? show(null, effect.value) : show(effect.fault)
  }
  const changed = await call(tariffUpdate, { id: tariff.id }, body)
  return changed.ok ? { to: `${path}?done=saved` } : show(changed.fault)
}

/** Pages that create a tariff and change its prices. */
export const tariffEditorRoutes: readonly ConsoleRoute[] = [
  getRoute('/console/tariffs/new', createTariff),
  postRoute('/console/tariffs/new', createTariff),
  getRoute('/console/tariffs/:id/prices', changePrices),
  postRoute('/console/tariffs/:id/prices', changePrices),
]
