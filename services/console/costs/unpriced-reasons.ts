import { type TariffWire, tariffCreate, tariffList } from '../../contract/tariffs/tariff.ts'
import { type Html, html } from '../../web/ui-kit/html.ts'
import { type ConsoleRequest, mayDo } from '../console-request.ts'
import { errorNotice, instant } from '../page-parts.ts'

type UnpricedRecord = {
  readonly location_id: string
  readonly tariff_direction: 'IMPORT' | 'EXPORT' | 'LOCAL'
  readonly data: { readonly start_time: string; readonly end_time: string }
}

const energyNames = { IMPORT: 'bought energy', EXPORT: 'sold energy', LOCAL: 'own generation' } as const
const maxTariffs = 100

/** Say why a tariff gives a record no price. */
const reasonOf = (tariff: TariffWire, { data }: UnpricedRecord, zone: string): Html => {
  const name = html`<a href="/console/tariffs/${tariff.id}">${tariff.display_name ?? tariff.id}</a>`
  const { contract_start_date: start, contract_end_date: end, market_rates: isMarket } = tariff
  if (end !== null && Date.parse(end) <= Date.parse(data.start_time))
    return html`<li>${name} ended before, at ${instant(end, zone, 'minute')}.</li>`
  if (start !== null && Date.parse(start) >= Date.parse(data.end_time))
    return html`<li>${name} starts later, at ${instant(start, zone, 'minute')}.</li>`
  if (start !== null && Date.parse(start) > Date.parse(data.start_time))
    return html`<li>${name} covers only the time from ${instant(start, zone, 'minute')} on.</li>`
  if (end !== null && Date.parse(end) < Date.parse(data.end_time))
    return html`<li>${name} covers only the time until ${instant(end, zone, 'minute')}.</li>`
  return isMarket
    ? html`<li>${name} follows a market, and the market has no price for all of this time.</li>`
    : html`<li>${name} covers this time. If it was added just now, the record is priced soon.</li>`
}

/** Explain why a record has no price: a reason for each energy tariff of its location. */
export const unpricedReasons = async (request: ConsoleRequest, record: UnpricedRecord, zone: string): Promise<Html> => {
  const { location_id, tariff_direction: direction } = record
  const tariffs = await request.call(tariffList, { location_id, direction, type: 'COMMODITY', limit: maxTariffs })
  if (!tariffs.ok) return errorNotice(tariffs.fault)
  const reasons =
    tariffs.value.data.length === 0
      ? html`<p>The location has no tariff for ${energyNames[direction]}.
${mayDo(request, tariffCreate) ? html`<a href="/console/tariffs/new?location_id=${location_id}">Add a tariff</a>.` : null}</p>`
      : html`<ul>${tariffs.value.data.map(one => reasonOf(one, record, zone))}</ul>`
  return html`<section aria-labelledby="no-price"><h2 id="no-price">Why the record has no price</h2>
${reasons}<p>Each record needs a price for its whole time. A new or longer tariff prices the record automatically.</p></section>`
}
