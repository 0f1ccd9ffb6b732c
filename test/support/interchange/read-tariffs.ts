import { nearestName } from '../../../services/contract/message-text.ts'
import { fractionOf } from '../../../services/domain/fraction.ts'
import type { Result } from '../../../services/domain/refusal.ts'
import { readJsonSource } from '../../../services/interchange/contract/json-source.ts'
import { readTariffFile } from '../../../services/interchange/domain/read-tariff-file.ts'
import type { SourceValue } from '../../../services/interchange/domain/source-value.ts'
import type {
  ImportContext,
  ImportOptions,
  TariffFile,
  TariffFormat,
} from '../../../services/interchange/domain/tariff-file.ts'
import { timeZone as timeZoneOf } from '../../../services/platform/time-zone.ts'

/** Options of a test. `zone` and `currency` are those of the location. */
export type ReadOptions = Partial<ImportOptions> & {
  readonly zone?: string
  readonly currency?: string
  readonly hasCalendar?: boolean
}

const noOptions: ImportOptions = {
  validFrom: null,
  validTo: null,
  surcharge: fractionOf(0n),
  vat: 'NONE',
  type: null,
  group: null,
  codes: [],
  glns: [],
  payment: null,
  isStanding: false,
  isExport: false,
}

/** Parse a value as a JSON file. Throws if it is not JSON. */
export const jsonSource = (file: object | string): SourceValue => {
  const text = typeof file === 'string' ? file : JSON.stringify(file)
  const source = readJsonSource(new TextEncoder().encode(text))
  if (!source.ok) throw new Error(source.refusal.message)
  return source.value
}

/** Read a file of tariffs for a location. */
export const readSource = (
  format: TariffFormat,
  source: SourceValue,
  options: ReadOptions = {},
): Result<TariffFile> => {
  const { zone = 'UTC', currency = 'USD', hasCalendar = false, ...others } = options
  const timeZone = timeZoneOf(zone)
  if (timeZone === null) throw new Error(`${zone} is not a time zone`)
  const context: ImportContext = { currencyCode: currency, timeZone, hasCalendar, nearestName }
  return readTariffFile(format, source, context, { ...noOptions, ...others })
}

/** Read a file that must be accepted. */
export const readFile = (format: TariffFormat, file: object | string, options: ReadOptions = {}): TariffFile => {
  const read = readSource(format, jsonSource(file), options)
  if (!read.ok) throw new Error(`${read.refusal.code}: ${read.refusal.message}`)
  return read.value
}

/** Write a schedule as short texts: months, days and hours with the price and the bound of each tier. */
export const scheduleLines = (schedule: TariffFile['tariffs'][number]['terms']['schedule']): readonly string[] =>
  schedule.flatMap(({ months, daysAndHours }) =>
    daysAndHours.flatMap(({ days, hours }) =>
      hours.map(({ validFrom, validTo, rate }) => {
        const prices = rate.map(({ fixed, to, surchargeFixed, surchargePercentage }) => {
          const surcharges = [Number(surchargeFixed) / 1e9, Number(surchargePercentage) / 1e15]
          const more = surcharges.map(value => (value === 0 ? '' : `+${value}`))
          return `${Number(fixed) / 1e9}${more.join('')}${to === null ? '' : ` to ${Number(to) / 1e9}`}`
        })
        return `${months.join(',')} ${days.join(',')} ${validFrom / 3600}-${validTo / 3600}: ${prices.join('; ')}`
      }),
    ),
  )

/** List path and reason of the parts that are not imported. */
export const reasonsOf = ({ notImported }: TariffFile): readonly string[] =>
  notImported.map(({ path, reason }) => `${path} ${reason}`)
