import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FeedFormatError } from '../../../../services/domain/market-feed/feed-price.ts'
import { entsoe } from '../../../../services/platform/market-feeds/entsoe.ts'
import { acknowledgement, publication, type SeriesDraft, settings } from './feed-samples.ts'

const zone = { area: 'DE-LU', currencyCode: 'EUR' }
const minuteMs = 60_000
const hourMs = 60 * minuteMs
const read = (text: string) => entsoe.read(text, zone, settings)
const day = { start: '2025-10-01T22:00Z', end: '2025-10-02T22:00Z' }
const start = Date.parse('2025-10-01T22:00:00Z')

/** Every price as [minutes after the start, length in minutes, 1e-9 per kWh]. */
const listed = (text: string, from = start) =>
  read(text).prices.map(price => [(price.start - from) / minuteMs, (price.end - price.start) / minuteMs, price.value])

describe('a publication of day-ahead prices', () => {
  it('gives EUR per MWh as 1e-9 per kWh, exactly: 196.99 EUR/MWh is 0.19699 EUR/kWh', () => {
    const points = { 1: '196.99', 2: '-0.01', 3: '0.000001', 4: '0' }
    expect(listed(publication({ ...day, end: '2025-10-01T23:00Z', points }))).toEqual([
      [0, 15, 196_990_000n],
      [15, 15, -10_000n],
      [30, 15, 1n],
      [45, 15, 0n],
    ])
  })

  it('repeats the previous price for a missing position of variable blocks, up to the end of the period', () => {
    const points = { 1: '10', 3: '30' }
    expect(listed(publication({ ...day, end: '2025-10-01T23:15Z', points })).map(([, , value]) => value)).toEqual([
      10_000_000n,
      10_000_000n,
      30_000_000n,
      30_000_000n,
      30_000_000n,
    ])
  })

  it('leaves a gap at a missing position of fixed blocks, and before the first position of variable blocks', () => {
    const hours = { ...day, end: '2025-10-02T01:00Z', resolution: 'PT60M' }
    expect(listed(publication({ ...hours, curve: 'A01', points: { 1: '1', 3: '3' } })).map(([at]) => at)).toEqual([
      0, 120,
    ])
    expect(listed(publication({ ...hours, points: { 2: '2' } })).map(([at]) => at)).toEqual([60, 120])
  })

  it('reads only the coupled auction, in any order of the document, also if it is missing', () => {
    const short = { ...day, end: '2025-10-01T22:15Z' }
    const early = { ...short, sequence: '2', points: { 1: '192.55' } }
    const coupled = { ...short, sequence: '1', points: { 1: '196.99' } }
    const intraday = { ...short, contract: 'A07', points: { 1: '5' } }
    expect(listed(publication(early, coupled, intraday))).toEqual([[0, 15, 196_990_000n]])
    expect(listed(publication(early, intraday))).toEqual([])
  })

  it('reads the prices in the currency of the source if a zone has two currencies', () => {
    const short = { ...day, end: '2025-10-01T22:15Z' }
    const other = { ...short, currency: 'PLN', points: { 1: '840' } }
    expect(listed(publication(other, { ...short, points: { 1: '196.99' } }))).toEqual([[0, 15, 196_990_000n]])
  })

  it('prefers the finer of two resolutions, and keeps the coarser one elsewhere', () => {
    const quarters = { ...day, end: '2025-10-01T22:30Z', points: { 1: '1', 2: '2' } }
    const hours = { ...day, end: '2025-10-02T00:00Z', resolution: 'PT60M', points: { 1: '60', 2: '61' } }
    const wanted = [
      [0, 15, 1_000_000n],
      [15, 15, 2_000_000n],
      [30, 30, 60_000_000n],
      [60, 60, 61_000_000n],
    ]
    expect(listed(publication(quarters, hours))).toEqual(wanted)
    expect(listed(publication(hours, quarters))).toEqual(wanted)
  })

  it.each([
    ['23', '2026-03-28T23:00Z', '2026-03-29T22:00Z'],
    ['25', '2026-10-24T22:00Z', '2026-10-25T23:00Z'],
  ])('covers a day of %s hours without gap or overlap', (hours, from, to) => {
    const points = Object.fromEntries(
      Array.from({ length: Number(hours) * 4 }, (_, index) => [index + 1, String(index)]),
    )
    const { prices } = read(publication({ start: from, end: to, points }))
    expect(prices).toHaveLength(Number(hours) * 4)
    expect(prices[0]?.start).toBe(Date.parse(from))
    expect(prices.at(-1)?.end).toBe(Date.parse(to))
    expect(prices.every((price, index) => index === 0 || price.start === prices[index - 1]?.end)).toBe(true)
  })

  it('returns the reason of an acknowledgement, without prices', () => {
    expect(read(acknowledgement('No matching data found for Data item'))).toEqual({
      prices: [],
      next: null,
      note: 'No matching data found for Data item',
    })
  })

  const one = { ...day, end: '2025-10-01T22:15Z', points: { 1: '1' } }
  it.each<readonly [string, string]>([
    ['text that is not XML', 'gateway time-out'],
    ['a cut document', publication(one).slice(0, -60)],
    ['another document', '<html><body>maintenance</body></html>'],
    ['another currency', publication({ ...one, currency: 'PLN' })],
    ['another unit', publication({ ...one, unit: 'MAW' })],
    ['an unknown resolution', publication({ ...one, resolution: 'PT7M' })],
    ['a position outside its period', publication({ ...one, points: { 2: '1' } })],
    ['a word for a price', publication({ ...one, points: { 1: 'n/e' } })],
    ['a price beyond all use', publication({ ...one, points: { 1: '1e12' } })],
    ['a time without zone', publication({ ...one, start: '2025-10-01T22:00' })],
    ['a period of no whole steps', publication({ ...one, end: '2025-10-01T22:20Z' })],
  ])('does not guess at %s', (_, text) => {
    expect(() => read(text)).toThrow(FeedFormatError)
  })

  it('resolves no declared entity', () => {
    const bomb = `<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "1"><!ENTITY c "&b;&b;">]>${publication(one).slice(38).replace('amount>1<', 'amount>&c;<')}`
    expect(() => read(bomb)).toThrow(FeedFormatError)
  })
})

