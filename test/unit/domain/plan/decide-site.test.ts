import { describe, expect, it } from 'vitest'
import { dayNumber } from '../../../../services/domain/civil-date.ts'
import {
  decideSite,
  isUnchanged,
  refuseOverlap,
  type Site,
  type SiteChanges,
} from '../../../../services/domain/plan/decide-site.ts'
import { derivedTariffs } from '../../../../services/domain/plan/derived-objects.ts'
import {
  type PlanAssignment,
  type PlanCharge,
  type PlanTariff,
  type PlanVersion,
  versionDays,
} from '../../../../services/domain/plan/plan.ts'
import { timeZone } from '../../../../services/platform/time-zone.ts'
import { seededRandom } from '../../../support/random.ts'

const zoneOf = (name: string) => {
  const zone = timeZone(name)
  if (zone === null) throw new Error(`no zone ${name}`)
  return zone
}
const berlin = zoneOf('Europe/Berlin')
const day = (year: number, month: number, date = 1): number => dayNumber(year, month, date)
const at = (text: string): number => Date.parse(text)

const commodity = (key: string, more: Partial<PlanTariff> = {}): PlanTariff => ({
  key,
  direction: 'IMPORT',
  type: 'COMMODITY',
  marketRates: false,
  specialDays: [],
  ...more,
})
const charge = (key: string, more: Partial<PlanCharge> = {}): PlanCharge => ({
  hasSchedule: false,
  key,
  startDay: null,
  endDay: null,
  specialDays: [],
  ...more,
})
const version = (number: number, startDay: number | null, more: Partial<PlanVersion> = {}): PlanVersion => ({
  version: number,
  startDay,
  tariffs: [commodity(`t${number}`)],
  charges: [charge(`c${number}`)],
  ...more,
})
const emptySite: Site = {
  locationId: 'loc_1',
  zone: berlin,
  currencyCode: 'EUR',
  importCurrency: null,
  exportCurrency: null,
  calendar: null,
  tariffs: [],
  charges: [],
  otherCharges: 0,
}
const since2026: PlanAssignment = { id: 'pla_1', startDay: day(2026, 1), endDay: null }
const planOf = (...versions: readonly PlanVersion[]) => ({ currencyCode: 'EUR', versions })

const accept = (...words: Parameters<typeof decideSite>): SiteChanges => {
  const decided = decideSite(...words)
  if (!decided.ok) throw new Error(decided.refusal.message)
  return decided.value
}
const refusalOf = (...words: Parameters<typeof decideSite>) => {
  const decided = decideSite(...words)
  return decided.ok ? null : decided.refusal.code
}

/** Return the location after its changes, as the store has it. */
const afterChanges = (site: Site, { tariffs, charges }: SiteChanges): Site => {
  const gone = new Set([...tariffs.removed, ...tariffs.moved.map(one => one.before)].map(one => one.tariff.id))
  const next = [...tariffs.created, ...tariffs.moved.map(one => one.after)].map(
    ({ tariff, assignmentId, version: number, key, contractStart, contractEnd }) => ({
      origin: { assignmentId, version: number, key },
      tariff: {
        id: `trf ${assignmentId} ${number} ${key}`,
        direction: tariff.direction,
        type: tariff.type,
        marketRates: false,
        contractStart,
        contractEnd,
        closedAt: null,
        schedule: [],
      },
    }),
  )
  const goneCharges = new Set([...charges.removed, ...charges.moved.map(one => one.before)].map(({ id }) => id))
  const nextCharges = [...charges.created, ...charges.moved.map(one => one.after)].map(one => ({
    ...one,
    id: `chg ${one.assignmentId} ${one.version} ${one.key}`,
  }))
  return {
    ...site,
    tariffs: [...site.tariffs.filter(({ tariff }) => !gone.has(tariff.id)), ...next],
    charges: [...site.charges.filter(({ id }) => !goneCharges.has(id)), ...nextCharges],
  }
}

