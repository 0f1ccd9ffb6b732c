import countryToCurrency from 'country-to-currency'
import countries from 'i18n-iso-countries/index.js'

const currencies: Readonly<Record<string, string>> = countryToCurrency

/** Tell whether a text in capitals is an ISO 3166-1 alpha-2 code (or XK, which stands in for Kosovo everywhere). */
export const isCountry = (code: string): boolean => /^[A-Z]{2}$/.test(code) && countries.isValid(code)

/** List the ISO 3166-1 alpha-2 codes of all countries. */
export const countryCodes = (): readonly string[] => Object.keys(countries.getAlpha2Codes())

/** Give the ISO 4217 code of the currency that is legal tender in a country, or undefined if it has none. */
export const currencyOf = (country: string): string | undefined =>
  isCountry(country) ? currencies[country] : undefined

/**
 * Tell whether a text is the ISO 4217 code of a currency that is legal tender somewhere today.
 * `Intl.supportedValuesOf('currency')` is not asked: it leaves CHF out and keeps currencies that have ended.
 */
export const isCurrency = (code: string): boolean => currenciesInUse.has(code)

const currenciesInUse: ReadonlySet<string> = new Set(
  Object.keys(currencies).flatMap(country => currencyOf(country) ?? []),
)
