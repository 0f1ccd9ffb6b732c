import { addressPages } from './address-pages.js'
import { postStep } from './call.js'
import { element } from './element.js'
import { summaryPages } from './summary-pages.js'
import { tariffPages } from './tariff-pages.js'

const pages = { ...addressPages, ...tariffPages, ...summaryPages }
const main = document.querySelector('main')
const back = document.querySelector('#back')
const close = document.querySelector('#close')
const footer = document.querySelector('#account')

let route = 'session_start'
let pollTimer

const setBusy = isBusy => {
  main.setAttribute('aria-busy', String(isBusy))
  for (const button of document.querySelectorAll('button')) button.disabled = isBusy
}

/** Show an error at its field and focus the field, or show it at the top of the form. */
const showError = error => {
  const form = main.querySelector('form') ?? main
  const id = 'error'
  for (const old of form.querySelectorAll('.error')) old.remove()
  for (const input of form.querySelectorAll('[aria-invalid]')) {
    input.removeAttribute('aria-invalid')
    input.removeAttribute('aria-errormessage')
  }
  const path = error.field ?? ''
  const namedFields = [...form.querySelectorAll('[data-field]')].filter(
    one => path === one.dataset.field || path.endsWith(`.${one.dataset.field}`),
  )
  const fieldsByCode = [...form.querySelectorAll('[data-field]')].filter(one =>
    error.code?.startsWith(`${one.dataset.field}_`),
  )
  const input = namedFields[0] ?? fieldsByCode[0]
  const errorContent = error.requestId
    ? [error.message, element('small', {}, ` (${error.requestId})`)]
    : [error.message]
  const errorElement = element('p', { class: 'error', role: 'alert', id }, ...errorContent)
  if (input === undefined) form.prepend(errorElement)
  else {
    input.setAttribute('aria-invalid', 'true')
    input.setAttribute('aria-errormessage', id)
    ;(input.closest('.field') ?? input).append(errorElement)
    ;(input.matches('fieldset') ? input.querySelector('input') : input)?.focus()
  }
}

const sendStep = async step => {
  clearTimeout(pollTimer)
  setBusy(true)
  try {
    showPage(await postStep(step))
  } catch (error) {
    setBusy(false)
    if (main.querySelector('form') === null) showFailure(error)
    else showError(error)
  }
}

const sendAction = action => sendStep({ route, action })

const showFailure = error => {
  main.replaceChildren(
    element('h1', { tabindex: '-1' }, 'Connect is unavailable'),
    element('p', { role: 'alert' }, error.message),
    element('p', { class: 'hint' }, 'Go back to the app and start again.'),
  )
}

const leavePage = ({ redirect_url: url, redirect_uri: uri, callback_url: callback, callback_uri: earlier }) => {
  const target = url ?? uri ?? callback ?? earlier
  main.replaceChildren(
    element('h1', { tabindex: '-1' }, 'Redirecting…'),
    element('p', {}, element('a', { href: target, rel: 'noreferrer' }, 'Continue')),
  )
  back.hidden = true
  close.hidden = true
  location.assign(target)
}

/** Show the logo, privacy notice and terms of the account. Links open in a new tab, so that the form is preserved. */
const showAccount = ({ display_name: name, privacy_url: privacy, terms_url: terms, logo_url: logo }) => {
  const links = [
    ['Privacy notice', privacy],
    ['Terms', terms],
  ].filter(([, href]) => href)
  if (!logo && links.length === 0) return
  const picture = element('img', { alt: '', hidden: true })
  picture.addEventListener('load', () => {
    picture.hidden = false
  })
  if (logo) picture.src = logo
  footer.replaceChildren(
    ...(logo ? [picture] : []),
    element('span', {}, name),
    ...links.map(([text, href]) => element('a', { href, target: '_blank', rel: 'noopener noreferrer' }, text)),
  )
  footer.hidden = false
}

const showPage = answer => {
  route = answer.route
  if (answer.account) showAccount(answer.account)
  const { data, actions } = answer
  if (route === 'session_redirect' || route === 'session_complete') return leavePage(data)
  const createPage = pages[route]
  if (createPage === undefined) return showFailure({ message: 'This page does not support the current step.' })
  const page = createPage(data, { act: sendAction, actions })
  const form = element(
    'form',
    {
      novalidate: true,
      onsubmit: event => {
        event.preventDefault()
        const fault = page.fault?.()
        if (fault !== undefined) showError(fault)
        else if (page.read !== undefined) void sendStep({ route, data: page.read(form) })
      },
    },
    ...page.fields,
    page.read === undefined ? null : element('button', { class: 'main' }, 'Continue'),
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

back.addEventListener('click', () => sendAction('BACK'))
close.addEventListener('click', () => sendAction('CLOSE'))
void sendStep({ route: 'session_start', include_account: true })
