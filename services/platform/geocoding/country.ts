import countryToCurrency from 'country-to-currency'
import countries from 'i18n-iso-countries/index.js'

const currencies: Readonly<Record<string, string>> = countryToCurrency

/** Check if a text in capitals is an ISO 3166-1 alpha-2 code, or XK, the common code of Kosovo. */
export const isCountry = (code: string): boolean => /^[A-Z]{2}$/.test(code) && countries.isValid(code)

/** List the ISO 3166-1 alpha-2 codes of all countries. */
export const countryCodes = (): readonly string[] => Object.keys(countries.getAlpha2Codes())

/** Return the ISO 4217 code of the legal currency of a country; undefined if it has none. */
export const currencyOf = (country: string): string | undefined =>
  isCountry(country) ? currencies[country] : undefined

/**
 * Check if a text is the ISO 4217 code of a currency that is legal tender in some country today.
 * `Intl.supportedValuesOf('currency')` is not used: it lacks CHF and contains former currencies.
 */
export const isCurrency = (code: string): boolean => currenciesInUse.has(code)

const currenciesInUse: ReadonlySet<string> = new Set(
  Object.keys(currencies).flatMap(country => currencyOf(country) ?? []),
)
