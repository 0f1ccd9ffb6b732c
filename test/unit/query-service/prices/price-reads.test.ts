import { describe, expect, it } from 'vitest'
import type { RequestedInterval } from '../../../../services/contract/prices/price-request.ts'
import { priceSeries } from '../../../../services/domain/price/price-series.ts'
import type { Location } from '../../../../services/domain/registry/location.ts'
import type { PendingTariff } from '../../../../services/domain/tariff/pending-tariff.ts'
import { createPricingPool } from '../../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../../services/domain/tariff/snapshot.ts'
import type { Tariff } from '../../../../services/domain/tariff/tariff.ts'
import { refuseSeries } from '../../../../services/query-service/prices/gather-prices.ts'
import { allDay, at, pricing, rate, tariff } from '../../../support/oracle/tables.ts'

const dayMs = 86_400_000
const start = at('2026-01-01T00:00:00Z')
const span: RequestedInterval = { start, end: start + dayMs, startOffset: 0, endOffset: 60, direction: 'IMPORT' }

const location = (more: Partial<Location>): Location => ({
  id: 'loc_1',
  accountId: 'acc_1',
  liveMode: false,
  referenceId: null,
  displayName: null,
  customerId: null,
  postalAddress: null,
  geoLocation: null,
  overrides: { timezone: null, currencyCode: null, importSourceId: null, exportSourceId: null },
  timezone: 'UTC',
  currencyCode: 'EUR',
  importSourceId: null,
  exportSourceId: null,
  calendarId: null,
  register: null,
  metadata: {},
  tariffs: [],
  pricingRevision: 0,
  createdAt: start,
  ...more,
})

/** Return the refusal of the prices of an interval, for the tariffs that a location has or had. */
const refusalOf = (
  tariffs: readonly Tariff[],
  more: Partial<Location> = {},
  apiVersion: 'current' | 'earlier' = 'current',
) => {
  const snapshot = compileSnapshot(pricing('Europe/Berlin', [...tariffs]), createPricingPool())
  const request = { direction: span.direction, start: span.start, end: span.end }
  const cachedPricing = {
    snapshot,
    accountId: 'acc_1',
    revision: 1,
    priceRevision: 0n,
    importSourceId: null,
    exportSourceId: null,
  }
  const gathered = { location: location(more), cachedPricing }
  const { elements, unpriced } = priceSeries(snapshot, request)
  return refuseSeries(gathered, { elements: elements.length, unpriced }, { interval: span, apiVersion, at: start })
}

const always = tariff(allDay(1))
const noon = start + dayMs / 2

describe('a series of prices', () => {
  it('covers all of its time, or all time after the start of the first contract', () => {
    expect(refusalOf([always])).toBe(null)
    expect(refusalOf([{ ...always, contractStart: noon }])).toBe(null)
    expect(refusalOf([{ ...always, contractEnd: noon }])).toBe(null)
  })

  it('is refused if a tariff is missing, and names the first such instant in the offset of the location', () => {
    const path = (apiVersion: 'current' | 'earlier') => refusalOf([], {}, apiVersion)?.message ?? ''
    expect(path('current')).toContain('post one to /tariffs with direction IMPORT')
    expect(path('earlier')).toContain('post one to /tariffs/elements with direction IMPORT')
    expect(refusalOf([{ ...always, contractStart: span.end }])?.code).toBe('no_tariff_connected')
    const closed = refusalOf([{ ...always, closedAt: noon }])
    expect([closed?.code, closed?.message]).toEqual([
      'no_tariff_connected',
      expect.stringContaining('at 2026-01-01T13:00:00+01:00'),
    ])
  })

  it('is refused with pending_connect while a tariff is pending', () => {
    const onTheirWay: readonly PendingTariff[] = [{ direction: 'IMPORT', type: 'COMMODITY', failingSince: null }]
    expect(refusalOf([], { pendingTariffs: onTheirWay })?.code).toBe('pending_connect')
    expect(refusalOf([{ ...always, closedAt: noon }], { pendingTariffs: onTheirWay })?.code).toBe('pending_connect')
    expect(refusalOf([always], { pendingTariffs: onTheirWay })).toBe(null)
  })

  it('is refused if the market has no price, even if later prices exist', () => {
    const market = { ...tariff(allDay([rate(0)]), { marketRates: true }), contractStart: noon }
    const refusal = refusalOf([market])
    expect([refusal?.code, refusal?.message]).toEqual([
      'no_price_data',
      expect.stringContaining('IMPORT at 2026-01-01T13:00:00+01:00'),
    ])
  })
})
