import { describe, expect, it } from 'vitest'
import { fractionOf } from '../../../../services/domain/fraction.ts'
import {
  jsonSource,
  readFile,
  readSource,
  reasonsOf,
  scheduleLines,
} from '../../../support/interchange/read-tariffs.ts'

const grid = (periodOf: (month: number, hour: number) => number) =>
  Array.from({ length: 12 }, (_, month) => Array.from({ length: 24 }, (_, hour) => periodOf(month, hour)))
const night = grid((_, hour) => (hour < 8 ? 0 : 1))
const flat = { label: 'a1', name: 'Flat', energyratestructure: [[{ rate: 0.1, adj: 0.02, unit: 'kWh' }]] }
const read = (members: object, options = {}) => readFile('urdb', { ...flat, ...members }, options)
const linesOf = (members: object, options = {}) =>
  read(members, options).tariffs.map(({ terms }) => scheduleLines(terms.schedule))
const chargesOf = (members: object, options = {}) => read(members, options).charges.map(({ terms }) => terms)

describe('energy of a rate', () => {
  it('costs the exact sum of rate and adj; the last tier is open', () => {
    const tiers = [
      [
        { rate: 0.1, adj: 0.2, max: 500 },
        { rate: 0.1000000005, max: 1e38 },
      ],
    ]
    const file = read({ energyratestructure: tiers })
    // 0.1000000005 is a half: it becomes the even 0.1.
    expect(scheduleLines(file.tariffs[0]?.terms.schedule ?? [])).toEqual(['All All 0-24: 0.3 to 500; 0.1'])
    expect(file.noted.map(({ path }) => path)).toContain('/energyratestructure/0/1/max')
  })

  it('follows the schedules of weekdays and weekends by month', () => {
    const two = [[{ rate: 0.1 }], [{ rate: 0.3 }]]
    const weekend = grid(() => 0)
    expect(linesOf({ energyratestructure: two, energyweekdayschedule: night, energyweekendschedule: weekend })).toEqual(
      [['All Weekdays 0-8: 0.1', 'All Weekdays 8-24: 0.3', 'All Weekend 0-24: 0.1']],
    )
    expect(linesOf({ energyratestructure: two, energyweekdayschedule: night })).toEqual([
      ['All All 0-8: 0.1', 'All All 8-24: 0.3'],
    ])
    const summer = grid(month => (month === 6 ? 1 : 0))
    const [lines = []] = linesOf({ energyratestructure: two, energyweekdayschedule: summer })
    expect(lines[1]).toBe('Jul All 0-24: 0.3')
    expect(lines[0]).toMatch(/^Jan,.*Jun,Aug,.*Dec All 0-24: 0.1$/)
  })

  it.each([
    ['tier_unit', { energyratestructure: [[{ rate: 0.1, unit: 'kWh daily' }]] }, '/energyratestructure/0/0/unit'],
    ['tier_unit', { energyratestructure: [[{ rate: 0.1, unit: 'kWh/kW' }]] }, '/energyratestructure/0/0/unit'],
    ['tier_without_rate', { energyratestructure: [[{ unit: 'kWh' }]] }, '/energyratestructure'],
    ['period_missing', { energyweekdayschedule: night }, '/energyweekdayschedule'],
  ])('is not imported: %s', (reason, members, path) => {
    const file = read({ ...members, fixedmonthlycharge: 3 })
    expect(file.tariffs).toEqual([])
    expect(reasonsOf(file)).toContain(`${path} ${reason}`)
    expect(file.charges.map(({ terms }) => terms.kind)).toEqual(['FIXED'])
  })

  it('counts the tiers of all periods together, from the same months', () => {
    const tiers = [0.1, 0.3].map(rate => [{ rate, max: 500 }, { rate: rate + 0.5 }])
    expect(linesOf({ energyratestructure: tiers, energyweekdayschedule: night })).toEqual([
      ['All All 0-8: 0.1 to 500; 0.6', 'All All 8-24: 0.3 to 500; 0.8'],
    ])
  })

  it('without schedules has its only period at all times', () => {
    expect(linesOf({})).toEqual([['All All 0-24: 0.12']])
  })

  it('has the fuel adjustment of each month as a surcharge, with the surcharge and tax of the options', () => {
    const fuel = Array.from({ length: 12 }, (_, month) => (month === 0 ? 0.01 : 0))
    const options = { surcharge: fractionOf(2n, 100n), vat: fractionOf(1n, 4n) }
    const [lines = []] = linesOf({ fueladjustmentsmonthly: fuel }, options)
    expect(lines[0]).toBe('Jan All 0-24: 0.12+0.03+0.25')
    expect(lines[1]).toMatch(/Dec All 0-24: 0.12\+0.02\+0.25$/)
  })

  it('begins on the UTC date of startdate and ends after that of enddate, in local time', () => {
    const dates = { startdate: 1_633_068_000, enddate: 1_656_572_400 }
    const [tariff] = read(dates, { zone: 'America/Denver' }).tariffs
    expect(tariff?.terms.contractStart).toBe(Date.parse('2021-10-01T06:00:00Z'))
    expect(tariff?.terms.contractEnd).toBe(Date.parse('2022-07-01T06:00:00Z'))
  })

  it('begins at local midnight also if the file has the midnight of UTC', () => {
    const [tariff] = read({ startdate: 1_633_046_400 }, { zone: 'America/Denver' }).tariffs
    expect([tariff?.terms.contractStart, tariff?.terms.contractEnd]).toEqual([Date.parse('2021-10-01T06:00:00Z'), null])
  })

  it('has the name of the rate, and its label as the source id', () => {
    expect(read({}).tariffs).toMatchObject([{ name: 'Flat', sourceId: 'urdb:a1' }])
  })

  it('is one rate, or a list of items with pointers into it', () => {
    const rate = { ...flat, coincidentratestructure: [[{ rate: 2 }]] }
    const file = readFile('urdb', { items: [rate, { ...flat, label: 'a2' }] })
    expect(file.tariffs.map(({ sourceId }) => sourceId)).toEqual(['urdb:a1', 'urdb:a2'])
    expect(reasonsOf(file)).toEqual(['/items/0/coincidentratestructure coincident_peak'])
  })

  it('needs a location in USD', () => {
    const file = read({}, { currency: 'EUR' })
    expect([file.tariffs, reasonsOf(file)]).toEqual([[], [' currency']])
  })
})

