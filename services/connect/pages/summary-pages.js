import { providerSign } from './address-pages.js'
import { priceChart } from './chart.js'
import { dateOf } from './dates.js'
import { element } from './element.js'
import { amountLabel, priceLabel } from './money.js'
import { locale, text, textIfKnown } from './texts.js'

const standingChargeText = ({ amount, per }, currency) =>
  `${amountLabel(amount, currency, per === 'DAY')} ${text(`standing.${per}`)}`

const tariffFacts = ({ tariff = {}, currency_code: currency, cost, standing_charge: standing }) => {
  const rows = [
    [text('summary.tariff'), tariff.name],
    [text('summary.type'), textIfKnown(`structure.${tariff.structure_type}`) ?? tariff.structure_type],
    [text('price.label'), cost === undefined ? undefined : priceLabel(cost, currency)],
    [text('summary.standing'), standing ? standingChargeText(standing, currency) : undefined],
    [text('summary.start'), tariff.contract_start_date ? dateOf(tariff.contract_start_date, locale) : undefined],
    [text('summary.end'), tariff.contract_end_date ? dateOf(tariff.contract_end_date, locale) : undefined],
    [text('summary.tiers'), tariff.tiered ? text('summary.tiers_text') : undefined],
  ].filter(([, value]) => value)
  return element(
    'dl',
    { class: 'facts' },
    ...rows.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]),
  )
}

const days = [
  ['yesterday', text('summary.yesterday')],
  ['today', text('summary.today')],
  ['tomorrow', text('summary.tomorrow')],
]

/** Prices of three days; null if the page shows a single price. */
const dayTabs = (rates, currency) => {
  if (rates === undefined) return null
  const knownDays = days.filter(([name]) => rates[name]?.length > 0)
  if (knownDays.length === 0) return element('p', { class: 'hint' }, text('summary.no_prices'))
  const panel = element('div', {})
  const buttons = knownDays.map(([name, title]) =>
    element('button', { type: 'button', class: 'tab', onclick: () => showDay(name) }, title),
  )
  const showDay = name => {
    panel.replaceChildren(priceChart(rates[name], currency, Date.now()))
    for (const [index, button] of buttons.entries())
      button.setAttribute('aria-pressed', String(knownDays[index][0] === name))
  }
  showDay(knownDays.some(([name]) => name === 'today') ? 'today' : knownDays[0][0])
  return element(
    'section',
    { 'aria-label': text('summary.prices') },
    element('div', { class: 'tabs' }, ...buttons),
    panel,
  )
}

const confirmations = { DISCONNECT: text('action.confirm_disconnect') }

const providerHeader = ({ provider }) =>
  provider
    ? element('div', { class: 'head' }, providerSign(provider), element('strong', {}, provider.display_name))
    : null

const actionButtons = (actions, names, sendAction, labels = {}) =>
  names
    .filter(name => actions.includes(name))
    .map((name, index) => {
      const runAction = () => {
        if (confirmations[name] === undefined || confirm(confirmations[name])) sendAction(name)
      }
      return element(
        'button',
        { type: 'button', class: index === 0 ? 'main' : 'second', onclick: runAction },
        labels[name] ?? text(`action.${name}`),
      )
    })

const summaryPage = (data, { act: sendAction, actions }) => ({
  title: actions.includes('SAVE') ? text('summary.confirm_title') : text('summary.title'),
  fields: [
    providerHeader(data),
    tariffFacts(data),
    dayTabs(data.rates, data.currency_code),
    ...actionButtons(actions, ['SAVE', 'CLOSE', 'EDIT', 'WRONG_TARIFF_REPORT', 'DISCONNECT'], sendAction),
  ],
})

const pendingPage = (data, { act: sendAction, actions }) => ({
  title: text('pending.title'),
  text: text('pending.text'),
  again: 5_000,
  // SAVE has the same effect as CLOSE here, because there is no tariff yet.
  fields: [
    providerHeader(data),
    ...actionButtons(actions, ['CLOSE', 'SAVE', 'EDIT', 'DISMISS_DIRECT', 'DISCONNECT'], sendAction, {
      SAVE: text('action.CLOSE'),
    }),
  ],
})

const failedPage = (data, { act: sendAction, actions }) => ({
  title: text('failed.title'),
  text: text('failed.text'),
  fields: [providerHeader(data), ...actionButtons(actions, ['EDIT', 'RECONNECT', 'CLOSE', 'DISCONNECT'], sendAction)],
})

/** Pages that end a session, by route. */
export const summaryPages = {
  tariffs_summary: summaryPage,
  tariff_summary: summaryPage,
  summary_fixed_confirm: summaryPage,
  summary_tou_confirm: summaryPage,
  tariff_connection_pending: pendingPage,
  tariff_connection_failed: failedPage,
  summary_tariff_inprogress: pendingPage,
  summary_tariff_failed: failedPage,
}
