import fc from 'fast-check'
import type { DemandCharge } from '../../../../services/domain/charge/charge.ts'
import type { ChargedDemand } from '../../../../services/domain/peak/planned-demand.ts'
import { recordDefaults } from '../../../../services/domain/record/record.ts'
import { type AmountPlan, planAmount } from '../../../../services/domain/schedule/amount.ts'
import { createMeteredEnergy, type MeteredRecord } from '../../../../services/domain/statement/metered-energy.ts'
import { createPricingPool } from '../../../../services/domain/tariff/pricing-pool.ts'
import { acceptedValue } from '../../../support/accepted-value.ts'
import { zoneOf } from '../../../support/oracle/zone.ts'
import { hourMs, marketOf, type Site, siteHours, siteStart, sites } from '../schedule/site.ts'

/** Energy stored before the plan: kWh in an interval. */
export type StoredEnergy = { readonly start: number; readonly end: number; readonly energy: bigint }

/** A site with charges for demand and stored energy. */
export type ChargedSite = {
  readonly site: Site
  readonly charges: readonly DemandCharge[]
  readonly stored: readonly StoredEnergy[]
}

/** A charge of the highest hour of the month, with other members if given. Money and power are in 1e-9. */
export const demandCharge = (more: Partial<DemandCharge> = {}): DemandCharge => ({
  id: 'chg_1',
  planId: null,
  name: 'Demand',
  component: 'demand',
  startDay: null,
  endDay: null,
  sequence: 0,
  counts: 'IMPORT',
  deviceIds: null,
  kind: 'DEMAND',
  intervalMinutes: 60,
  windows: [],
  highest: 1,
  hasDistinctDays: false,
  over: 'PERIOD',
  rollingMonths: 12,
  rolling: 'MEAN',
  monthFloor: 0n,
  ratchet: null,
  floor: 0n,
  above: 0n,
  rounding: null,
  history: [],
  price: 2_000_000_000n,
  tiers: null,
  steps: null,
  stepEdge: 'LOWER_INCLUSIVE',
  per: 'MONTH',
  yearBasis: 'MONTHS',
  prorate: 'DAYS',
  ...more,
})

const recordOf = ({ start, end, energy }: StoredEnergy): MeteredRecord => ({
  ...recordDefaults,
  locationId: 'loc_site',
  deviceId: null,
  energyFlowDirection: 'INBOUND',
  tariffDirection: 'IMPORT',
  start,
  end,
  energy,
  covered: [],
})

/** Return what a location has metered, and its charges. */
export const demandOf = (charges: readonly DemandCharge[], stored: readonly StoredEnergy[]): ChargedDemand => ({
  charges,
  context: {
    metered: createMeteredEnergy(stored.map(recordOf), {
      timeZone: zoneOf('UTC'),
      includesDevices: { IMPORT: true, EXPORT: true, LOCAL: true },
    }),
    calendar: null,
    pool: createPricingPool(),
    locationId: 'loc_site',
  },
})

/** Plan a site with its charges; null if the site has no plan. */
export const chargedPlan = ({ site, charges, stored }: ChargedSite): AmountPlan | null => {
  const result = planAmount(site, { ...marketOf(site), demand: demandOf(charges, stored) }, 0)
  return result.ok ? result.value : null
}

/** Plan a site with its charges, which is possible. */
export const plannedWith = (charged: ChargedSite): AmountPlan =>
  acceptedValue(
    planAmount(charged.site, { ...marketOf(charged.site), demand: demandOf(charged.charges, charged.stored) }, 0),
  )

/** Sum of cost and of the amounts of charges. */
export const sumOf = ({ cost, demand }: AmountPlan): number =>
  Number(cost + (demand?.charges ?? []).reduce((sum, { amount }) => sum + amount, 0n)) / 1e9

const storedEnergy = fc
  .array(
    fc.record({
      quarter: fc.integer({ min: -200, max: siteHours * 4 - 1 }),
      wattHours: fc.integer({ min: 1, max: 4000 }),
    }),
    { maxLength: 12 },
  )
  .map(all =>
    all.map(({ quarter, wattHours }): StoredEnergy => {
      const start = siteStart + (quarter * hourMs) / 4
      return { start, end: start + hourMs / 4, energy: BigInt(wattHours) * 1_000_000n }
    }),
  )

const window = fc.record({
  from: fc.integer({ min: 0, max: 23 }),
  to: fc.integer({ min: 0, max: 23 }),
  weight: fc.constantFrom(0, 500_000_000, 1_000_000_000),
})

/** Windows: some hours with a weight, then all others. */
const windows = window.map(({ from, to, weight }): DemandCharge['windows'] => [
  { months: [], dates: [], days: [], hours: [{ validFrom: from * 3600, validTo: to * 3600 }], weight },
  { months: [], dates: [], days: [], hours: [], weight: 1_000_000_000 },
])

const cents = (max: number) => fc.integer({ min: 0, max }).map(value => BigInt(value) * 10_000_000n)
const watts = (max: number) => fc.integer({ min: 0, max }).map(value => BigInt(value) * 1_000_000n)

/** Charges whose amount is a convex function of the highest interval. */
export const convexCharges = (minutes: number): fc.Arbitrary<Partial<DemandCharge>> =>
  fc
    .record({
      intervalMinutes: fc.constant(minutes),
      windows: fc.oneof(fc.constant([]), windows),
      floor: watts(6000),
      above: watts(3000),
      counts: fc.constantFrom('IMPORT', 'GROSS', 'NET_IMPORT'),
      tiers: fc.option(
        fc.tuple(watts(8000), cents(200), cents(800)).map(([to, price, rise]) => [
          { to: to + 1_000_000_000n, price },
          { to: null, price: price + rise },
        ]),
        { nil: null },
      ),
      price: cents(800),
    })
    .map(({ tiers, price, ...more }) => ({ ...more, tiers, price: tiers === null ? price : null }))

type SiteOptions = Parameters<typeof sites>[0]

/** Sites with charges. Sites without exports can use all counts. */
export const chargedSites = (
  charges: fc.Arbitrary<readonly Partial<DemandCharge>[]>,
  options: SiteOptions = {},
): fc.Arbitrary<ChargedSite> =>
  fc.tuple(sites(options), charges, storedEnergy).map(([site, terms, stored]) => ({
    site: { ...site, devices: site.devices.map(device => ({ ...device, direction: 'IMPORT' as const })) },
    charges: terms.map((more, index) => demandCharge({ ...more, id: `chg_${index}` })),
    stored,
  }))
