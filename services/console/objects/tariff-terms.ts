import { readTariffTerms } from '../../contract/tariffs/read-tariff-terms.ts'
import type { TariffWire } from '../../contract/tariffs/tariff.ts'
import { tariffDirections, tariffTypes } from '../../contract/tariffs/tariff-draft.ts'
import { type Content, type Html, html } from '../../web/ui-kit/html.ts'
import type { Fault } from '../api.ts'
import { choice } from '../page-parts.ts'
import { type ReadRows, type ScheduleRow, scheduleOf } from './schedule-rows.ts'
import { schedulePicture } from './tariff-picture.ts'
import { emptyRow, labelOf, maxRows, readRows } from './tariff-rows.ts'

/** Terms of a tariff as texts of inputs. */
export type Terms = {
  readonly direction: TariffWire['direction']
  readonly type: TariffWire['type']
  readonly isMarket: boolean
  readonly rows: readonly ScheduleRow[]
}

/** Values of selections with their texts. */
export const directionTexts = tariffDirections.map(one => [one, one.toLowerCase()] as const)
export const typeTexts = tariffTypes.map(one => [one, one === 'COMMODITY' ? 'energy' : 'grid fee'] as const)
const marketTexts = [['false', 'no'] as const, ['true', 'yes, plus the surcharges'] as const]

const oneOf = <const T extends string>(names: readonly T[], text: string | null, fallback: T): T =>
  names.find(name => name === text) ?? fallback

/** Read the terms of a form. */
export const sentTerms = (form: URLSearchParams): Terms => ({
  direction: oneOf(tariffDirections, form.get('direction'), 'IMPORT'),
  type: oneOf(tariffTypes, form.get('type'), 'COMMODITY'),
  isMarket: form.get('market') === 'true',
  rows: readRows(form),
})

/** Create the selections of direction, type and market price. Their names begin with `prefix`. */
export const termChoices = ({ direction, type, isMarket }: Terms, prefix = ''): Html =>
  html`${choice(`${prefix}direction`, 'Direction', directionTexts, direction)}${choice(`${prefix}type`, 'Type', typeTexts, type)}
${choice(`${prefix}market`, 'Market price', marketTexts, String(isMarket))}`

/** Rows of an example: a day price and a night price. */
export const firstRows: readonly ScheduleRow[] = [
  { ...emptyRow, months: 'All', days: 'All', valid_from: '06:00', valid_to: '22:00', fixed: '0.31' },
  { ...emptyRow, months: 'All', days: 'All', valid_from: '22:00', valid_to: '06:00', fixed: '0.24' },
]

/** Add empty rows, up to the maximum number of rows of a form. */
export const withEmptyRows = (rows: readonly ScheduleRow[], count: number): readonly ScheduleRow[] =>
  [...rows, ...Array.from({ length: count }, () => emptyRow)].slice(0, maxRows)

/** Check the terms as the API does. The fault names the row. */
export const checkTerms = ({ direction, type, isMarket, rows }: Terms): { read: ReadRows; fault: Fault | null } => {
  const read = scheduleOf(rows)
  const none = { contractStart: null, contractEnd: null }
  const result = readTariffTerms({ direction, type, marketRates: isMarket, ...none, schedule: read.schedule })
  if (result.ok) return { read, fault: null }
  const { code, message, field: path = '' } = result.refusal
  const number = read.rowAt(path)
  const named = message.replace(path, labelOf(path) ?? path)
  const text = `${named.charAt(0).toUpperCase()}${named.slice(1)}`
  return { read, fault: { code, message: number === null ? text : `Row ${number}: ${text}`, field: 'schedule' } }
}

/** Show the prices of rows as a week. */
export const rowsPicture = (rows: readonly ScheduleRow[], isMarket: boolean, currency: string): Content => {
  const wire = scheduleOf(rows).schedule.map(({ months, dates, days_and_hours }) => ({
    months: [...(months ?? ['All'])],
    dates: [...(dates ?? [])],
    days_and_hours: days_and_hours.map(({ days, hours }) => ({
      days: [...(days ?? ['All'])],
      hours: hours.map(({ rate, ...time }) => ({
        ...time,
        rate: rate.map(one => ({
          fixed: Number(one.fixed ?? 0),
          to_kwh: one.to_kwh === undefined ? null : Number(one.to_kwh),
          surcharge_fixed: Number(one.surcharge_fixed ?? 0),
          surcharge_percentage: Number(one.surcharge_percentage ?? 0),
        })),
      })),
    })),
  }))
  return schedulePicture(wire, isMarket, currency)
}
