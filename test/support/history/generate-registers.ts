import fc from 'fast-check'
import type { RegisterRule } from '../../../services/domain/record/reading-rules.ts'
import { devices, rarelyDropped, sessions } from './generate-records.ts'
import type { History, SentReading, SentRegister } from './history.ts'
import { ruleOf } from './register-rules.ts'

const hourMs = 3_600_000
const kilowattHour = 1_000_000_000n
/** 10 MW in 1e-6 W. */
const defaultMaxPower = 10_000_000_000_000n

const inWattHours = (value: number): bigint => BigInt(value) * 1_000_000n

/**
 * `rise`, `fall`: the register goes on. `reset`: it goes on close to 0. `jump`: it goes on after a rise at about the
 * maximum power. `low`, `high`: it shows another value for a moment. `restart`: first reading of a new meter.
 */
const kinds = fc.oneof(
  { weight: 8, arbitrary: fc.constant('rise' as const) },
  { weight: 7, arbitrary: fc.constantFrom('fall', 'reset', 'jump', 'low', 'low', 'high', 'restart') },
)

const error = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: -20_000, max: 20_000 }) },
  { weight: 1, arbitrary: fc.constant(null) },
)

const reading = fc.record({
  gap: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 72 }).map(steps => steps * 600) },
    { weight: 1, arbitrary: fc.constantFrom(1, 2, 2, 3, 45).map(days => days * 86_400) },
  ),
  kind: kinds,
  more: fc.integer({ min: 0, max: 15_000 }),
  /** Power of a jump in percent of the maximum. */
  percent: fc.constantFrom(60, 100, 101, 300),
  isAtInstantOfOldMeter: fc.boolean(),
  /** Values before the final one: differences in Wh, or null for a withdrawal. */
  errors: fc.oneof(
    { weight: 3, arbitrary: fc.constant<(number | null)[]>([]) },
    { weight: 2, arbitrary: fc.array(error, { minLength: 1, maxLength: 2 }) },
  ),
  isWithdrawn: fc.constantFrom(...Array.from({ length: 7 }, () => false), true),
  again: fc.constantFrom(false, false, false, true),
})

type Spec = typeof reading extends fc.Arbitrary<infer T> ? T : never

const notNegative = (value: bigint): bigint => (value < 0n ? 0n : value)

/** Values in 1e-6 Wh that a register shows, in the order of time. */
const createCounter = (rule: RegisterRule | null, start: bigint) => {
  const range = rule?.digits == null ? null : 10n ** BigInt(rule.digits) * kilowattHour
  const inRange = (value: bigint): bigint => (range === null ? value : value % range)
  let value = start
  return ({ kind, more, gap, percent }: Spec): bigint => {
    const jump = ((rule?.maxPower ?? defaultMaxPower) * BigInt(gap) * BigInt(percent)) / 360_000n
    if (kind === 'low') return inWattHours(more % 500)
    if (kind === 'high') return value + jump
    if (kind === 'rise') value = inRange(value + inWattHours(more))
    else if (kind === 'jump') value = inRange(value + jump)
    else if (kind === 'fall') value = notNegative(value - inWattHours(more % 8_000))
    else value = inWattHours(more % 2_000)
    return value
  }
}

const readingsOf = (all: readonly Spec[], first: number, counter: (spec: Spec) => bigint): readonly SentReading[] => {
  let time = first
  let isAfterRestart = true
  return all.map(spec => {
    const isRestart = spec.kind === 'restart'
    if (!(isRestart && spec.isAtInstantOfOldMeter && !isAfterRestart)) time += spec.gap * 1000
    isAfterRestart = isRestart
    const value = counter(spec)
    const errors = spec.errors.map(wrong => (wrong === null ? null : notNegative(value + inWattHours(wrong))))
    const last = spec.isWithdrawn ? [value, null] : [value]
    return { time, isRestart, values: [...errors, ...last, ...(spec.again ? last.slice(-1) : [])] }
  })
}

/** A register with readings before and after the start of the month. `index` gives each register other seconds. */
const register = (of: Pick<History, 'locationRule' | 'monthStart'>, index: number): fc.Arbitrary<SentRegister> =>
  fc
    .record({
      device: fc.oneof(devices, fc.constantFrom(null, 3, 4, 5, 6, 7, 8)),
      flow: fc.constantFrom('bought', 'bought', 'bought', 'sold', 'own', 'supplied'),
      session: sessions,
      before: fc.integer({ min: 1, max: 3 }),
      start: fc.constantFrom(100n, 985n),
      readings: fc.array(rarelyDropped(reading), { minLength: 4, maxLength: 9 }),
    })
    .map(({ before, readings, start, ...object }) => {
      const all = readings.flat()
      const lead = all.slice(0, before).reduce((sum, { gap }) => sum + gap * 1000, 0) - hourMs / 12
      const first = of.monthStart - lead + 17_000 + index * 1000
      const counter = createCounter(ruleOf(of, object), start * kilowattHour)
      return { name: `meter${index}`, ...object, readings: readingsOf(all, first, counter) }
    })

/** Registers of different devices or flows. Two registers of one device and flow would be the same register. */
export const sentRegisters = (of: Pick<History, 'locationRule' | 'monthStart'>): fc.Arbitrary<SentRegister[]> =>
  fc
    .tuple(
      rarelyDropped(register(of, 0)),
      rarelyDropped(register(of, 1)),
      fc.oneof(fc.constant([]), rarelyDropped(register(of, 2))),
    )
    .map(all => {
      const seen = new Map(all.flat().map(one => [`${one.device} ${one.flow}`, one]))
      return [...seen.values()]
    })
