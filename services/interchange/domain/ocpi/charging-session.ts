import type { PercentageCharge, SessionCharge } from '../../../domain/charge/charge.ts'
import { createTimeInWindows, type LocalCalendar } from '../../../domain/charge/charge-window.ts'
import { localDayNumber } from '../../../domain/civil-time.ts'
import type { Interval } from '../../../domain/interval.ts'
import { type Energy, type Money, type Percentage, timesPercentage } from '../../../domain/quantity.ts'
import type { MeteredSession } from '../../../domain/statement/metered-energy.ts'
import { sessionAmount } from '../../../domain/statement/session-line.ts'
import type { ExportedPiece, ExportedRecord, NotExported, NotExportedReason } from '../exported-record.ts'

/** Parts of the cost of a session, in the order of a charge detail record. */
export const costParts = ['energy', 'fixed', 'time', 'parking'] as const
export type CostPart = (typeof costParts)[number]

/** Amounts of a session by part. A part that the session does not have is absent. */
export type CostByPart = Readonly<Partial<Record<CostPart, Money>>>

/** Tax of a session: its rate, and its amount on each part. */
export type SessionTax = { readonly name: string; readonly rate: Percentage; readonly amounts: CostByPart }

/** Part of a session with its energy. A time without a record has energy 0. */
export type ChargingPeriod = Interval & { readonly energy: Energy }

/** Charging session with its cost. The periods are in order and cover the time from its start to its end. */
export type ChargingSession = Interval & {
  readonly reference: string
  readonly currencyCode: string
  readonly periods: readonly ChargingPeriod[]
  readonly costs: CostByPart
  readonly taxes: readonly SessionTax[]
}

/** Charges of the location of a session, and its clock. */
export type SessionPricing = LocalCalendar & {
  readonly charges: readonly SessionCharge[]
  readonly taxes: readonly PercentageCharge[]
}

/** Maximum length of the id of a charge detail record. */
const maxIdLength = 36

const isEmpty = ({ energy, cost }: ExportedPiece): boolean => energy === 0n && cost === 0n

/**
 * Order pieces as periods, and fill the times between them with periods of energy 0. Pieces without energy and cost are
 * such times. Null if pieces overlap.
 */
const periodsOf = (pieces: readonly ExportedPiece[], { start, end }: Interval): readonly ChargingPeriod[] | null => {
  const periods: ChargingPeriod[] = []
  let at = start
  const fillTo = (to: number): void => {
    // Pieces without energy keep their edges, so that each of them is a period.
    const edges = pieces.filter(isEmpty).flatMap(piece => [piece.start, piece.end])
    for (const edge of [...new Set([...edges.filter(one => one > at && one < to), to])].sort((a, b) => a - b)) {
      if (edge > at) periods.push({ start: at, end: edge, energy: 0n })
      at = Math.max(at, edge)
    }
  }
  const ordered = pieces.filter(piece => !isEmpty(piece)).sort((a, b) => a.start - b.start || a.end - b.end)
  for (const piece of ordered) {
    if (piece.start < at) return null
    fillTo(piece.start)
    periods.push({ start: piece.start, end: piece.end, energy: piece.energy })
    at = piece.end
  }
  fillTo(end)
  return periods
}

const partOf = ({ per, while: state }: SessionCharge): Exclude<CostPart, 'energy'> =>
  per === 'SESSION' ? 'fixed' : state === 'IDLE' ? 'parking' : 'time'

const isPaidOn = (day: number, { startDay, endDay }: SessionCharge | PercentageCharge): boolean =>
  (startDay === null || startDay <= day) && (endDay === null || day < endDay)

/** Return the time from the first start to the last end. */
const sessionSpan = (records: readonly Interval[]): Interval => ({
  start: records.reduce((first, { start }) => Math.min(first, start), Number.POSITIVE_INFINITY),
  end: records.reduce((last, { end }) => Math.max(last, end), Number.NEGATIVE_INFINITY),
})

const sumOf = (amounts: readonly Money[]): Money => amounts.reduce((sum, amount) => sum + amount, 0n)

/** Amount of a charge for a session. */
type ChargedAmount = { readonly charge: SessionCharge; readonly part: CostPart; readonly amount: Money }

