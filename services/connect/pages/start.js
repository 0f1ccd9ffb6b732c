import { addressPages } from './address-pages.js'
import { postStep } from './call.js'
import { element } from './element.js'
import { errorElement, showErrors, translateError } from './errors.js'
import { summaryPages } from './summary-pages.js'
import { tariffPages } from './tariff-pages.js'
import { text } from './texts.js'

const pages = { ...addressPages, ...tariffPages, ...summaryPages }
const main = document.querySelector('main')
const back = document.querySelector('#back')
const close = document.querySelector('#close')
const brand = document.querySelector('#brand')
const footer = document.querySelector('#account')
const notice = document.querySelector('#notice')

let route = 'session_start'
let pollTimer
let currency

const setBusy = isBusy => {
  main.setAttribute('aria-busy', String(isBusy))
  for (const button of document.querySelectorAll('button')) button.disabled = isBusy
}

const sendStep = async step => {
  clearTimeout(pollTimer)
  setBusy(true)
  try {
    showPage(await postStep(step))
    if (step.action === 'WRONG_TARIFF_REPORT') notice.textContent = text('summary.thanks')
  } catch (error) {
    setBusy(false)
    const form = main.querySelector('form')
    if (form === null) showFailure(error)
    else showErrors(form, [translateError(error, currency)])
  }
}

const sendAction = action => sendStep({ route, action })

const showFailure = error => {
  const isExpired = error.code === 'connect_token_invalid' || error.code === 'connect_token_missing'
  const title = text(isExpired ? 'expired.title' : 'unavailable.title')
  main.replaceChildren(
    element('h1', { tabindex: '-1' }, title),
    isExpired
      ? element('p', { role: 'alert' }, text('expired.text'))
      : errorElement(translateError(error), { role: 'alert' }),
  )
  document.title = title
}

const leavePage = ({ redirect_url: url, redirect_uri: uri, callback_url: callback, callback_uri: earlier }) => {
  const target = url ?? uri ?? callback ?? earlier
  main.replaceChildren(
    element('h1', { tabindex: '-1' }, text('redirect.title')),
    element('p', {}, element('a', { href: target, rel: 'noreferrer' }, text('redirect.link'))),
  )
  back.hidden = true
  close.hidden = true
  location.assign(target)
}

/** Show buttons and links in the colours of the account. */
const showBrandColor = ({ light, dark }) => {
  const { style, dataset } = document.documentElement
  style.setProperty('--brand', light)
  style.setProperty('--brand-dark', dark)
  dataset.brand = ''
}

/** Show the name and the logo of the account above each page. */
const showBrand = (name, logo) => {
  const picture = element('img', { alt: '', hidden: true })
  picture.addEventListener('load', () => {
    picture.hidden = false
  })
  if (logo) picture.src = logo
  brand.replaceChildren(picture, element('span', {}, name))
  brand.hidden = false
}

/** Show the brand, privacy notice and terms of the account. Links open in a new tab, so that the form is preserved. */
const showAccount = ({ display_name: name, privacy_url: privacy, terms_url: terms, logo_url: logo, brand_color }) => {
  if (brand_color) showBrandColor(brand_color)
  const links = [
    [text('page.privacy'), privacy],
    [text('page.terms'), terms],
  ].filter(([, href]) => href)
  if (logo || links.length > 0) showBrand(name, logo)
  footer.replaceChildren(
    ...links.map(([text, href]) => element('a', { href, target: '_blank', rel: 'noopener noreferrer' }, text)),
  )
  footer.hidden = links.length === 0
}

const showPage = answer => {
  route = answer.route
  if (answer.account) showAccount(answer.account)
  const { data, actions } = answer
  currency = data.currency_code
  notice.textContent = ''
  if (route === 'session_redirect' || route === 'session_complete') return leavePage(data)
  const createPage = pages[route]
  if (createPage === undefined) return showFailure({ message: `Unknown page ${route}` })
  const page = createPage(data, { act: sendAction, actions })
  const form = element(
    'form',
    {
      novalidate: true,
      onsubmit: event => {
        event.preventDefault()
        const faults = page.faults?.(form) ?? []
        if (faults.length > 0) showErrors(form, faults)
        else if (page.read !== undefined) void sendStep({ route, data: page.read(form) })
      },
    },
    ...page.fields,
    page.read === undefined ? null : element('button', { class: 'main' }, text('button.continue')),
  )
  const title = element('h1', { tabindex: '-1' }, page.title)
  main.replaceChildren(title, ...(page.text ? [element('p', {}, page.text)] : []), form)
  back.hidden = !actions.includes('BACK')
  close.hidden = !actions.includes('CLOSE')
  document.body.dataset.test = String(!answer.live_mode)
  document.title = page.title
  setBusy(false)
  title.focus()
  window.scrollTo(0, 0)
  if (page.again !== undefined) pollSession(page.again)
}

/** Poll the session and show its next page after the route has changed. */
const pollSession = intervalMs => {
  pollTimer = setTimeout(async () => {
    const answer = await postStep({ route: 'session_start' }).catch(() => undefined)
    if (answer === undefined || answer.route === route) pollSession(intervalMs)
    else showPage(answer)
  }, intervalMs)
}

for (const link of document.querySelectorAll('#languages a')) {
  const parameters = new URLSearchParams(location.search)
  parameters.set('lang', link.hreflang)
  link.href = `?${parameters}`
}

back.addEventListener('click', () => sendAction('BACK'))
close.addEventListener('click', () => sendAction('CLOSE'))
void sendStep({ route: 'session_start', include_account: true })
