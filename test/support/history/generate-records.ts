import fc from 'fast-check'
import { certain, type FlowName, type Form, type SentRecord } from './history.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const step = 5 * minuteMs

/** Instants around which records lie. */
export type Instants = {
  readonly month: number
  readonly clock: number
  readonly contract: number
  readonly anywhere: readonly number[]
}

const energies = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 200 }).map(hundreds => BigInt(hundreds) * 100_000_000n) },
  { weight: 3, arbitrary: fc.bigInt({ min: 1n, max: 20_000_000_000n }) },
  { weight: 1, arbitrary: fc.constant(0n) },
)

/** A value that is corrected, often to 0, and then corrected back. */
const correctedBack = (form: fc.Arbitrary<Form>): fc.Arbitrary<Form[]> =>
  fc
    .tuple(form, form, fc.boolean())
    .map(([right, wrong, isZero]) => [right, isZero ? { ...wrong, energy: 0n } : wrong, right])

const forms = (confidence: fc.Arbitrary<number>): fc.Arbitrary<Form[]> => {
  const form = fc.record({ energy: energies, confidence })
  const sent = fc.oneof(
    { weight: 5, arbitrary: fc.tuple(form) },
    { weight: 1, arbitrary: fc.array(form, { minLength: 2, maxLength: 3 }) },
    { weight: 2, arbitrary: correctedBack(form) },
  )
  // Some records are sent again unchanged.
  return fc
    .tuple(sent, fc.constantFrom(0, 0, 0, 1, 2))
    .map(([all, again]) => [...all, ...Array.from({ length: again }, () => all.at(-1) as Form)])
}

const actual = fc.oneof({ weight: 12, arbitrary: fc.constant(certain) }, { weight: 1, arbitrary: fc.constant(700_000) })
const estimate = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(500_000, 800_000) },
  { weight: 1, arbitrary: fc.constant(certain) },
)
/** Index of one of three devices, or null for the location itself. */
export const devices = fc.constantFrom(null, 0, 1, 2)
export const sessions = fc.constantFrom(null, null, 's', 't')
const flowNames: fc.Arbitrary<FlowName> = fc.oneof(
  { weight: 6, arbitrary: fc.constant('bought' as const) },
  fc.constantFrom('sold' as const, 'own' as const, 'supplied' as const),
)

const lengths = fc.oneof(
  { weight: 1, arbitrary: fc.constant(0) },
  { weight: 4, arbitrary: fc.constantFrom(step, 15 * minuteMs, hourMs) },
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 60 }).map(steps => steps * step) },
  { weight: 1, arbitrary: fc.integer({ min: 12, max: 60 }).map(hours => hours * hourMs) },
)

type UnnamedRecord = Omit<SentRecord, 'name'>

const near = (at: number, reach: number): fc.Arbitrary<number> =>
  fc.integer({ min: -reach / step, max: reach / step }).map(steps => at + steps * step)

const intervals = (at: number, reach = 6 * hourMs): fc.Arbitrary<Pick<UnnamedRecord, 'start' | 'end'>> =>
  fc.tuple(near(at, reach), lengths).map(([start, length]) => ({ start, end: start + length }))

/** An interval with a given instant inside it. */
const intervalsAcross = (at: number): fc.Arbitrary<Pick<UnnamedRecord, 'start' | 'end'>> =>
  fc
    .tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 40 }))
    .map(([before, after]) => ({ start: at - before * step, end: at + after * step }))

const records = (
  interval: fc.Arbitrary<Pick<UnnamedRecord, 'start' | 'end'>>,
  fixed: Partial<UnnamedRecord> = {},
): fc.Arbitrary<UnnamedRecord> =>
  fc
    .record({ device: devices, flow: flowNames, session: sessions, forms: forms(actual), interval })
    .map(({ interval: { start, end }, ...rest }) => ({ ...rest, start, end, ...fixed }))

/** Records with the same start. Some have the same end. */
const withSameStart = (at: number): fc.Arbitrary<UnnamedRecord[]> =>
  fc.tuple(near(at, 4 * hourMs), lengths).chain(([start, length]) => {
    const end = fc.oneof(
      fc.constant(start + length),
      fc.integer({ min: 1, max: 24 }).map(steps => start + steps * step),
    )
    return fc.array(
      records(
        end.map(found => ({ start, end: found })),
        { flow: 'bought' },
      ),
      { minLength: 2, maxLength: 4 },
    )
  })

/**
 * An actual record that is corrected and corrected back, and estimates that it covers.
 * The estimates may arrive between the forms of the actual record.
 */
const withCoveredEstimates = (at: number): fc.Arbitrary<UnnamedRecord[]> =>
  fc
    .record({
      device: devices,
      session: sessions,
      start: near(at, 30 * hourMs),
      hours: fc.integer({ min: 6, max: 72 }),
      forms: correctedBack(fc.record({ energy: energies, confidence: fc.constant(certain) })),
    })
    .chain(({ hours, ...of }) => {
      const actual: UnnamedRecord = { ...of, flow: 'bought', end: of.start + hours * hourMs }
      const inside = fc
        .integer({ min: 0, max: hours - 1 })
        .map(hour => ({ start: of.start + hour * hourMs, end: of.start + (hour + 1) * hourMs }))
      const { device, session } = of
      const covered = fc
        .tuple(records(inside, { device, session, flow: 'bought' }), forms(estimate))
        .map(([record, own]) => ({ ...record, forms: own }))
      return fc.array(covered, { minLength: 1, maxLength: 3 }).map(all => [actual, ...all])
    })