describe('any curve', () => {
  const prices = fc.array(fc.integer({ min: -500_000, max: 4_000_000 }), { minLength: 1, maxLength: 100 })
  const decimal = (cents: number): string =>
    `${cents < 0 ? '-' : ''}${Math.floor(Math.abs(cents) / 100)}.${String(Math.abs(cents) % 100).padStart(2, '0')}`

  it('is returned unchanged, with repeats omitted or written', () => {
    fc.assert(
      fc.property(prices, fc.constantFrom(15, 30, 60), fc.boolean(), (cents, minutes, leavesOut) => {
        const published = cents.flatMap((price, index) =>
          leavesOut && price === cents[index - 1] ? [] : [[index + 1, decimal(price)] as const],
        )
        const end = new Date(start + cents.length * minutes * minuteMs).toISOString().replace(':00.000Z', 'Z')
        const draft: SeriesDraft = { ...day, end, resolution: `PT${minutes}M`, points: Object.fromEntries(published) }
        expect(listed(publication(draft))).toEqual(
          cents.map((price, index) => [index * minutes, minutes, BigInt(price) * 10_000n]),
        )
      }),
      { numRuns: 60 },
    )
  })

  it('of fixed blocks has exactly the positions that were sent', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 24 }), { minLength: 1 }), positions => {
        const points = Object.fromEntries(positions.map(position => [position, String(position)]))
        const found = read(publication({ ...day, curve: 'A01', resolution: 'PT60M', points })).prices
        expect(found.map(price => (price.start - start) / hourMs + 1)).toEqual(positions.toSorted((a, b) => a - b))
      }),
      { numRuns: 60 },
    )
  })
})

describe('the address of a request', () => {
  it('contains zone, interval in UTC and token', () => {
    const address = new URL(entsoe.urlOf(zone, { from: start, to: start + 24 * hourMs }, settings))
    expect(Object.fromEntries(address.searchParams)).toEqual({
      securityToken: 'token-of-the-tests',
      documentType: 'A44',
      in_Domain: '10Y1001A1001A82H',
      out_Domain: '10Y1001A1001A82H',
      periodStart: '202510012200',
      periodEnd: '202510022200',
    })
  })

  it('exists only with a token, for bidding zones, in the currency of their auction', () => {
    expect(entsoe.serves(zone, settings)).toBe(true)
    expect(entsoe.serves(zone, { ...settings, entsoeToken: null })).toBe(false)
    expect(entsoe.serves({ area: 'SE3', currencyCode: 'SEK' }, settings)).toBe(false)
    expect(entsoe.serves({ area: 'PJM', currencyCode: 'USD' }, settings)).toBe(false)
  })
})
