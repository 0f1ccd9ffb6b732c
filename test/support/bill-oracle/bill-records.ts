import type { IdentifiedRecord } from '../oracle/cost.ts'
import { divideHalfEven } from '../oracle/exact.ts'
import type { Interval } from '../oracle/segments.ts'
import type { BillInput, ChargeBody, RecordBody, SeriesBody } from './bill-input.ts'
import { decimal, fraction, multiply, roundHalfEven } from './fraction.ts'

/** Record in 1e-9 kWh. `covered`: sorted and disjoint intervals in which actuals replace an estimate. */
export type BillRecord = IdentifiedRecord & { readonly covered: readonly Interval[] }

/** Flow and tariff direction of a record, such as `INBOUND+IMPORT`. */
export type Flow = 'INBOUND+IMPORT' | 'INBOUND+LOCAL' | 'OUTBOUND+EXPORT' | 'OUTBOUND+IMPORT'

const hourMs = 3_600_000
const fullConfidence = 1_000_000

const bodiesOfSeries = ({ start_time, step_minutes, values, ...members }: SeriesBody): RecordBody[] =>
  values.map((value, index) => {
    const at = (step: number): string => new Date(Date.parse(start_time) + step * step_minutes * 60_000).toISOString()
    return { ...members, units: members.units ?? 'KWH', value, start_time: at(index), end_time: at(index + 1) }
  })

const energyOf = ({ units, value }: RecordBody, { start, end }: Interval): bigint => {
  const kilo = units?.startsWith('K') === true ? 1n : 1000n
  const hours = units?.endsWith('H') === true ? fraction(1n) : fraction(BigInt(end - start), BigInt(hourMs))
  return roundHalfEven(multiply(multiply(decimal(value), hours), fraction(1_000_000_000n, kilo)))
}

const readRecord = (body: RecordBody): IdentifiedRecord => {
  const interval = { start: Date.parse(body.start_time), end: Date.parse(body.end_time) }
  const energyFlowDirection = body.energy_flow_direction ?? 'INBOUND'
  const members = {
    locationId: 'loc_1',
    deviceId: body.device_id ?? null,
    energyFlowDirection,
    ...interval,
    tariffDirection: body.tariff_direction ?? (energyFlowDirection === 'INBOUND' ? 'IMPORT' : 'EXPORT'),
    sessionReferenceId: body.session_reference_id ?? null,
    recordReferenceId: body.record_reference_id ?? null,
  } as const
  const confidence = Math.round((body.confidence ?? 1) * fullConfidence)
  const id = body.id ?? JSON.stringify(Object.values(members))
  return { id, record: { ...members, energy: energyOf(body, interval), confidence } }
}

const isSameSource = ({ record: a }: IdentifiedRecord, { record: b }: IdentifiedRecord): boolean =>
  a.deviceId === b.deviceId &&
  a.energyFlowDirection === b.energyFlowDirection &&
  a.tariffDirection === b.tariffDirection &&
  a.sessionReferenceId === b.sessionReferenceId

/** Return the time that any of the intervals covers, clipped to [start, end): sorted and disjoint. */
export const unionWithin = (intervals: readonly Interval[], { start, end }: Interval): Interval[] => {
  const joined: Interval[] = []
  for (const one of [...intervals].sort((a, b) => a.start - b.start)) {
    const from = Math.max(start, one.start)
    const to = Math.min(end, one.end)
    if (from >= to) continue
    const last = joined.at(-1)
    if (last === undefined || last.end < from) joined.push({ start: from, end: to })
    else joined.splice(-1, 1, { start: last.start, end: Math.max(last.end, to) })
  }
  return joined
}

/** Read all records. A record that is sent again replaces the earlier one. */
export const readRecords = ({ records, series }: BillInput): BillRecord[] => {
  const bodies = [...(records ?? []), ...(series ?? []).flatMap(bodiesOfSeries)]
  const valid = [...new Map(bodies.map(readRecord).map(one => [one.id, one])).values()]
  const actuals = valid.filter(({ record }) => record.confidence === fullConfidence)
  return valid.map(one => {
    if (one.record.confidence === fullConfidence) return { ...one, covered: [] }
    const covering = actuals.filter(actual => isSameSource(actual, one)).map(({ record }) => record)
    return { ...one, covered: unionWithin(covering, one.record) }
  })
}

const energyUntil = ({ start, end, energy }: IdentifiedRecord['record'], at: number): bigint =>
  divideHalfEven(energy * BigInt(at - start), BigInt(end - start))

/** Return the energy of a record in [from, to), less the energy that actuals took. */
export const energyBetween = ({ record, covered }: BillRecord, from: number, to: number): bigint => {
  if (record.start === record.end) return from <= record.start && record.start < to ? record.energy : 0n
  const start = Math.max(from, record.start)
  const end = Math.min(to, record.end)
  if (start >= end) return 0n
  const taken = unionWithin(covered, { start, end })
  const lost = taken.reduce((sum, part) => sum + energyUntil(record, part.end) - energyUntil(record, part.start), 0n)
  return energyUntil(record, end) - energyUntil(record, start) - lost
}

export const remainingEnergy = (one: BillRecord): bigint =>
  energyBetween(one, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY)

/** Return true if a part of a record is in [from, to). */
export const hasPartIn = ({ record: { start, end } }: BillRecord, from: number, to: number): boolean =>
  start === end ? from <= start && start < to : start < to && end > from

const isOfFlow = ({ record }: BillRecord, flow: Flow): boolean =>
  `${record.energyFlowDirection}+${record.tariffDirection}` === flow

export type IncludeDevices = 'auto' | boolean

/**
 * Return the records of a flow that a statement bills.
 * `auto`: the location's own records, and those of devices if the location has no own record with energy.
 */
export const billedRecords = (records: readonly BillRecord[], include: IncludeDevices, flow: Flow): BillRecord[] => {
  const ofFlow = records.filter(one => isOfFlow(one, flow))
  if (include === true) return ofFlow
  const isOwn = ({ record }: BillRecord): boolean => record.deviceId === null
  const withEnergy = ofFlow.filter(({ record }) => record.energy > 0n)
  const areDevicesBilled = include === 'auto' && !withEnergy.some(isOwn)
  return ofFlow.filter(one => isOwn(one) || areDevicesBilled)
}

/** Records that a charge adds, and records that it subtracts in each interval. */
export type CountedRecords = { readonly added: readonly BillRecord[]; readonly subtracted: readonly BillRecord[] }

/** Return the records that a charge counts. Named devices count, whether or not the statement bills devices. */
export const countedRecords = (
  records: readonly BillRecord[],
  include: IncludeDevices,
  { counts, device_ids }: ChargeBody,
): CountedRecords => {
  const of = (flow: Flow): BillRecord[] =>
    device_ids == null
      ? billedRecords(records, include, flow)
      : records.filter(one => isOfFlow(one, flow) && device_ids.includes(one.record.deviceId ?? ''))
  if (counts === 'EXPORT') return { added: of('OUTBOUND+EXPORT'), subtracted: [] }
  if (counts === 'GROSS') return { added: [...of('INBOUND+IMPORT'), ...of('INBOUND+LOCAL')], subtracted: [] }
  return { added: of('INBOUND+IMPORT'), subtracted: counts === 'NET_IMPORT' ? of('OUTBOUND+EXPORT') : [] }
}
