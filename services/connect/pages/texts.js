const { language, locale: defaultLocale, texts } = JSON.parse(document.querySelector('#texts').textContent)

/** Locale of numbers, amounts and dates: that of the browser if it is of the same language as the page. */
export const locale =
  navigator.languages.find(tag => tag.split('-')[0] === language && tag !== language) ?? defaultLocale

/** Return the text of a key in the language of the page. `{name}` in a text is replaced with the value of `name`. */
export const text = (key, values = {}) => texts[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name]))

/** Return the text of a key; undefined if there is none. */
export const textIfKnown = key => texts[key]