describe('the tariffs of an assignment', () => {
  it('have contract dates at local midnight, and a version ends where the next one starts', () => {
    const { tariffs, charges, prices } = accept(
      planOf(version(1, null), version(2, day(2026, 7))),
      [since2026],
      emptySite,
    )
    // Berlin is 1 hour ahead of UTC in winter and 2 hours in summer.
    expect(tariffs.created.map(one => [one.version, one.contractStart, one.contractEnd])).toEqual([
      [1, at('2025-12-31T23:00:00Z'), at('2026-06-30T22:00:00Z')],
      [2, at('2026-06-30T22:00:00Z'), null],
    ])
    expect(charges.created.map(one => [one.version, one.startDay, one.endDay])).toEqual([
      [1, day(2026, 1), day(2026, 7)],
      [2, day(2026, 7), null],
    ])
    expect(prices).toEqual([{ direction: 'IMPORT', from: at('2025-12-31T23:00:00Z'), to: null }])
  })

  it('start at the first instant of a day without midnight, and a day that does not exist has no tariff', () => {
    const [saoPaulo, apia] = [zoneOf('America/Sao_Paulo'), zoneOf('Pacific/Apia')]
    // On 4 November 2018 clocks in São Paulo went from 00:00 to 01:00.
    const start = { id: 'pla_1', startDay: day(2018, 11, 4), endDay: null }
    expect(derivedTariffs(versionDays([version(1, null)]), start, saoPaulo)).toMatchObject([
      { contractStart: at('2018-11-04T03:00:00Z') },
    ])
    // Samoa had no 30 December 2011.
    const skipped = { id: 'pla_1', startDay: day(2011, 12, 30), endDay: day(2011, 12, 31) }
    expect(derivedTariffs(versionDays([version(1, null)]), skipped, apia)).toEqual([])
  })

  it('keep their prices before a new version: only the time from its start is priced again', () => {
    const before = afterChanges(emptySite, accept(planOf(version(1, null)), [since2026], emptySite))
    const { tariffs, prices } = accept(planOf(version(1, null), version(2, day(2026, 7))), [since2026], before)
    expect([tariffs.created.length, tariffs.moved.length, tariffs.removed.length]).toEqual([1, 1, 0])
    expect(prices).toEqual([{ direction: 'IMPORT', from: at('2026-06-30T22:00:00Z'), to: null }])
  })

  it('are removed with the last assignment, and all of their time is priced again', () => {
    const before = afterChanges(emptySite, accept(planOf(version(1, null)), [since2026], emptySite))
    const { tariffs, charges, prices } = accept(planOf(version(1, null)), [], before)
    expect([tariffs.removed.length, charges.removed.length]).toEqual([1, 1])
    expect(prices).toEqual([{ direction: 'IMPORT', from: at('2025-12-31T23:00:00Z'), to: null }])
  })

  it('change only with their content: an equal key stays, a new key replaces', () => {
    const before = afterChanges(emptySite, accept(planOf(version(1, null)), [since2026], emptySite))
    expect(isUnchanged(accept(planOf(version(1, null)), [since2026], before))).toBe(true)
    const other = version(1, null, { tariffs: [commodity('other')] })
    const { tariffs, charges } = accept(planOf(other), [since2026], before)
    expect([tariffs.created.length, tariffs.removed.length, charges.created.length]).toEqual([1, 1, 0])
  })
})

describe('the charges of an assignment', () => {
  it('are valid for the days that the assignment, the version and the charge share', () => {
    const charges = [
      charge('whole'),
      charge('spring', { startDay: day(2025, 3), endDay: day(2026, 6) }),
      charge('past', { endDay: day(2026, 1) }),
    ]
    const { charges: changes } = accept(planOf(version(1, null, { tariffs: [], charges })), [since2026], emptySite)
    expect(changes.created.map(one => [one.key, one.startDay, one.endDay])).toEqual([
      ['whole', day(2026, 1), null],
      ['spring', day(2026, 1), day(2026, 6)],
    ])
  })

  it('are at most 200 at a location, with its own charges', () => {
    const one = planOf(version(1, null, { tariffs: [] }))
    expect(refusalOf(one, [since2026], { ...emptySite, otherCharges: 199 })).toBeNull()
    expect(refusalOf(one, [since2026], { ...emptySite, otherCharges: 200 })).toBe('charge_invalid')
  })
})

