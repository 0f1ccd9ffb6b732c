import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { recordIdentityText } from '../../../services/domain/identifier.ts'
import { recordIdDigits } from '../../../services/record-bytes/record-id.ts'

const text = fc.oneof(
  fc.string({ maxLength: 255 }),
  fc.string({ unit: 'grapheme', maxLength: 100 }),
  fc.constant('😀'.repeat(255)),
)
const id = (prefix: string) =>
  fc.bigInt({ min: 0n, max: 2n ** 96n - 1n }).map(value => `${prefix}_${value.toString(16).padStart(24, '0')}`)
const instant = fc.oneof(
  fc.integer({ min: 946_684_800_000, max: 4_102_444_800_000 }),
  fc.constantFrom(0, 9_999_999, 10_000_000, 999_999_999_999),
)

const identity = fc.record({
  accountId: id('acc'),
  liveMode: fc.boolean(),
  locationId: id('loc'),
  deviceId: fc.option(id('dev')),
  energyFlowDirection: fc.constantFrom('INBOUND' as const, 'OUTBOUND' as const),
  tariffDirection: fc.constantFrom('IMPORT' as const, 'EXPORT' as const, 'LOCAL' as const),
  start: instant,
  end: instant,
  sessionReferenceId: fc.option(text),
  recordReferenceId: fc.option(text),
})

type Identity = typeof identity extends fc.Arbitrary<infer T> ? T : never

const digitsOf = (of: Identity): string =>
  createHash('sha256').update(recordIdentityText(of), 'utf8').digest('hex').slice(0, 24)

it('names a record by the SHA-256 of its identity', () => {
  fc.assert(
    fc.property(identity, of => {
      expect(recordIdDigits(of, of)).toBe(digitsOf(of))
    }),
    { numRuns: 500 },
  )
})

it('names records that share parts with those named before, each by its own', () => {
  const names = [
    'accountId',
    'liveMode',
    'deviceId',
    'energyFlowDirection',
    'tariffDirection',
    'start',
    'end',
    'sessionReferenceId',
  ] as const
  const steps = fc.array(fc.tuple(fc.constantFrom(0, 1), fc.subarray([...names])), { maxLength: 12 })
  fc.assert(
    fc.property(identity, identity, steps, (first, second, taken) => {
      for (const [base, others] of taken) {
        const [one, other] = base === 0 ? [first, second] : [second, first]
        const mixed: Identity = { ...one, ...Object.fromEntries(others.map(name => [name, other[name]])) }
        expect(recordIdDigits(mixed, mixed)).toBe(digitsOf(mixed))
      }
    }),
    { numRuns: 500 },
  )
})
