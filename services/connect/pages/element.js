/** Create an element with attributes and `on…` listeners. Children are elements or texts; null is omitted. */
export const element = (name, attributes = {}, ...children) => {
  const created = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue
    if (key.startsWith('on')) created.addEventListener(key.slice(2), value)
    else if (key === 'value') created.value = value
    else created.setAttribute(key, value === true ? '' : value)
  }
  created.append(...children.flat().filter(child => child !== null && child !== undefined))
  return created
}

const namespace = 'http://www.w3.org/2000/svg'

/** Create an SVG element. */
export const svgElement = (name, attributes = {}, ...children) => {
  const created = document.createElementNS(namespace, name)
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, String(value))
  created.append(...children)
  return created
}

let fieldCount = 0

/** Input with a label. `name` links an API error to the input. `unit` is shown after the input. */
export const field = (label, input, { name, hint, unit } = {}) => {
  fieldCount += 1
  const id = `field-${fieldCount}`
  input.id = id
  if (name !== undefined) input.dataset.field = name
  if (hint !== undefined) input.setAttribute('aria-describedby', `${id}-hint`)
  return element(
    'div',
    { class: 'field' },
    element('label', { for: id }, label),
    hint === undefined ? null : element('p', { class: 'hint', id: `${id}-hint` }, hint),
    unit === undefined
      ? input
      : element('div', { class: 'with-unit' }, input, element('span', { class: 'unit' }, unit)),
  )
}

export const textInput = (value, attributes = {}) =>
  element('input', { type: 'text', value: value ?? '', maxlength: 255, ...attributes })

export const numberInput = (value, attributes = {}) =>
  textInput(value, { inputmode: 'decimal', autocomplete: 'off', class: 'number', ...attributes })

/** Radio buttons for options {value, title, text?, picture?}. `isNamed`: the legend is visible. */
export const choice = (legend, name, options, chosen, isNamed = false) =>
  element(
    'fieldset',
    { class: 'choice', 'data-field': name },
    element('legend', { class: isNamed ? null : 'unseen' }, legend),
    ...options.map(({ value, title, text, picture }) =>
      element(
        'label',
        { class: 'option' },
        element('input', { type: 'radio', name, value, checked: value === chosen }),
        picture ?? null,
        element(
          'span',
          { class: 'option-text' },
          element('strong', {}, title),
          text ? element('small', {}, text) : null,
        ),
      ),
    ),
  )

/** Selected value of a choice; '' if none is selected. */
export const chosenIn = (form, name) => form.querySelector(`input[name="${name}"]:checked`)?.value ?? ''
