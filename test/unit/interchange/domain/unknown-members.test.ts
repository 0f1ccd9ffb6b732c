import { describe, expect, it } from 'vitest'
import type { TariffFormat } from '../../../../services/interchange/domain/tariff-file.ts'
import { type ReadOptions, readFile } from '../../../support/interchange/read-tariffs.ts'
import { tariffFixtures } from '../../../support/interchange/tariff-fixtures.ts'

const norway = { zone: 'Europe/Oslo', currency: 'NOK' }
const berlin = { zone: 'Europe/Berlin', currency: 'EUR' }
const night = { start_time: '22:00', end_time: '06:00' }
const ocpi = (elements: readonly object[], more: object = {}) => ({ id: '1', currency: 'EUR', elements, ...more })
const energy = (price: number, more: object = {}) => ({ price_components: [{ type: 'ENERGY', price }], ...more })
const grid = (unntak: object, more: object = {}) => ({
  tariffer: [{ kundegrupper: ['fritid'], energiledd: { grunnpris: 20, unntak: [unntak] }, ...more }],
})
const rate = (more: object) => ({ label: 'a', energyratestructure: [[{ rate: 0.1 }]], ...more })

type Sample = readonly [string, TariffFormat, object, ReadOptions, string, string | null]

const samples: readonly Sample[] = [
  [
    'restriction',
    'ocpi',
    ocpi([energy(0.5, { restriction: night }), energy(0.3)]),
    berlin,
    '/elements/0/restriction',
    'mean "restrictions"?',
  ],
  [
    'Restrictions',
    'ocpi',
    ocpi([energy(0.5, { Restrictions: night })]),
    berlin,
    '/elements/0/Restrictions',
    'mean "restrictions"?',
  ],
  [
    'restrictions in a component',
    'ocpi',
    ocpi([{ price_components: [{ type: 'ENERGY', price: 1, restrictions: night }] }]),
    berlin,
    '/elements/0/price_components/0/restrictions',
    'Move it there',
  ],
  [
    'dayOfWeek',
    'ocpi',
    ocpi([energy(0.5, { restrictions: { dayOfWeek: ['MONDAY'] } })]),
    berlin,
    '/elements/0/restrictions/dayOfWeek',
    'mean "day_of_week"?',
  ],
  [
    'end_datetime',
    'ocpi',
    ocpi([energy(0.5)], { end_datetime: '2026-01-01T00:00:00Z' }),
    berlin,
    '/end_datetime',
    'mean "end_date_time"?',
  ],
  [
    'maneder',
    'fri-nettleie',
    grid({ pris: 30, maneder: ['januar'] }),
    norway,
    '/tariffer/0/energiledd/unntak/0/maneder',
    'mean "måneder"?',
  ],
  [
    'dag',
    'fri-nettleie',
    grid({ pris: 30, dag: ['mandag'] }),
    norway,
    '/tariffer/0/energiledd/unntak/0/dag',
    'mean "dager"?',
  ],
  [
    'gyldig_tom',
    'fri-nettleie',
    grid({ pris: 30 }, { gyldig_tom: '2026-01-01' }),
    norway,
    '/tariffer/0/gyldig_tom',
    'mean "gyldig_til"?',
  ],
  [
    'energyWeekendSched',
    'urdb',
    rate({ energyWeekendSched: [] }),
    {},
    '/energyWeekendSched',
    'mean "energyweekendschedule"?',
  ],
  ['endDate', 'urdb', rate({ endDate: 1 }), {}, '/endDate', 'mean "enddate"?'],
  ['an unknown name', 'urdb', rate({ riders: 'x' }), {}, '/riders', null],
]

describe('an unknown member of a file of tariffs', () => {
  it.each(samples)('keeps its tariff out: %s', (_, format, file, options, path, nearest) => {
    const { tariffs, charges, notImported } = readFile(format, file, options)
    expect([tariffs, charges]).toEqual([[], []])
    const message = expect.stringContaining(nearest ?? 'Leave it out')
    expect(notImported).toContainEqual({ path, reason: 'unknown_member', affects: 'price', message })
  })

  it('that is the unit of a charge keeps the charge out, and the tariff stays', () => {
    const demand = { flatdemandstructure: [[{ rate: 3 }]], fixedmonthlycharge: 2 }
    for (const unit of [{ flatDemandUnits: 'kVA' }, { demandunits: 'kVA' }]) {
      const { tariffs, charges, notImported } = readFile('urdb', rate({ ...demand, ...unit }))
      expect([tariffs.length, charges.map(({ terms }) => terms.kind)]).toEqual([1, ['FIXED']])
      const [name] = Object.keys(unit)
      expect(notImported).toContainEqual(expect.objectContaining({ path: `/${name}`, reason: 'unit', affects: 'bill' }))
    }
  })

  it('in the capacity fee of a grid company keeps this fee out, and the tariff stays', () => {
    const fastledd = { metode: 'MND_MAX', terskler: [{ terskel: 0, pris: 1, per: 'måned' }] }
    const { tariffs, charges, notImported } = readFile('fri-nettleie', grid({ pris: 30 }, { fastledd }), norway)
    expect([tariffs.length, charges]).toEqual([1, []])
    expect(notImported[0]).toMatchObject({ reason: 'unknown_member', affects: 'bill' })
  })

  it('that comes more than 200 times refuses the file', () => {
    const elements = Array.from({ length: 90 }, () => energy(1, { a: 1, b: 2, c: 3 }))
    expect(() => readFile('ocpi', ocpi(elements), berlin)).toThrow(/too_many_elements: \/elements\/0\/a and 200 other/)
  })
})

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }
type JsonObject = { [name: string]: Json }
type Spot = { readonly object: JsonObject; readonly path: string; readonly kind: string }

