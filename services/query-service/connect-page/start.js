import { addressPages } from './address-pages.js'
import { post } from './call.js'
import { element } from './element.js'
import { summaryPages } from './summary-pages.js'
import { tariffPages } from './tariff-pages.js'

const pages = { ...addressPages, ...tariffPages, ...summaryPages }
const main = document.querySelector('main')
const back = document.querySelector('#back')
const close = document.querySelector('#close')
const footer = document.querySelector('#account')

let route = 'session_start'
let timer

const busy = isBusy => {
  main.setAttribute('aria-busy', String(isBusy))
  for (const button of document.querySelectorAll('button')) button.disabled = isBusy
}

/** Put the words of an error beside the field that it is about, else on top, and take the person there. */
const showError = error => {
  const form = main.querySelector('form') ?? main
  const id = 'error'
  for (const old of form.querySelectorAll('.error')) old.remove()
  for (const input of form.querySelectorAll('[aria-invalid]')) {
    input.removeAttribute('aria-invalid')
    input.removeAttribute('aria-errormessage')
  }
  const path = error.field ?? ''
  const named = [...form.querySelectorAll('[data-field]')].filter(
    one => path === one.dataset.field || path.endsWith(`.${one.dataset.field}`),
  )
  const byCode = [...form.querySelectorAll('[data-field]')].filter(one => error.code?.startsWith(`${one.dataset.field}_`))
  const input = named[0] ?? byCode[0]
  const words = error.requestId ? [error.message, element('small', {}, ` (${error.requestId})`)] : [error.message]
  const told = element('p', { class: 'error', role: 'alert', id }, ...words)
  if (input === undefined) form.prepend(told)
  else {
    input.setAttribute('aria-invalid', 'true')
    input.setAttribute('aria-errormessage', id)
    ;(input.closest('.field') ?? input).append(told)
    ;(input.matches('fieldset') ? input.querySelector('input') : input)?.focus()
  }
}

const take = async step => {
  clearTimeout(timer)
  busy(true)
  try {
    show(await post(step))
  } catch (error) {
    busy(false)
    if (main.querySelector('form') === null) showFailure(error)
    else showError(error)
  }
}

const act = action => take({ route, action })

const showFailure = error => {
  main.replaceChildren(
    element('h1', { tabindex: '-1' }, 'This page cannot be shown'),
    element('p', { role: 'alert' }, error.message),
    element('p', { class: 'hint' }, 'Go back to the app that brought you here and start again.'),
  )
}

const leave = ({ redirect_url: url, redirect_uri: uri, callback_url: callback, callback_uri: earlier }) => {
  const target = url ?? uri ?? callback ?? earlier
  main.replaceChildren(
    element('h1', { tabindex: '-1' }, 'You are being taken back'),
    element('p', {}, element('a', { href: target, rel: 'noreferrer' }, 'Go on')),
  )
  back.hidden = true
  close.hidden = true
  location.assign(target)
}

/** Show who asks: the logo of the account, its privacy notice and terms. They open beside the page, so that nothing typed is lost. */
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

const show = answer => {
  route = answer.route
  if (answer.account) showAccount(answer.account)
  const { data, actions } = answer
  if (route === 'session_redirect' || route === 'session_complete') return leave(data)
  const make = pages[route]
  if (make === undefined) return showFailure({ message: 'This step is not known here.' })
  const page = make(data, { act, actions })
  const form = element(
    'form',
    {
      novalidate: true,
      onsubmit: event => {
        event.preventDefault()
        const fault = page.fault?.()
        if (fault !== undefined) showError(fault)
        else if (page.read !== undefined) take({ route, data: page.read(form) })
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
  busy(false)
  title.focus()
  window.scrollTo(0, 0)
  if (page.again !== undefined) lookAgain(page.again)
}

/** Ask now and then whether the session has moved on by itself; a person who reads is left in peace until it has. */
const lookAgain = everyMs => {
  timer = setTimeout(async () => {
    const answer = await post({ route: 'session_start' }).catch(() => undefined)
    if (answer === undefined || answer.route === route) lookAgain(everyMs)
    else show(answer)
  }, everyMs)
}

back.addEventListener('click', () => act('BACK'))
close.addEventListener('click', () => act('CLOSE'))
take({ route: 'session_start', include_account: true })
