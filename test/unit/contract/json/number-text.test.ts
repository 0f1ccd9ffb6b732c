import { describe } from 'vitest'
import { fields, integer, scaledDecimal } from '../../../../services/contract/field.ts'
import { isNumberText } from '../../../../services/contract/json/exact-number.ts'
import { parseJson, parseText } from '../../../../services/contract/json/strict-json.ts'
import { listParameters } from '../../../../services/contract/list.ts'
import { readReading } from '../../../../services/contract/metering/meter-cumulative.ts'
import { readMeterRecord } from '../../../../services/contract/metering/meter-record.ts'
import { readShape } from '../../../../services/contract/read-shape.ts'
import { readTariffTerms } from '../../../../services/contract/tariffs/read-tariff-terms.ts'
import { scheduleFrame } from '../../../../services/contract/tariffs/tariff-schedule.ts'
import { acceptedValue } from '../../../support/accepted-value.ts'
import { verifyNumberText } from '../../../support/exact/number-text.ts'

const at = Date.UTC(2026, 2, 1)
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const parsed = (json: string): unknown => {
  return acceptedValue(parseJson(bytesOf(json)))
}

const record = (value: string): string =>
  `{"location_id":"loc_0198c0ffee00112233445566","units":"WH","value":${value},"start_time":"2026-02-01T00:00:00Z","end_time":"2026-02-01T01:00:00Z"}`
const schedule = (rate: string): string =>
  `[{"months":["All"],"days_and_hours":[{"days":["All"],"hours":[{"valid_from":"00:00:00","valid_to":"00:00:00","rate":[{"fixed":${rate}}]}]}]}]`

const shape = fields({ price: scaledDecimal({ scale: 9, min: 0n, max: 10n ** 15n }) })
const whole = fields({ count: integer({ min: 0, max: 9 }) })

/** Inputs with a number text. Each function returns true if the input accepts the text. */
const inputs: readonly (readonly [string, (text: string) => boolean])[] = [
  ['a price', text => readShape(shape, parsed(`{"price":${text}}`), 'body').ok],
  ['a whole number', text => readShape(whole, parsed(`{"count":${text}}`), 'body').ok],
  ['the limit of a list', text => readShape(listParameters({}), { limit: text }, 'query').ok],
  [
    'a tariff rate',
    text => {
      const read = readShape(scheduleFrame, parsed(schedule(text)), 'body')
      const terms = {
        direction: 'IMPORT',
        type: 'COMMODITY',
        marketRates: false,
        contractStart: null,
        contractEnd: null,
      } as const
      return read.ok && readTariffTerms({ ...terms, schedule: read.value }).ok
    },
  ],
  [
    'the value of a record',
    text => {
      const element = parseText(bytesOf(record(text)), 1)
      return element.ok && readMeterRecord(element.value, 'current', at).ok
    },
  ],
  ['a register reading', text => readReading(parsed(`{"time":1757844000,"value":${text}}`), 'WH', at).ok],
  ['a number in a query', text => isNumberText(text)],
]

describe.each(inputs)('a number text as %s', (_, accepts) => verifyNumberText(accepts))