/** List the objects of a file with their pointers. `kind` is the pointer without the indexes of lists. */
const objectsIn = (value: Json, path = ''): readonly Spot[] => {
  if (Array.isArray(value)) return value.flatMap((one, index) => objectsIn(one, `${path}/${index}`))
  if (typeof value !== 'object' || value === null) return []
  const inside = Object.entries(value).flatMap(([name, member]) => objectsIn(member, `${path}/${name}`))
  return [{ object: value, path, kind: path.replaceAll(/\/\d+/g, '') }, ...inside]
}

type Random = { readonly below: (limit: number) => number }

const pick = <T>(random: Random, values: readonly T[]): T => values[random.below(values.length)] as T

const letters = 'abcdefghijklmnopqrstuvwxyzA_1'

const misspell = (name: string, random: Random): string => {
  const at = random.below(name.length)
  const letter = pick(random, [...letters])
  return pick(random, [
    name.slice(0, at) + name.slice(at + 1),
    name.slice(0, at) + letter + name.slice(at),
    name.slice(0, at) + letter + name.slice(at + 1),
    name.slice(0, at) + (name[at + 1] ?? '') + (name[at] ?? '') + name.slice(at + 2),
    `${name}s`,
  ])
}

const recase = (name: string, random: Random): string =>
  pick(random, [
    name.toUpperCase(),
    name.toLowerCase(),
    `${name[0]?.toUpperCase()}${name.slice(1)}`,
    name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
    name.replaceAll('_', '-'),
    name.replaceAll('_', ''),
  ])

type Change = { readonly path: string; readonly name: string; readonly kind: string }

/** Change one member of a file. Returns its new place, or null if the change has no effect. */
const mutate = (file: Json, random: Random): Change | null => {
  const spots = objectsIn(file).filter(({ object }) => Object.keys(object).length > 0)
  const { object, path, kind } = pick(random, spots)
  const name = pick(random, Object.keys(object))
  const value = object[name] as Json
  const move = random.below(4)
  if (move < 2) {
    const changed = move === 0 ? misspell(name, random) : recase(name, random)
    if (changed === '' || Object.hasOwn(object, changed)) return null
    const entries = Object.entries(object)
    for (const [one] of entries) delete object[one]
    for (const [one, member] of entries) object[one === name ? changed : one] = member
    return { path: `${path}/${changed}`, name: changed, kind }
  }
  const added = move === 2 ? name : pick(random, ['condition', 'valid_until', 'min_kw', 'season', 'days', 'x'])
  const related = spots.filter(one => one.kind !== kind || move === 3)
  if (related.length === 0) return null
  const target = pick(random, related)
  if (Object.hasOwn(target.object, added) || (move === 2 && `${target.path}/`.startsWith(`${path}/${name}/`)))
    return null
  if (move === 2) delete object[name]
  target.object[added] = move === 2 ? value : pick<Json>(random, [1, 'text', ['MONDAY'], { start_time: '08:00' }])
  return { path: `${target.path}/${added}`, name: added, kind: target.kind }
}

const textOf = (value: unknown): string => JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? `${one}` : one))

const runs = Number(process.env['MEMBER_RUNS'] ?? 400)
const seed = Number(process.env['MEMBER_SEED'] ?? 1)

describe.each(tariffFixtures)('a changed member of $name', ({ format, file, options }) => {
  const read = (content: object | string) => readFile(format, content, options)
  const original = read(file)
  const termsOf = ({ tariffs, charges }: typeof original): readonly string[] => [
    ...tariffs.map(one => textOf([one.terms, one.marketPrices])),
    ...charges.map(({ terms }) => textOf(terms)),
  ]
  const known = new Set(
    objectsIn(file as Json).flatMap(({ object, kind }) => Object.keys(object).map(name => `${kind} ${name}`)),
  )
  const before = termsOf(original)
  const reasons = new Set(original.notImported.map(({ path }) => path))

  it(`changes no price without a word (${runs} random changes)`, () => {
    let state = seed
    const below = (limit: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
      return Math.floor((state / 2 ** 32) * limit)
    }
    let keptOut = 0
    for (let run = 0; run < runs; run += 1) {
      const changed = structuredClone(file) as Json
      const change = mutate(changed, { below })
      if (change === null || known.has(`${change.kind} ${change.name}`)) continue
      const label = `${change.path} in run ${run}`
      let after: typeof original
      try {
        after = read(changed as object)
      } catch (error) {
        expect(`${error}`, label).toMatch(/Error: [a-z_]+: /)
        continue
      }
      const terms = termsOf(after)
      if (textOf(terms) === textOf(before)) continue
      keptOut += 1
      expect(before, label).toEqual(expect.arrayContaining([...terms]))
      const named = after.notImported.filter(({ path }) => !reasons.has(path)).map(({ path }) => path)
      expect(named, label).toContain(change.path.replaceAll('~', '~0'))
    }
    expect(keptOut).toBeGreaterThan(runs / 10)
  })
})
