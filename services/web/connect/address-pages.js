import { areaOptions } from './areas.js'
import { choice, chosenIn, element, field, textInput } from './element.js'

const addressFields = [
  ['address_line1', 'Street and number', 'address-line1'],
  ['address_line2', 'Flat, building (optional)', 'address-line2'],
  ['post_code', 'Postcode', 'postal-code'],
  ['city', 'Town or city', 'address-level2'],
  ['state', 'State or province (if there is one)', 'address-level1'],
]

const countries = JSON.parse(document.querySelector('#countries').textContent)

const countrySelect = chosen => {
  const names = new Intl.DisplayNames(undefined, { type: 'region' })
  const all = countries.map(code => [code, names.of(code) ?? code]).sort(([, a], [, b]) => a.localeCompare(b))
  return element(
    'select',
    { autocomplete: 'country' },
    element('option', { value: '' }, 'Choose a country'),
    ...all.map(([code, name]) => element('option', { value: code, selected: code === chosen }, name)),
  )
}

const addressPage = ({ postal_address: known = {} }) => {
  const inputs = Object.fromEntries(
    addressFields.map(([name, , autocomplete]) => [name, textInput(known[name], { autocomplete })]),
  )
  const country = countrySelect((known.country_code ?? '').toUpperCase())
  return {
    title: 'Where is your electricity used?',
    text: 'Your address determines suppliers and prices.',
    fields: [
      ...addressFields.map(([name, label]) => field(label, inputs[name], { name })),
      field('Country', country, { name: 'country_code' }),
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
  return element('span', { class: 'sign', 'aria-hidden': 'true' }, letters.join('').toLocaleUpperCase() || '?')
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
  const search = textInput('', { type: 'search', placeholder: 'Search', autocomplete: 'off', spellcheck: 'false' })
  const countText = element('p', { class: 'hint', role: 'status' })
  const list = element('div', { class: 'scroll' })
  const showList = () => {
    const terms = search.value.toLowerCase().split(/\s+/).filter(Boolean)
    const matching = providers.filter(one => terms.every(word => one.display_name.toLowerCase().includes(word)))
    countText.textContent =
      matching.length > maxShown
        ? `${matching.length} suppliers. Enter a name to filter.`
        : `${matching.length} supplier${matching.length === 1 ? '' : 's'}`
    // The selected supplier is first, because the list is limited.
    const sorted = matching.toSorted((a, b) => Number(b.id === provider.id) - Number(a.id === provider.id))
    const options = sorted
      .slice(0, maxShown)
      .map(one => ({ value: one.id, title: one.display_name, picture: providerSign(one) }))
    list.replaceChildren(choice('Suppliers', 'provider', options, provider.id))
  }
  search.addEventListener('input', showList)
  showList()
  return {
    title: 'Who is your supplier?',
    fields: [
      field('Find your supplier', search),
      countText,
      list,
      element(
        'button',
        { type: 'button', class: 'link', onclick: () => sendAction('PROVIDER_MISSING') },
        'My supplier is not listed',
      ),
      element(
        'button',
        { type: 'button', class: 'link', onclick: () => sendAction('ADDRESS_CHANGE') },
        'Change address',
      ),
    ],
    read: form => ({ provider: { id: chosenIn(form, 'provider') } }),
  }
}

const providerNamePage = ({ provider = {} }) => {
  const name = textInput(provider.name ?? provider.display_name, { autocomplete: 'off' })
  return {
    title: 'What is your supplier called?',
    fields: [field('Name of the supplier', name, { name: 'name' })],
    read: () => ({ provider: { name: name.value } }),
  }
}

const tariffPage = ({ tariffs }, { act: sendAction }) => ({
  title: 'Which tariff do you have?',
  text: 'Your bill or contract shows the name of your tariff.',
  fields: [
    choice(
      'Tariffs',
      'tariff',
      tariffs.map(({ id, name, description }) => ({ value: id, title: name, text: description })),
    ),
    element(
      'button',
      { type: 'button', class: 'link', onclick: () => sendAction('TARIFF_MISSING') },
      'My tariff is not listed',
    ),
  ],
  read: form => ({ tariff: { id: chosenIn(form, 'tariff') } }),
})

const regionPage = ({ regions, region }) => ({
  title: 'Which market area are you in?',
  text: 'Prices differ between market areas. Your bill or your grid operator shows your area.',
  fields: [choice('Market areas', 'region', areaOptions(regions), region)],
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