/** An estimate, and actual records that cover parts of the estimate. Some belong to another session. Some become 0. */
const estimateWithActuals = (at: number): fc.Arbitrary<UnnamedRecord[]> =>
  fc
    .record({
      device: devices,
      session: sessions,
      flow: flowNames,
      start: near(at, 4 * hourMs),
      hours: fc.integer({ min: 1, max: 12 }),
      forms: forms(estimate),
    })
    .chain(({ hours, ...of }) => {
      const whole: UnnamedRecord = { ...of, end: of.start + hours * hourMs }
      const part = fc
        .tuple(fc.integer({ min: -12, max: 12 * hours }), fc.integer({ min: 0, max: 72 }))
        .map(([from, steps]) => ({
          start: of.start + from * step,
          end: of.start + (from + steps) * step,
        }))
      const { device, flow, session } = of
      const same = records(part, { device, flow, session })
      const other = records(part, { device, flow, session: 'u' })
      return fc
        .tuple(fc.constant(whole), same, fc.array(fc.oneof({ weight: 3, arbitrary: same }, other), { maxLength: 3 }))
        .map(([one, first, more]) => [one, first, ...more])
    })

/** Drop a value rarely. When fast-check shrinks a failing history, it drops the value first. */
export const rarelyDropped = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T[]> => {
  const isRetained = fc.oneof(
    { withCrossShrink: true },
    { weight: 1, arbitrary: fc.constant(false) },
    { weight: 400, arbitrary: fc.constant(true) },
  )
  return fc.tuple(isRetained, arbitrary).map(([retained, value]) => (retained ? [value] : []))
}

const recordsRarelyDropped = (group: fc.Arbitrary<UnnamedRecord[]>): fc.Arbitrary<UnnamedRecord[]> =>
  group.chain(all => fc.tuple(...all.map(one => rarelyDropped(fc.constant(one)))).map(retained => retained.flat()))

/**
 * Objects that have only actual records. The worker costs these records from its caches,
 * in the same step as estimates of other objects.
 */
const actualOnlyDevices = fc.constantFrom<readonly SentRecord['device'][]>([], [2], [1, 2], [null, 2])

const withoutEstimates = (record: UnnamedRecord, actualOnly: readonly SentRecord['device'][]): UnnamedRecord =>
  actualOnly.includes(record.device)
    ? { ...record, forms: record.forms.map(form => ({ ...form, confidence: certain })) }
    : record

/** Records of every kind around the instants. */
export const sentRecords = ({ month, clock, contract, anywhere }: Instants): fc.Arbitrary<SentRecord[]> => {
  const single = (interval: fc.Arbitrary<Pick<UnnamedRecord, 'start' | 'end'>>, fixed: Partial<UnnamedRecord> = {}) =>
    rarelyDropped(records(interval, fixed))
  const somewhere = fc.constantFrom(month, clock, contract, ...anywhere)
  const impulse = (at: number) => fc.constant({ start: at, end: at })
  const overMonths = fc
    .tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 40 }))
    .map(([before, after]) => ({ start: month - before * dayMs, end: month + after * dayMs + hourMs }))
  return fc
    .tuple(
      recordsRarelyDropped(somewhere.chain(withSameStart)),
      recordsRarelyDropped(withSameStart(month)),
      single(intervalsAcross(month), { flow: 'bought' }),
      single(intervalsAcross(month), { flow: 'bought' }),
      single(fc.constantFrom(month - hourMs, month - step).map(start => ({ start, end: month }))),
      single(intervals(month, 0), { flow: 'bought' }),
      single(impulse(month), { flow: 'bought' }),
      single(intervalsAcross(clock), { flow: 'bought' }),
      single(intervals(clock)),
      single(intervalsAcross(contract), { flow: 'bought' }),
      single(intervals(contract, hourMs), { flow: 'bought' }),
      ...(['sold', 'own', 'supplied'] as const).map(flow =>
        single(
          somewhere.chain(at => intervals(at)),
          { flow },
        ),
      ),
      single(somewhere.chain(intervalsAcross), { flow: 'supplied' }),
      recordsRarelyDropped(somewhere.chain(estimateWithActuals)),
      recordsRarelyDropped(estimateWithActuals(month)),
      recordsRarelyDropped(somewhere.chain(withCoveredEstimates)),
      fc.oneof(
        { weight: 4, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: recordsRarelyDropped(fc.array(records(overMonths), { minLength: 1, maxLength: 2 })) },
      ),
      recordsRarelyDropped(fc.array(records(somewhere.chain(at => intervals(at, 20 * hourMs))), { maxLength: 8 })),
    )
    .chain(groups =>
      actualOnlyDevices.map(actualOnly =>
        groups.flat().map((record, index) => ({ name: `r${index}`, ...withoutEstimates(record, actualOnly) })),
      ),
    )
}