describe('sell prices of a rate', () => {
  const sells = (dgrules: string | undefined, sell: number) =>
    read({ energyratestructure: [[{ rate: 0.1, sell }]], ...(dgrules === undefined ? {} : { dgrules }) })

  it.each(['Buy All Sell All', 'Net Billing Instantaneous', 'Net Billing Hourly'])('are paid under %s', rule => {
    const file = sells(rule, 0.04)
    expect(file.tariffs.map(({ terms }) => terms.direction)).toEqual(['IMPORT', 'EXPORT'])
    expect(scheduleLines(file.tariffs[1]?.terms.schedule ?? [])).toEqual(['All All 0-24: 0.04'])
    expect(reasonsOf(file)).toEqual(rule.endsWith('Hourly') ? ['/dgrules netting'] : [])
  })

  it('are not imported under other rules, unless they are 0', () => {
    expect(reasonsOf(sells('Net Metering', 0.04))).toEqual(['/energyratestructure/0/0/sell net_metering'])
    expect(reasonsOf(sells(undefined, 0.04))).toEqual(['/energyratestructure/0/0/sell net_metering'])
    expect(reasonsOf(sells(undefined, 0))).toEqual([])
  })

  it('are not imported if they depend on the tiers of import', () => {
    const tiers = [
      [
        { rate: 0.1, sell: 0.04, max: 100 },
        { rate: 0.2, sell: 0.05 },
      ],
    ]
    const file = read({ energyratestructure: tiers, dgrules: 'Buy All Sell All' })
    expect([file.tariffs.length, reasonsOf(file)]).toEqual([1, ['/energyratestructure/0/0/sell netting']])
  })
})

describe('fixed and minimum charges of a rate', () => {
  it.each([
    ['$/day', 'DAY'],
    ['$/month', 'MONTH'],
    ['$/year', 'YEAR'],
  ])('are charged in %s', (units, per) => {
    expect(chargesOf({ fixedchargefirstmeter: 5.71, fixedchargeunits: units })).toMatchObject([
      { kind: 'FIXED', price: 5_710_000_000n, per },
    ])
    expect(chargesOf({ mincharge: 20, minchargeunits: units })).toMatchObject([
      { kind: 'MINIMUM', amount: 20_000_000_000n, per },
    ])
  })

  it('have the units that the older names say, and the tax of the options', () => {
    const old = { fixedmonthlycharge: 4, minmonthlycharge: 7, annualmincharge: 90 }
    expect(chargesOf(old, { vat: fractionOf(1n, 4n) })).toMatchObject([
      { kind: 'FIXED', per: 'MONTH', price: 5_000_000_000n },
      { kind: 'MINIMUM', per: 'MONTH', amount: 8_750_000_000n },
      { kind: 'MINIMUM', per: 'YEAR', amount: 112_500_000_000n },
    ])
  })

  it('of 0 are noted, and other units are reported', () => {
    const file = read({ mincharge: 0, minchargeunits: '$/month', fixedchargefirstmeter: 2, fixedchargeunits: '$/ride' })
    expect(file.charges).toEqual([])
    expect(file.noted.map(({ path }) => path)).toEqual(expect.arrayContaining(['/mincharge', '/minchargeunits']))
    expect(reasonsOf(file)).toEqual(['/fixedchargefirstmeter unit', '/fixedchargeunits unit'])
  })
})

