import { providerSign } from './address-pages.js'
import { priceChart } from './chart.js'
import { dateOf } from './dates.js'
import { element } from './element.js'
import { priceLabel } from './money.js'

const structureTitles = {
  FIXED: 'Fixed price',
  TIME_OF_DAY: 'Time of day',
  MARKET: 'Market price',
  DYNAMIC: 'Variable price',
}

const tariffFacts = ({ tariff = {}, currency_code: currency, cost }) => {
  const rows = [
    ['Tariff', tariff.name],
    ['Type', structureTitles[tariff.structure_type] ?? tariff.structure_type],
    ['Price', cost === undefined ? undefined : priceLabel(cost, currency)],
    ['Contract start', tariff.contract_start_date ? dateOf(tariff.contract_start_date) : undefined],
    ['Contract end', tariff.contract_end_date ? dateOf(tariff.contract_end_date) : undefined],
    ['Tiers', tariff.tiered ? 'The price depends on your consumption. The lowest tier is shown.' : undefined],
  ].filter(([, value]) => value)
  return element(
    'dl',
    { class: 'facts' },
    ...rows.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]),
  )
}

const days = [
  ['yesterday', 'Yesterday'],
  ['today', 'Today'],
  ['tomorrow', 'Tomorrow'],
]

/** Prices of three days; null if the page shows a single price. */
const dayTabs = (rates, currency) => {
  if (rates === undefined) return null
  const knownDays = days.filter(([name]) => rates[name]?.length > 0)
  if (knownDays.length === 0) return element('p', { class: 'hint' }, 'No prices yet. Come back later.')
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
  return element('section', { 'aria-label': 'Prices' }, element('div', { class: 'tabs' }, ...buttons), panel)
}

const actionLabels = {
  CLOSE: 'Done',
  SAVE: 'Save tariff',
  EDIT: 'Change tariff',
  DISCONNECT: 'Disconnect',
  WRONG_TARIFF_REPORT: 'This is not my tariff',
  RECONNECT: 'Try again',
  DISMISS_DIRECT: 'Enter prices manually',
}

const confirmations = { DISCONNECT: 'Disconnect this tariff? Past costs do not change.' }

const providerHeader = ({ provider }) =>
  provider
    ? element('div', { class: 'head' }, providerSign(provider), element('strong', {}, provider.display_name))
    : null

const actionButtons = (actions, names, sendAction, labels = actionLabels) =>
  names
    .filter(name => actions.includes(name))
    .map((name, index) => {
      const runAction = () => {
        if (confirmations[name] === undefined || confirm(confirmations[name])) sendAction(name)
      }
      return element(
        'button',
        { type: 'button', class: index === 0 ? 'main' : 'second', onclick: runAction },
        labels[name],
      )
    })

const summaryPage = (data, { act: sendAction, actions }) => ({
  title: actions.includes('SAVE') ? 'Is this your tariff?' : 'Your tariff is connected',
  fields: [
    providerHeader(data),
    tariffFacts(data),
    dayTabs(data.rates, data.currency_code),
    ...actionButtons(actions, ['SAVE', 'CLOSE', 'EDIT', 'WRONG_TARIFF_REPORT', 'DISCONNECT'], sendAction),
  ],
})

const pendingPage = (data, { act: sendAction, actions }) => ({
  title: 'Waiting for your supplier',
  text: 'Your supplier is sending your prices. You can close this page.',
  again: 5_000,
  // SAVE has the same effect as CLOSE here, because there is no tariff yet.
  fields: [
    providerHeader(data),
    ...actionButtons(actions, ['CLOSE', 'SAVE', 'EDIT', 'DISMISS_DIRECT', 'DISCONNECT'], sendAction, {
      ...actionLabels,
      SAVE: actionLabels.CLOSE,
    }),
  ],
})

const failedPage = (data, { act: sendAction, actions }) => ({
  title: 'Your supplier did not send your prices',
  text: 'Change the tariff, or try again later.',
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
