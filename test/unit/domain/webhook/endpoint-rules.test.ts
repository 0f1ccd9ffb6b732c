import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventFilters, eventTypes, matchesAnyFilter, typesOfFilter } from '../../../../services/domain/event-types.ts'
import {
  concurrencyAfter,
  initialConcurrency,
  maxConcurrency,
} from '../../../../services/domain/webhook/delivery-attempt.ts'
import {
  rotateSecret,
  rotationWindowMs,
  type SigningSecret,
  signingSecrets,
} from '../../../../services/domain/webhook/secret-rotation.ts'

describe('a filter of events', () => {
  it.each([
    ['*', 'customer.create', true],
    ['customer.*', 'customer.create', true],
    ['customer.*', 'customer.create.failed', true],
    ['customer.*', 'customers.create', false],
    ['customer.*', 'customer', false],
    ['customer.create', 'customer.create', true],
    ['customer.create', 'customer.create.failed', false],
    ['tariff.fetch.*', 'tariff.fetch.failed', true],
    ['tariff.fetch.*', 'tariff.expired', false],
  ])('%s and %s: %s', (filter, type, matches) => {
    expect(matchesAnyFilter([filter], type)).toBe(matches)
    expect(matchesAnyFilter(['device.delete', filter], type)).toBe(matches)
  })

  it('lists the types that match, in the order of the reference', () => {
    expect(typesOfFilter('*')).toEqual(eventTypes)
    expect(typesOfFilter('tariff.*')).toEqual(['tariff.expiring', 'tariff.expired', 'tariff.fetch.failed'])
    expect(typesOfFilter('tariff.fetch.*')).toEqual(['tariff.fetch.failed'])
    expect(typesOfFilter('device.create')).toEqual(['device.create'])
  })

  it('is *, a group or a type; each is listed once and matches at least one type', () => {
    expect(new Set(eventFilters).size).toBe(eventFilters.length)
    expect(eventFilters.filter(filter => filter.startsWith('tariff.'))).toEqual([
      'tariff.*',
      'tariff.fetch.*',
      'tariff.expiring',
      'tariff.expired',
      'tariff.fetch.failed',
    ])
    for (const filter of eventFilters) expect(typesOfFilter(filter), filter).not.toEqual([])
  })

  it.each(['', '*.*', 'customer.', 'customer.*.failed', 'custom*', '*.create'])('%j matches no type', filter => {
    expect(typesOfFilter(filter)).toEqual([])
  })
})

describe('signing secrets of an endpoint', () => {
  const rotated = (times: readonly number[]): readonly SigningSecret<string>[] =>
    times.reduce<readonly SigningSecret<string>[]>(
      (secrets, at, index) => rotateSecret(secrets, `secret ${index + 1}`, at),
      [{ secret: 'secret 0', until: null }],
    )

  it('both sign for 24 h after a rotation', () => {
    const secrets = rotated([1_000])
    const namesAt = (at: number) => signingSecrets(secrets, at).map(({ secret }) => secret)
    expect(namesAt(1_000)).toEqual(['secret 1', 'secret 0'])
    expect(namesAt(1_000 + rotationWindowMs - 1)).toEqual(['secret 1', 'secret 0'])
    expect(namesAt(1_000 + rotationWindowMs)).toEqual(['secret 1'])
  })

  it('each sign until 24 h after the rotation that replaced them, at most ten older ones', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 3 * rotationWindowMs }), { maxLength: 20 }),
        fc.nat(4 * rotationWindowMs),
        (gaps, later) => {
          let now = 0
          const times = gaps.map(gap => (now += gap))
          const at = now + later
          const names = signingSecrets(rotated(times), at).map(({ secret }) => Number(secret.split(' ')[1]))
          const expected = times.flatMap((time, index) => (at < time + rotationWindowMs ? [index] : [])).toReversed()
          expect(names).toEqual([times.length, ...expected.slice(0, 10)])
        },
      ),
    )
  })
})

describe('the concurrency of an endpoint', () => {
  it('stays between one and its maximum, falls to one after a few failures, and recovers', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean()), outcomes => {
        const pace = outcomes.reduce(concurrencyAfter, initialConcurrency)
        expect(pace).toBeGreaterThanOrEqual(1)
        expect(pace).toBeLessThanOrEqual(maxConcurrency)
      }),
    )
    expect([false, false, false].reduce(concurrencyAfter, initialConcurrency)).toBe(1)
    expect(Array.from({ length: 100 }, () => true).reduce(concurrencyAfter, 1)).toBe(maxConcurrency)
  })
})