describe('an assignment is refused', () => {
  const own = (contractStart: number | null, contractEnd: number | null): Site['tariffs'][number] => ({
    origin: null,
    tariff: {
      id: 'trf_own',
      direction: 'IMPORT',
      type: 'COMMODITY',
      marketRates: false,
      contractStart,
      contractEnd,
      closedAt: null,
      schedule: [],
    },
  })

  it('if a tariff of the location overlaps, but not if it ends at its local midnight', () => {
    const plan = planOf(version(1, null))
    const midnight = at('2025-12-31T23:00:00Z')
    expect(refusalOf(plan, [since2026], { ...emptySite, tariffs: [own(null, midnight)] })).toBeNull()
    expect(refusalOf(plan, [since2026], { ...emptySite, tariffs: [own(null, midnight + 1)] })).toBe('tariff_overlap')
    const grid = planOf(version(1, null, { tariffs: [commodity('grid', { type: 'NON_COMMODITY' })] }))
    expect(refusalOf(grid, [since2026], { ...emptySite, tariffs: [own(null, null)] })).toBeNull()
  })

  it('in another currency, and for market prices without a source in the currency', () => {
    expect(refusalOf({ ...planOf(version(1, null)), currencyCode: 'GBP' }, [since2026], emptySite)).toBe(
      'currency_mismatch',
    )
    const market = planOf(version(1, null, { tariffs: [commodity('market', { marketRates: true })] }))
    expect(refusalOf(market, [since2026], emptySite)).toBe('currency_mismatch')
    expect(refusalOf(market, [since2026], { ...emptySite, importCurrency: 'EUR' })).toBeNull()
  })

  it('for days that the calendar of the location does not know', () => {
    const plan = (name: 'Holidays' | '#fair') =>
      planOf(version(1, null, { tariffs: [commodity('t', { specialDays: [name] })] }))
    const calendar = { holidays: new Set<number>(), dayTypes: [{ name: 'other', days: new Set<number>() }] }
    expect(refusalOf(plan('Holidays'), [since2026], emptySite)).toBe('calendar_required')
    expect(refusalOf(plan('Holidays'), [since2026], { ...emptySite, calendar })).toBeNull()
    expect(refusalOf(plan('#fair'), [since2026], { ...emptySite, calendar })).toBe('day_type_not_found')
  })

  it('above 100 assignments of the plan at a location, and above 1,000 tariffs', () => {
    const daily = (count: number): readonly PlanAssignment[] =>
      Array.from({ length: count }, (_, index) => ({
        id: `pla_${index}`,
        startDay: day(2026, 1) + index,
        endDay: day(2026, 1) + index + 1,
      }))
    const plan = planOf(version(1, null, { charges: [] }))
    expect(refusalOf(plan, daily(100), emptySite)).toBeNull()
    expect(refusalOf(plan, daily(101), emptySite)).toBe('too_many_assignments')
    const ended = Array.from({ length: 1_000 }, (_, index) => own(null, index - 2_000))
    expect(refusalOf(plan, daily(1), { ...emptySite, tariffs: ended.slice(1) })).toBeNull()
    expect(refusalOf(plan, daily(1), { ...emptySite, tariffs: ended })).toBe('too_many_assignments')
    expect(refusalOf(plan, [], { ...emptySite, tariffs: [...ended, ...ended] })).toBeNull()
  })

  it('for a schedule with two day types that the calendar gives one day', () => {
    const plan = (more: Partial<PlanVersion>) => planOf(version(1, null, more))
    const both = { specialDays: ['Holidays', '#fair', '#maintenance'] as const }
    const calendarWith = (days: readonly number[]) => ({
      holidays: new Set([day(2026, 3)]),
      dayTypes: [
        { name: 'fair', days: new Set([day(2026, 3), day(2026, 4)]) },
        { name: 'maintenance', days: new Set(days) },
      ],
    })
    const refused = { ...emptySite, calendar: calendarWith([day(2026, 4)]) }
    const accepted = { ...emptySite, calendar: calendarWith([day(2026, 5)]) }
    const tariffs = plan({ tariffs: [commodity('t', both)] })
    expect(refusalOf(tariffs, [since2026], refused)).toBe('schedule_overlap')
    expect(refusalOf(tariffs, [since2026], accepted)).toBeNull()
    const scheduled = plan({ charges: [charge('c', { ...both, hasSchedule: true })] })
    expect(refusalOf(scheduled, [since2026], refused)).toBe('schedule_overlap')
    // The first matching window decides, so windows may overlap.
    expect(refusalOf(plan({ charges: [charge('c', both)] }), [since2026], refused)).toBeNull()
  })

  it('if it shares days with another assignment of the plan at the location', () => {
    const next = { id: 'pla_2', startDay: day(2026, 6), endDay: null }
    expect(refuseOverlap('loc_1', next, [since2026])?.code).toBe('tariff_overlap')
    expect(refuseOverlap('loc_1', next, [{ ...since2026, endDay: day(2026, 6) }])).toBeNull()
    expect(refuseOverlap('loc_1', since2026, [since2026])).toBeNull()
  })
})

describe('any order of changes', () => {
  it('gives the tariffs and charges that the last state alone gives', () => {
    const { below: whole } = seededRandom(20_261_123)
    for (let history = 0; history < 200; history += 1) {
      let site = emptySite
      for (let step = 0; step < 6; step += 1) {
        const starts = [...new Set(Array.from({ length: whole(4) }, () => day(2026, 1 + whole(12), 1 + whole(28))))]
        const versions = [
          version(1, null, { tariffs: [commodity(`t1 ${whole(2)}`)] }),
          ...starts.map((start, index) => version(index + 2, start, { charges: [charge(`c ${whole(3)}`)] })),
        ]
        const first = day(2026, 1 + whole(6), 1 + whole(28))
        const assignments = [
          { id: 'pla_1', startDay: first, endDay: first + 1 + whole(200) },
          { id: 'pla_2', startDay: first + 200 + whole(50), endDay: null },
        ].slice(0, whole(3))
        const plan = planOf(...versions)
        site = afterChanges(site, accept(plan, assignments, site))
        const fresh = afterChanges(emptySite, accept(plan, assignments, emptySite))
        const sorted = (one: Site) => ({
          tariffs: one.tariffs.map(({ tariff }) => JSON.stringify(tariff)).sort(),
          charges: one.charges.map(({ id, startDay, endDay }) => `${id} ${startDay} ${endDay}`).sort(),
        })
        expect(sorted(site)).toEqual(sorted(fresh))
        expect(isUnchanged(accept(plan, assignments, site))).toBe(true)
      }
    }
  })
})