describe('demand of a rate', () => {
  it('is charged by month, with tiers', () => {
    const months = grid(month => (month < 6 ? 0 : 1)).map(([period]) => period)
    const tiers = [[{ rate: 3, adj: 1 }], [{ rate: 9, max: 100 }, { rate: 8 }]]
    expect(chargesOf({ flatdemandstructure: tiers, flatdemandmonths: months, demandwindow: 15 })).toMatchObject([
      {
        kind: 'DEMAND',
        price: 4_000_000_000n,
        intervalMinutes: 15,
        windows: [{ months: ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun'] }],
      },
      {
        price: null,
        tiers: [
          { to: 100_000_000_000n, price: 9_000_000_000n },
          { to: null, price: 8_000_000_000n },
        ],
      },
    ])
  })

  it('is charged by time, without a charge for a period of 0', () => {
    const rates = { demandratestructure: [[{ rate: 0 }], [{ rate: 12 }]], demandweekdayschedule: night }
    const charges = chargesOf({ ...rates, demandweekendschedule: grid(() => 0) })
    expect(charges).toMatchObject([
      {
        price: 12_000_000_000n,
        intervalMinutes: 60,
        windows: [{ months: [], days: ['Weekdays'], hours: [{ validFrom: 28_800, validTo: 86_400 }] }],
      },
    ])
  })

  it.each([
    ['of another unit', { flatdemandunit: 'kVA' }, '/flatdemandunit unit'],
    [
      'of another unit of a tier',
      { flatdemandstructure: [[{ rate: 3, unit: 'kW daily' }]] },
      '/flatdemandstructure/0/0/unit unit',
    ],
    ['of another interval', { demandwindow: 5 }, '/demandwindow unit'],
  ])('%s is not imported', (_, members, reason) => {
    const file = read({ flatdemandstructure: [[{ rate: 3 }]], ...members })
    expect([file.charges, file.tariffs.length]).toEqual([[], 1])
    expect(reasonsOf(file)).toContain(reason)
  })

  it('has a ratchet of one share and a number of months; others are reported', () => {
    const demand = { flatdemandstructure: [[{ rate: 3 }]] }
    const known = { lookbackpercent: 80, lookbackrange: 11 }
    expect(chargesOf({ ...demand, ...known })).toMatchObject([{ ratchet: { share: 800_000_000n, months: 11 } }])
    expect(reasonsOf(read({ ...demand, lookbackpercent: 0.8 }))).toEqual(['/lookbackpercent ratchet'])
    const shares = Array.from({ length: 12 }, (_, month) => (month < 6 ? 0.5 : 0.9))
    const changing = read({ ...demand, demandratchetpercentage: shares, lookbackrange: 11 })
    expect(reasonsOf(changing)).toContain('/demandratchetpercentage ratchet')
    const zeros = Array.from({ length: 12 }, () => 0)
    expect(reasonsOf(read({ ...demand, demandratchetpercentage: zeros, lookbackrange: 0 }))).toEqual([])
  })
})

describe('other members of a rate', () => {
  it.each([
    ['coincident_peak', { coincidentratestructure: [[{ rate: 2 }]] }],
    ['reactive_power', { demandreactivepowercharge: 0.3 }],
    ['no_charges', { fixedchargeeaaddl: 2 }],
    ['discount_by_attribute', { energyattrs: [{ senior: '5 %' }] }],
    ['discount_by_attribute', { demandattrs: [{ power: '0.25' }] }],
    ['discount_by_attribute', { fixedattrs: [{ senior: '$2.50' }] }],
  ])('are reported as %s', (reason, members) => {
    expect(reasonsOf(read(members))).toEqual([`/${Object.keys(members)[0]} ${reason}`])
  })

  it('without a price are noted', () => {
    const texts = { utility: 'U', peakkwcapacitymax: 30, eiaid: 1, revisions: [1], energyattrs: [{ senior: 'yes' }] }
    const file = read({ ...texts, coincidentratestructure: [[{ rate: 0 }]], approved: true })
    expect(file.notImported).toEqual([])
    expect(file.noted.map(({ path }) => path).sort()).toEqual(
      ['label', 'name', 'approved', 'coincidentratestructure', ...Object.keys(texts)].map(name => `/${name}`).sort(),
    )
  })
})

describe('a file with a fault', () => {
  it.each([
    ['a list', [], '/0'],
    [
      'the bulk download',
      [{ rateName: 'R', energyRateStrux: [{ energyRateTiers: [{ rate: 0.1 }] }] }],
      '/0/energyRateStrux',
    ],
    [
      'rows of the bulk download',
      [{ label: 'R', 'energyratestructure/period0/tier0rate': 0.1 }],
      '/0/energyratestructure~1period0~1tier0rate',
    ],
    ['a text as price', { energyratestructure: [[{ rate: '0.1' }]] }, '/energyratestructure/0/0/rate'],
    ['a short schedule', { ...flat, energyweekdayschedule: [[0]] }, '/energyweekdayschedule'],
    [
      'falling tiers',
      { energyratestructure: [[{ rate: 1, max: 5 }, { rate: 1, max: 4 }, { rate: 1 }]] },
      '/energyratestructure/0/1/max',
    ],
    ['a price above the limit', { energyratestructure: [[{ rate: 1e7 }]] }, '/energyratestructure/0/0/max'],
  ])('is refused: %s', (_, file, field) => {
    const refused = readSource('urdb', jsonSource(file))
    expect(refused.ok ? null : (refused.refusal.field ?? '')).toBe(field)
  })
})