/** Return the session of the records that a charge reads; null if it reads none. */
const sessionOf = ({ deviceIds }: SessionCharge, all: readonly ExportedRecord[]): MeteredSession | null => {
  const records = all.filter(
    ({ deviceId }) => deviceIds === null || (deviceId !== null && deviceIds.includes(deviceId)),
  )
  if (records.length === 0) return null
  const { start, end } = sessionSpan(records)
  const withEnergy = records.filter(({ energy }) => energy > 0n)
  return { start, end, idleFrom: withEnergy.length === 0 ? null : sessionSpan(withEnergy).end }
}

const chargedAmounts = (records: readonly ExportedRecord[], pricing: SessionPricing): readonly ChargedAmount[] =>
  pricing.charges.flatMap(charge => {
    const session = sessionOf(charge, records)
    if (session === null || !isPaidOn(localDayNumber(pricing.timeZone, session.end), charge)) return []
    const amount = sessionAmount(charge, session, createTimeInWindows(charge.windows, pricing))
    return [{ charge, part: partOf(charge), amount }]
  })

/** Calculate a tax of a session. Null if the tax reads some components of the energy only. */
const taxOf = (tax: PercentageCharge, energy: Money, charged: readonly ChargedAmount[]): SessionTax | null => {
  const { kinds, components, directions } = tax.base
  const isOfImport = directions.includes('IMPORT')
  const hasKind = (kind: 'ENERGY' | 'SESSION'): boolean => isOfImport && (kinds === null || kinds.includes(kind))
  const taxesEnergy = hasKind('ENERGY')
  if (
    taxesEnergy &&
    components !== null &&
    !components.every(name => charged.some(one => one.charge.component === name))
  )
    return null
  const amounts: Partial<Record<CostPart, Money>> = {}
  if (taxesEnergy && components === null) amounts.energy = timesPercentage(energy, tax.rate)
  for (const { charge, part, amount } of charged) {
    if (!hasKind('SESSION') || (components !== null && !components.includes(charge.component))) continue
    amounts[part] = (amounts[part] ?? 0n) + timesPercentage(amount, tax.rate)
  }
  return { name: tax.name, rate: tax.rate, amounts }
}

const objectionTo = (
  reference: string,
  records: readonly ExportedRecord[],
): readonly [NotExportedReason, string] | null => {
  if (reference.length > maxIdLength)
    return ['reference_too_long', `The reference has more than ${maxIdLength} characters.`]
  if (records.some(({ cost }) => cost === null)) return ['unpriced', 'A record of the session has no price.']
  if (records.some(one => one.energyFlowDirection !== 'INBOUND' || one.tariffDirection !== 'IMPORT'))
    return ['direction', 'The session has records other than bought energy.']
  if (new Set(records.map(({ currencyCode }) => currencyCode)).size > 1)
    return ['currency', 'The records of the session have several currencies.']
  return null
}

/** Result of `chargingSessionOf`: the session, or the reason why a charge detail record cannot express it. */
export type SessionResult = ChargingSession | NotExported

export const isNotExported = (result: SessionResult): result is NotExported => 'reason' in result

/**
 * Combine the records of a session at one location with the charges and taxes of the location. `records` is not empty.
 * Law: the periods add up to the energy of the records, and `costs.energy` is their cost.
 * Source: docs/formats-out.md #ocpi-cdr.
 */
export const chargingSessionOf = (
  reference: string,
  records: readonly ExportedRecord[],
  pricing: SessionPricing,
): SessionResult => {
  const notExported = (reason: NotExportedReason, message: string): NotExported => ({ id: reference, reason, message })
  const objection = objectionTo(reference, records)
  if (objection !== null) return notExported(...objection)
  const { start, end } = sessionSpan(records)
  const pieces = records.flatMap(one => one.pieces)
  const periods = periodsOf(pieces, { start, end })
  if (periods === null) return notExported('overlap', 'Records of the session overlap.')
  const energy = sumOf(pieces.map(({ cost }) => cost))
  const charged = chargedAmounts(records, pricing)
  const day = localDayNumber(pricing.timeZone, end)
  const taxes = pricing.taxes.filter(tax => isPaidOn(day, tax)).map(tax => taxOf(tax, energy, charged))
  if (taxes.includes(null)) return notExported('tax_of_components', 'A tax reads some components of the energy only.')
  const costs: Partial<Record<CostPart, Money>> = { energy }
  for (const { part, amount } of charged) costs[part] = (costs[part] ?? 0n) + amount
  return {
    reference,
    start,
    end,
    periods,
    costs,
    currencyCode: records[0]?.currencyCode ?? '',
    taxes: taxes.filter(tax => tax !== null),
  }
}
