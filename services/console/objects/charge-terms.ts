import { type Html, html } from '../../web/ui-kit/html.ts'
import { facts } from '../page-parts.ts'

/** Members that are facts of the page or of no use for people. */
const hiddenNames = new Set([
  'id',
  'object',
  'live_mode',
  'account_id',
  'time_created',
  'location_id',
  'plan_id',
  'sequence',
])

const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === false ||
  value === '' ||
  (Array.isArray(value) && value.length === 0)

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Write a value as people read it: numbers with their digits, steps as "from_kw 2: amount 206". */
const valueText = (value: unknown): string => {
  if (typeof value === 'string') return /^[A-Z_]+$/.test(value) ? value.toLowerCase().replaceAll('_', ' ') : value
  if (Array.isArray(value)) return value.slice(0, 50).map(valueText).join('; ')
  if (!isObject(value) || Object.getPrototypeOf(value) !== Object.prototype) return JSON.stringify(value) ?? ''
  return Object.entries(value)
    .filter(([, one]) => !isEmpty(one))
    .map(([name, one]) => `${nameText(name)} ${valueText(one)}`)
    .join(', ')
}

const nameText = (name: string): string =>
  name
    .replaceAll('_', ' ')
    .replace(/\bkw\b/, 'kW')
    .replace(/\bkwh\b/, 'kWh')

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** Show the terms of a charge that differ from none. `shown`: members that the page shows elsewhere. */
export const chargeTerms = (charge: object, shown: readonly string[] = []): Html =>
  html`${facts(
    ...Object.entries(charge)
      .filter(([name, value]) => !hiddenNames.has(name) && !shown.includes(name) && !isEmpty(value))
      .map(([name, value]) => [capitalised(nameText(name)), valueText(value)] as const),
  )}<details><summary>As JSON</summary><pre class="block" tabindex="0">${JSON.stringify(charge, null, 2)}</pre></details>`
