import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readMeterRecord } from '../../services/contract/metering/meter-record.ts'
import { recordIdentityText } from '../../services/domain/identifier.ts'
import { timeZone } from '../../services/platform/time-zone.ts'
import { marketPrices } from './demo-tariffs.ts'
import { minLocations, planFleet, siteKinds } from './fleet.ts'
import { dayMs, type Period, periodUntil, type Reading } from './reading.ts'
import { recordOf } from './send-readings.ts'
import { siteReadings } from './site-readings.ts'

const start = Date.UTC(2025, 5, 15, 22)
const period: Period = { start, days: 2, end: start + 2 * dayMs }
const fleet = planFleet(100)
const simulate = (seed: number) => fleet.map(site => [...siteReadings(site, period, seed)])
const readings = simulate(1)

const groupedBy = (list: readonly Reading[], keyOf: (reading: Reading) => unknown): readonly (readonly Reading[])[] => [
  ...Map.groupBy(list, keyOf).values(),
]

describe('the period of a fleet', () => {
  it.each([
    ['2026-11-27T22:59:59Z', '2026-11-26T23:00:00Z', '2026-11-27T22:45:00Z'],
    ['2026-11-27T23:00:00Z', '2026-11-26T23:00:00Z', '2026-11-27T23:00:00Z'],
    ['2026-11-27T23:14:59Z', '2026-11-26T23:00:00Z', '2026-11-27T23:00:00Z'],
    ['2026-11-27T23:15:00Z', '2026-11-27T23:00:00Z', '2026-11-27T23:15:00Z'],
  ])('of one day begins at midnight and is not empty at %s', (now, from, to) => {
    const berlin = timeZone('Europe/Berlin')
    const period = berlin === null ? null : periodUntil(berlin, Date.parse(now), 1)
    expect(period).toEqual({ start: Date.parse(from), days: 1, end: Date.parse(to) })
  })
})

describe('the simulated fleet', () => {
  it('has the requested number of sites with unique names, of all kinds', () => {
    fc.assert(
      fc.property(fc.integer({ min: minLocations, max: 500 }), locations => {
        const sites = planFleet(locations)
        expect(sites).toHaveLength(locations)
        expect(new Set(sites.map(({ name }) => name)).size).toBe(locations)
        expect(new Set(sites.map(({ kind }) => kind)).size).toBe(siteKinds.length)
      }),
    )
  })

  it('has the same readings for the same seed, and different readings for another seed', () => {
    expect(JSON.stringify(simulate(1))).toBe(JSON.stringify(readings))
    expect(JSON.stringify(simulate(2))).not.toBe(JSON.stringify(readings))
    expect(marketPrices(period, 1)).toEqual(marketPrices(period, 1))
  })

  it('sends valid records without duplicates', () => {
    const identities = new Set<string>()
    let count = 0
    for (const [index, list] of readings.entries()) {
      const hex = (kind: string, number: number) => `${kind}_${String(index * 10 + number).padStart(24, '0')}`
      const deviceIds = new Map(
        ['battery', 'charger-1', 'charger-2', 'charger-3', 'charger-4'].map((name, number) => [
          name,
          hex('dev', number),
        ]),
      )
      const site = { locationId: hex('loc', 0), deviceIds }
      for (const reading of list) {
        const read = readMeterRecord(recordOf(reading, site, ' (2)'), 'current', period.start + 30 * dayMs)
        if (!read.ok) throw new Error(`${fleet[index]?.name}: ${read.refusal.message}`)
        identities.add(recordIdentityText({ ...read.value, accountId: 'acc_1', liveMode: false }))
        count += 1
      }
    }
    expect(identities.size).toBe(count)
    expect(count).toBeGreaterThan(20_000)
  })

  it('ends with the period, in the middle of a day', () => {
    const end = start + dayMs + 7 * 3_600_000
    const short = fleet.map(site => [...siteReadings(site, { ...period, end }, 1)])
    for (const [index, list] of short.entries()) {
      expect(list.every(reading => reading.end <= end)).toBe(true)
      expect(list).toEqual(readings[index]?.filter(reading => reading.end <= end))
    }
  })

  it('charges one car after the other at each charger', () => {
    const overlaps: Reading[] = []
    for (const list of readings) {
      for (const ofCharger of groupedBy(
        list.filter(({ session }) => session !== null),
        ({ device }) => device,
      )) {
        for (const [index, reading] of ofCharger.entries()) {
          if (reading.end <= reading.start || reading.start < (ofCharger[index - 1]?.end ?? period.start))
            overlaps.push(reading)
        }
      }
    }
    expect(overlaps).toEqual([])
  })

  it('never buys and sells at the same time with a solar roof, and never takes more from a battery than it has', () => {
    const wrong: unknown[] = []
    for (const [index, list] of readings.entries()) {
      if (fleet[index]?.kind !== 'solar') continue
      let chargeWh = 1_000
      for (const ofQuarter of groupedBy(list, ({ start }) => start)) {
        const bought = ofQuarter.some(({ tariff, device }) => tariff === 'IMPORT' && device === null)
        const sold = ofQuarter.some(({ tariff }) => tariff === 'EXPORT')
        for (const { device, flow, energyWh } of ofQuarter)
          if (device === 'battery') chargeWh += flow === 'INBOUND' ? energyWh : -energyWh
        if ((bought && sold) || chargeWh < 0 || chargeWh > 13_000) wrong.push({ bought, sold, chargeWh })
      }
    }
    expect(wrong).toEqual([])
  })
})
