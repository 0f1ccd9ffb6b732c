import fc from 'fast-check'
import type { Direction, RecordBody } from './bill-input.ts'

/** Interval of a statement in ms, and the start of a month before it. */
export type StatementSpan = { readonly start: number; readonly end: number; readonly earlier: number }

export const deviceNames = ['DEVICE_1', 'DEVICE_2', 'DEVICE_3'] as const

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

const flows = [
  { weight: 8, flow: { energy_flow_direction: 'INBOUND', tariff_direction: 'IMPORT' } },
  { weight: 3, flow: { energy_flow_direction: 'OUTBOUND', tariff_direction: 'EXPORT' } },
  { weight: 2, flow: { energy_flow_direction: 'INBOUND', tariff_direction: 'LOCAL' } },
  { weight: 1, flow: { energy_flow_direction: 'OUTBOUND', tariff_direction: 'IMPORT' } },
] as const

const anyFlow = fc.oneof(...flows.map(({ weight, flow }) => ({ weight, arbitrary: fc.constant(flow) })))

/** Return a pseudo-random number of a seed and an index, 0 … 2^32 − 1. */
const scatter = (seed: number, index: number): number => {
  let mixed = Math.imul(seed ^ (index + 0x9e3779b9), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

const instant = (at: number): string => new Date(at).toISOString()

/** Values of a stream in kWh: few different ones, so that peaks tie, or any with up to six decimals. */
const valuePools = fc.oneof(
  fc.constant([0, 0.5, 0.5, 1, 1.25]),
  fc.constant([2, 2, 5]),
  fc.constant([0]),
  fc.array(
    fc.integer({ min: 0, max: 12_000_000 }).map(units => units / 1e6),
    { minLength: 3, maxLength: 40 },
  ),
)

const devices = fc.option(fc.constantFrom(...deviceNames), { freq: 2, nil: null })
const confidences = fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.constantFrom(0.9, 0.5, 0.000001))

/** Instant near the statement: in it, at its edges, or in the months before. */
const starts = ({ start, end, earlier }: StatementSpan): fc.Arbitrary<number> => {
  const between = (from: number, to: number, grid: number) =>
    fc.integer({ min: Math.floor(from / grid), max: Math.floor(to / grid) }).map(steps => steps * grid)
  return fc.oneof(
    { weight: 5, arbitrary: between(start, end, hourMs) },
    { weight: 3, arbitrary: between(start, end, 15 * minuteMs) },
    { weight: 2, arbitrary: fc.constantFrom(start, start - hourMs, end - hourMs, end - 15 * minuteMs) },
    { weight: 3, arbitrary: between(earlier, start, hourMs) },
    { weight: 1, arbitrary: between(start, end, 1000) },
  )
}

const membersOf = (device: string | null): object => (device === null ? {} : { device_id: device })

/** Records one after another. */
const streams = (span: StatementSpan): fc.Arbitrary<RecordBody[]> =>
  fc
    .record({
      flow: anyFlow,
      device: devices,
      confidence: confidences,
      from: starts(span),
      step: fc.constantFrom(15, 15, 30, 60, 60, 7, 180),
      count: fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 1, max: 60 }) }, fc.integer({ min: 60, max: 200 })),
      seed: fc.integer(),
      values: valuePools,
      gapEvery: fc.constantFrom(0, 0, 0, 5, 17),
    })
    .map(({ flow, device, confidence, from, step, count, seed, values, gapEvery }) =>
      Array.from({ length: count }, (_, index) => index)
        .filter(index => gapEvery === 0 || scatter(seed, index) % gapEvery !== 0)
        .map(index => ({
          ...flow,
          ...membersOf(device),
          ...(confidence < 1 && { confidence }),
          start_time: instant(from + index * step * minuteMs),
          end_time: instant(from + (index + 1) * step * minuteMs),
          units: 'KWH',
          value: values[scatter(seed, index + 7) % values.length] ?? 0,
        })),
    )

/** A record without length, of odd length, or of many days. */
const looseRecords = (span: StatementSpan): fc.Arbitrary<RecordBody[]> =>
  fc
    .record({
      flow: anyFlow,
      device: devices,
      confidence: confidences,
      from: starts(span),
      length: fc.oneof(
        fc.constant(0),
        fc.integer({ min: 1, max: 7200 }).map(seconds => seconds * 1000),
        fc.integer({ min: 1, max: 30 }).map(days => days * dayMs),
        fc.integer({ min: 1, max: 3_000_000 }).map(seconds => seconds * 1000),
      ),
      amount: fc.oneof(
        fc.integer({ min: 0, max: 200 }).map(value => ({ units: 'KWH', value })),
        fc.integer({ min: 0, max: 900_000_000 }).map(units => ({ units: 'WH', value: units / 1e3 })),
        fc.integer({ min: 0, max: 50_000 }).map(value => ({ units: 'W', value })),
        fc.integer({ min: 0, max: 5_000 }).map(units => ({ units: 'KW', value: units / 1e3 })),
      ),
    })
    .map(({ flow, device, confidence, from, length, amount }) => [
      {
        ...flow,
        ...membersOf(device),
        ...(confidence < 1 && { confidence }),
        ...amount,
        start_time: instant(from),
        end_time: instant(from + length),
      },
    ])

