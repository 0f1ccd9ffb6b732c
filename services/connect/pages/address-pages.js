import { areaOptions } from './areas.js'
import { choice, chosenIn, element, field, textInput } from './element.js'
import { missingChoice, missingText } from './errors.js'
import { numberLabel } from './money.js'
import { locale, text } from './texts.js'

const addressFields = [
  ['address_line1', text('address.line1'), 'address-line1'],
  ['address_line2', text('address.line2'), 'address-line2'],
  ['post_code', text('address.post_code'), 'postal-code'],
  ['city', text('address.city'), 'address-level2'],
  ['state', text('address.state'), 'address-level1'],
]

const countries = JSON.parse(document.querySelector('#countries').textContent)

const countrySelect = chosen => {
  const names = new Intl.DisplayNames(locale, { type: 'region' })
  const all = countries.map(code => [code, names.of(code) ?? code]).sort(([, a], [, b]) => a.localeCompare(b, locale))
  return element(
    'select',
    { autocomplete: 'country' },
    element('option', { value: '' }, text('address.choose_country')),
    ...all.map(([code, name]) => element('option', { value: code, selected: code === chosen }, name)),
  )
}

const addressPage = ({ postal_address: known = {} }) => {
  const inputs = Object.fromEntries(
    addressFields.map(([name, , autocomplete]) => [name, textInput(known[name], { autocomplete })]),
  )
  const country = countrySelect((known.country_code ?? '').toUpperCase())
  return {
    title: text('address.title'),
    text: text('address.text'),
    fields: [
      ...addressFields.map(([name, label]) => field(label, inputs[name], { name })),
      field(text('address.country'), country, { name: 'country_code' }),
    ],
    faults: () => [
      ...['address_line1', 'post_code', 'city']
        .filter(name => inputs[name].value.trim() === '')
        .map(name => ({ field: name, message: text(`error.${name}`) })),
      ...(country.value === 'US' && inputs.state.value.trim() === ''
        ? [{ field: 'state', message: text('error.state') }]
        : []),
      ...(country.value === '' ? [{ field: 'country_code', message: text('error.country') }] : []),
    ],
    read: () => ({
      postal_address: {
        ...Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value.trim()])),
        country_code: country.value,
      },
    }),
  }
}

const initialsSign = name => {
  const letters = (name.match(/[\p{L}\p{N}]+/gu) ?? []).slice(0, 2).map(word => [...word][0])
  return element('span', { class: 'sign', 'aria-hidden': 'true' }, letters.join('').toLocaleUpperCase(locale) || '?')
}

/** Logo of a provider; initials until the logo is loaded. */
export const providerSign = ({ display_name: name, logo_url: logo }) => {
  if (!logo) return initialsSign(name)
  const picture = element('img', { class: 'sign', alt: '', referrerpolicy: 'no-referrer' })
  const initials = initialsSign(name)
  picture.addEventListener('load', () => initials.replaceWith(picture))
  picture.src = logo
  return initials
}

const maxShown = 60

const providerPage = ({ providers, provider = {} }, { act: sendAction }) => {
  const search = textInput('', {
    type: 'search',
    placeholder: text('supplier.search'),
    autocomplete: 'off',
    spellcheck: 'false',
  })
  const countText = element('p', { class: 'hint', role: 'status' })
  const list = element('div', { class: 'scroll' })
  const showList = () => {
    const terms = search.value.toLowerCase().split(/\s+/).filter(Boolean)
    const matching = providers.filter(one => terms.every(word => one.display_name.toLowerCase().includes(word)))
    countText.textContent =
      matching.length > maxShown
        ? text('supplier.too_many', { count: numberLabel(matching.length) })
        : text('supplier.count', { count: numberLabel(matching.length) })
    // The selected supplier is first, because the list is limited.
    const sorted = matching.toSorted((a, b) => Number(b.id === provider.id) - Number(a.id === provider.id))
    const options = sorted
      .slice(0, maxShown)
      .map(one => ({ value: one.id, title: one.display_name, picture: providerSign(one) }))
    list.replaceChildren(choice(text('supplier.list'), 'provider', options, provider.id))
  }
  search.addEventListener('input', showList)
  showList()
  return {
    title: text('supplier.title'),
    fields: [
      field(text('supplier.find'), search),
      countText,
      list,
      element(
        'button',
        { type: 'button', class: 'link', onclick: () => sendAction('PROVIDER_MISSING') },
        text('supplier.missing'),
      ),
      element(
        'button',
        { type: 'button', class: 'link', onclick: () => sendAction('ADDRESS_CHANGE') },
        text('address.change'),
      ),
    ],
    faults: form => missingChoice(form, 'provider', 'error.supplier'),
    read: form => ({ provider: { id: chosenIn(form, 'provider') } }),
  }
}

const providerNamePage = ({ provider = {} }) => {
  const name = textInput(provider.name ?? provider.display_name, { autocomplete: 'off' })
  return {
    title: text('supplier_name.title'),
    fields: [field(text('supplier_name.label'), name, { name: 'name' })],
    faults: () => missingText(name, 'name', 'error.supplier_name'),
    read: () => ({ provider: { name: name.value } }),
  }
}

const tariffPage = ({ tariffs }, { act: sendAction }) => ({
  title: text('library.title'),
  text: text('library.text'),
  fields: [
    choice(
      text('library.list'),
      'tariff',
      tariffs.map(({ id, name, description }) => ({ value: id, title: name, text: description })),
    ),
    element(
      'button',
      { type: 'button', class: 'link', onclick: () => sendAction('TARIFF_MISSING') },
      text('library.missing'),
    ),
  ],
  faults: form => missingChoice(form, 'tariff', 'error.tariff'),
  read: form => ({ tariff: { id: chosenIn(form, 'tariff') } }),
})

const regionPage = ({ regions, region }) => ({
  title: text('region.title'),
  text: text('region.text'),
  fields: [choice(text('region.list'), 'region', areaOptions(regions), region)],
  faults: form => missingChoice(form, 'region', 'error.region'),
  read: form => ({ region: chosenIn(form, 'region') || null }),
})

/** Pages for address, supplier and market area, by route. */
export const addressPages = {
  postal_address_capture: addressPage,
  provider_select: providerPage,
  provider_name_capture: providerNamePage,
  tariff_select: tariffPage,
  region_select: regionPage,
}
