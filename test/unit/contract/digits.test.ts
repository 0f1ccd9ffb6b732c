import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { writeCharge } from '../../../services/contract/charges/write-charge.ts'
import { parseJson } from '../../../services/contract/json/strict-json.ts'
import { marketPrices } from '../../../services/contract/markets/market-price.ts'
import { readShape } from '../../../services/contract/read-shape.ts'
import { rateToWire, readRates } from '../../../services/contract/tariffs/rate.ts'
import { feedPrice } from '../../../services/domain/market-feed/feed-price.ts'
import { readPriceCsv } from '../../../services/domain/market-feed/price-csv.ts'
import { formatDecimal, plusPercentage, timesPercentage } from '../../../services/domain/quantity.ts'
import { scheduleFromText, termsToText } from '../../../services/platform/postgres/pricing/tariff-row.ts'
import { acceptedValue } from '../../support/accepted-value.ts'
import { readChargeText } from '../../support/charges/read-charge-text.ts'
import { readFile } from '../../support/interchange/read-tariffs.ts'
import { divideHalfEven } from '../../support/oracle/exact.ts'

/** A fraction from -1 to 5 with at most 15 decimals, in 1e-15. */
const percentages = fc.oneof(
  fc.bigInt({ min: -(10n ** 15n), max: 5n * 10n ** 15n }),
  fc.bigInt({ min: -(10n ** 9n), max: 5n * 10n ** 9n }).map(nano => nano * 1_000_000n),
  fc.constantFrom(51_126_963_200_000n, 1n, -1n, 0n, 5n * 10n ** 15n, -(10n ** 15n)),
)
const unit = 10n ** 15n

const chargeOf = (rate: string) => readChargeText(`{"name":"t","kind":"PERCENTAGE","rate":${rate}}`)
const rateOf = (surcharge: string) => readRates([{ fixed: '0.1', surcharge_percentage: surcharge }], false, 'rate')

describe('a percentage', () => {
  it('is exact to 15 decimals in every amount', () => {
    const amounts = fc.oneof(
      fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n }),
      fc.bigInt({ min: -(10n ** 9n), max: 10n ** 9n }),
    )
    fc.assert(
      fc.property(amounts, percentages, (amount, percentage) => {
        expect(timesPercentage(amount, percentage)).toBe(divideHalfEven(amount * percentage, unit))
        expect(plusPercentage(amount, percentage)).toBe(divideHalfEven(amount * (unit + percentage), unit))
      }),
      { numRuns: 2_000 },
    )
  })

  it('is answered as it was sent: in a charge, in a rate, in a library tariff and in storage', () => {
    fc.assert(
      fc.property(percentages, percentage => {
        const text = formatDecimal(percentage, 15)
        const charge = acceptedValue(chargeOf(text))
        expect(charge).toMatchObject({ rate: percentage })
        expect(JSON.stringify(writeCharge(charge))).toContain(`"rate":${text},`)
        const rates = acceptedValue(rateOf(text))
        expect(rates[0]?.surchargePercentage).toBe(percentage)
        expect(JSON.stringify(rates.map(rateToWire))).toContain(`"surcharge_percentage":${text}}`)
        const hours = [{ validFrom: 0, validTo: 86_400, rate: rates }]
        const schedule = [{ months: ['All' as const], dates: [], daysAndHours: [{ days: ['All' as const], hours }] }]
        expect(scheduleFromText(termsToText(schedule))).toEqual(schedule)
      }),
    )
  })

  it('that an earlier release stored in 1e-9 keeps its value', () => {
    const rate = { fixed: '100000000', to: null, surchargeFixed: '0', surchargePercentage: '190000000' }
    const days = [{ days: ['All'], hours: [{ validFrom: 0, validTo: 86_400, rate: [rate] }] }]
    const text = JSON.stringify({ schedule: [{ months: ['All'], dates: [], daysAndHours: days }] })
    const [entry] = scheduleFromText(text)
    expect(entry?.daysAndHours[0]?.hours[0]?.rate[0]?.surchargePercentage).toBe(190_000_000_000_000n)
    expect(termsToText(entry === undefined ? [] : [entry])).toBe(text)
  })

  it.each([
    ['the rate of a charge', chargeOf, '0.', 15],
    ['a surcharge', rateOf, '0.', 15],
  ] as const)('has at most 15 decimals as a fraction: %s', (_, read, start, decimals) => {
    expect(read(`${start}${'1'.repeat(decimals)}`).ok).toBe(true)
    expect(read(`${start}${'1'.repeat(decimals + 1)}`)).toMatchObject({ refusal: { code: 'field_invalid' } })
  })
})

const time = '"start_time":"2026-01-01T00:00:00Z","end_time":"2026-01-01T01:00:00Z"'

/** Ways into a market source, each with the power of ten of its unit. */
const ways: readonly (readonly [string, number, (text: string) => bigint])[] = [
  [
    'PUT /markets/{id}/prices',
    0,
    text => {
      const body = acceptedValue(parseJson(new TextEncoder().encode(`[{${time},"value":${text}}]`)))
      const [price] = acceptedValue(readShape(marketPrices, body, 'body'))
      return price?.value ?? 0n
    },
  ],
  [
    'a CSV file of the command line',
    0,
    text => {
      const read = readPriceCsv(
        `start_time,end_time,value\n2026-01-01T00:00:00Z,2026-01-01T01:00:00Z,${text}`,
        'PER_KWH',
      )
      if (!read.ok) throw new Error(read.faults[0]?.message)
      return read.prices[0]?.value ?? 0n
    },
  ],
  ['a feed with prices per MWh', 3, text => feedPrice(text, 'PER_MWH')],
  [
    'the import of Octopus',
    2,
    text => {
      const rows = `{"valid_from":"2026-01-01T00:00:00Z","valid_to":"2026-01-01T01:00:00Z","value_exc_vat":${text}}`
      const { tariffs } = readFile('octopus', `{"results":[${rows}]}`, { currency: 'GBP' })
      return tariffs[0]?.marketPrices?.[0]?.value ?? 0n
    },
  ],
]

describe.each(ways)('a market price in %s', (_, power, read) => {
  it('is rounded half to even to 9 decimals, from up to 30', () => {
    const texts = fc.tuple(fc.integer({ min: -9_999, max: 9_999 }), fc.bigInt({ min: 0n, max: 10n ** 30n - 1n }))
    fc.assert(
      fc.property(texts, fc.integer({ min: 0, max: 30 }), ([whole, fraction], decimals) => {
        const digits = `${fraction}`.padStart(30, '0').slice(0, decimals)
        const text = `${whole}${digits === '' ? '' : `.${digits}`}`
        const units = BigInt(`${whole}${digits}`)
        expect(read(text)).toBe(divideHalfEven(units * 10n ** 9n, 10n ** BigInt(decimals + power)))
      }),
    )
  })

  it('of a program with floats is read: 8.03 / 1000', () => {
    expect(read(String(8.03 / 1000))).toBe(divideHalfEven(8_030_000n, 10n ** BigInt(power)))
  })

  it('has at most 30 decimals', () => {
    expect(read(`0.${'3'.repeat(30)}`)).toBeGreaterThan(0n)
    expect(() => read(`0.${'3'.repeat(31)}`)).toThrow(/30 decimals/)
  })
})