/** A charging session: records with energy, then one without. Some sessions end at midnight. */
const sessions = (span: StatementSpan): fc.Arbitrary<RecordBody[]> =>
  fc
    .record({
      device: fc.constantFrom(...deviceNames),
      reference: fc.integer({ min: 1, max: 6 }).map(number => `s-${number}`),
      direction: fc.constantFrom<Direction>('IMPORT', 'IMPORT', 'IMPORT', 'LOCAL'),
      from: starts(span),
      endsDaysBefore: fc.constantFrom(null, null, null, null, 0, 1, 3),
      minutes: fc.array(fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 90 }) }, fc.constant(0)), {
        minLength: 1,
        maxLength: 4,
      }),
      idleSeconds: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 40_000 })),
      values: fc.array(fc.constantFrom(0, 0.4, 3.7, 11), { minLength: 4, maxLength: 4 }),
    })
    .map(({ device, reference, direction, from, endsDaysBefore, minutes, idleSeconds, values }) => {
      const idle = idleSeconds > 0 ? [idleSeconds * 1000] : []
      const lengths = [...minutes.map(minute => minute * minuteMs), ...idle]
      const total = lengths.reduce((sum, length) => sum + length, 0)
      let at = endsDaysBefore === null ? from : span.end - endsDaysBefore * dayMs - total
      return lengths.map((length, index) => {
        const start_time = instant(at)
        at += length
        return {
          energy_flow_direction: 'INBOUND' as const,
          tariff_direction: direction,
          device_id: device,
          session_reference_id: reference,
          start_time,
          end_time: instant(at),
          units: 'KWH',
          value: index === lengths.length - 1 && idleSeconds > 0 ? 0 : (values[index % values.length] ?? 0),
        }
      })
    })

/** A long estimate and actuals of the same source that cover parts of it, some without energy. */
const coveredEstimates = (span: StatementSpan): fc.Arbitrary<RecordBody[]> =>
  fc
    .record({
      flow: anyFlow,
      device: devices,
      from: starts(span),
      hours: fc.integer({ min: 2, max: 300 }),
      value: fc.integer({ min: 1, max: 300_000_000 }).map(units => units / 1e6),
      actuals: fc.array(
        fc.record({
          after: fc.integer({ min: -7200, max: 400_000 }),
          seconds: fc.constantFrom(900, 3600, 3601, 86_400),
          value: fc.constantFrom(0, 0.25, 3),
        }),
        { minLength: 1, maxLength: 5 },
      ),
    })
    .map(({ flow, device, from, hours, value, actuals }) => [
      {
        ...flow,
        ...membersOf(device),
        confidence: 0.6,
        units: 'KWH',
        value,
        start_time: instant(from),
        end_time: instant(from + hours * hourMs),
      },
      ...actuals.map(actual => ({
        ...flow,
        ...membersOf(device),
        units: 'KWH',
        value: actual.value,
        start_time: instant(from + actual.after * 1000),
        end_time: instant(from + (actual.after + actual.seconds) * 1000),
      })),
    ])

const distinctBy = (records: readonly RecordBody[], keyOf: (record: RecordBody) => string): RecordBody[] => {
  const seen = new Set<string>()
  return records.filter(record => {
    const isNew = !seen.has(keyOf(record))
    seen.add(keyOf(record))
    return isNew
  })
}

const identityOf = (record: RecordBody): string => {
  const { energy_flow_direction, tariff_direction, device_id, session_reference_id, start_time, end_time } = record
  return JSON.stringify([
    ...[energy_flow_direction, tariff_direction, device_id ?? null, session_reference_id ?? null],
    ...[start_time, end_time],
  ])
}

/** Drop records whose place in the counting order would depend on their id: those that end with another one. */
const withoutTies = (records: readonly RecordBody[], tiered: readonly Direction[]): RecordBody[] => {
  const isTiered = ({ tariff_direction }: RecordBody): boolean => tiered.includes(tariff_direction ?? 'IMPORT')
  return distinctBy(records, record =>
    isTiered(record) ? `${record.tariff_direction} ${record.end_time}` : identityOf(record),
  )
}

/** A whole statement in equal steps, in one flow, with few different values. */
const fullSeries = ({ start, end }: StatementSpan): fc.Arbitrary<RecordBody[]> =>
  fc
    .record({ step: fc.constantFrom(60, 60, 180, 720), seed: fc.integer(), values: valuePools, device: devices })
    .map(({ step, seed, values, device }) =>
      Array.from({ length: Math.ceil((end - start) / (step * minuteMs)) }, (_, index) => ({
        energy_flow_direction: 'INBOUND' as const,
        tariff_direction: 'IMPORT' as const,
        ...membersOf(device),
        start_time: instant(start + index * step * minuteMs),
        end_time: instant(start + (index + 1) * step * minuteMs),
        units: 'KWH',
        value: values[scatter(seed, index) % values.length] ?? 0,
      })),
    )

/**
 * Records of a location, each with its own identity. `tiered`: directions with tiers, in which no two records end at
 * the same instant, so that the ids of the records do not decide the tiers.
 */
export const records = (span: StatementSpan, tiered: readonly Direction[]): fc.Arbitrary<RecordBody[]> =>
  fc
    .array(
      fc.oneof(
        { weight: 3, arbitrary: streams(span) },
        { weight: 2, arbitrary: looseRecords(span) },
        { weight: 6, arbitrary: sessions(span) },
        { weight: 2, arbitrary: coveredEstimates(span) },
        { weight: 2, arbitrary: fullSeries(span) },
      ),
      { minLength: 1, maxLength: 8 },
    )
    .chain(groups =>
      fc.boolean().map(hasDevicesOnly => {
        const ofDevice = (record: RecordBody): RecordBody => ({ device_id: deviceNames[0], ...record })
        const all = hasDevicesOnly ? groups.flat().map(ofDevice) : groups.flat()
        return withoutTies(distinctBy(all, identityOf), tiered)
      }),
    )
