import type { JsonNumber } from '../../contract/json/exact-number.ts'
import type { AnswerOf } from '../../contract/operation.ts'
import { priceAuditRetrieve } from '../../contract/prices/price-audit.ts'
import type { TariffWire } from '../../contract/tariffs/tariff.ts'
import { type Content, html } from '../../web/ui-kit/html.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { exactText, unitPrice, wholeNumber } from '../kit/amount.ts'
import { type Column, dataTable, type TableView } from '../kit/data-table.ts'
import { errorNotice, instant } from '../page-parts.ts'

type AuditElement = AnswerOf<typeof priceAuditRetrieve>['data'][number]

type PricedRecord = {
  readonly location_id: string
  readonly tariff_direction: string
  readonly currency_code: string
  readonly tariff_ids: readonly string[]
  readonly data: { readonly start_time: string; readonly end_time: string }
}

/** Column of a part of the price. */
const part = (
  key: string,
  name: string,
  currency: string,
  of: (breakdown: AuditElement['price_breakdown']) => JsonNumber,
): Column<AuditElement> => ({
  key,
  name,
  isNumber: true,
  text: one => exactText(of(one.price_breakdown)),
  show: one => unitPrice(of(one.price_breakdown), currency),
})

const columnsOf = (zone: string, currency: string): readonly Column<AuditElement>[] => [
  {
    key: 'valid_from',
    name: `From (${zone})`,
    text: one => one.valid_from,
    show: one => instant(one.valid_from, zone, 'minute'),
  },
  part('market', 'Market price', currency, ({ commodity }) => commodity.market),
  part('fixed', 'Fixed price', currency, ({ commodity }) => commodity.fixed),
  part('percentage', 'Percentage', currency, ({ commodity }) => commodity.percentage),
  part('grid', 'Grid fee', currency, ({ non_commodity }) => non_commodity.fixed),
  {
    key: 'tier_kwh',
    name: 'Tier',
    isNumber: true,
    text: one => exactText(one.price_breakdown.commodity.tier),
    show: ({ price_breakdown: { commodity } }) =>
      exactText(commodity.tier) === '0' ? 'first' : `from ${wholeNumber(commodity.tier)} kWh`,
  },
  part('total', 'Price now', currency, ({ total }) => total),
]

const tariffLink = (id: string, tariffs: readonly TariffWire[], at: string): Content => {
  const tariff = tariffs.find(one => one.id === id)
  return html`<li><a href="/console/tariffs/${id}?at=${encodeURIComponent(at)}">${tariff?.display_name ?? id}</a>${
    tariff === undefined
      ? ' (deleted)'
      : html` – ${tariff.type === 'COMMODITY' ? 'energy' : 'grid fee'}, status ${tariff.status.toLowerCase()}`
  }</li>`
}

/** Max prices of a record on its page. */
const maxParts = 200

/** Explain the prices of a record: its tariffs, and the parts of each price as the audit of prices has them. */
export const priceReasons = async (
  request: ConsoleRequest,
  record: PricedRecord,
  zone: string,
  tariffs: readonly TariffWire[],
): Promise<{ readonly content: Content; readonly table: TableView }> => {
  const { start_time, end_time } = record.data
  const end = start_time === end_time ? new Date(Date.parse(end_time) + 1_000).toISOString() : end_time
  const body = { start_time, end_time: end, tariff_direction: record.tariff_direction }
  const audit = await request.call(priceAuditRetrieve, { id: record.location_id }, body)
  const table = dataTable(request, {
    id: 'price-parts',
    label: 'Parts of the price',
    columns: columnsOf(zone, record.currency_code),
    items: audit.ok ? audit.value.data.slice(0, maxParts) : [],
    empty: 'No prices in this time.',
    isSortable: false,
    hasMore: audit.ok && audit.value.data.length > maxParts,
  })
  const content = html`<h3>Sources of the price</h3>
<ul>${record.tariff_ids.map(id => tariffLink(id, tariffs, start_time))}</ul>
${audit.ok ? table.markup : errorNotice(audit.fault)}
<p class="hint">A price is market price + fixed price + percentage + grid fee. With tiers, the price now is the price of the next energy
and can differ from the price of the record.</p>`
  return { content, table }
}
