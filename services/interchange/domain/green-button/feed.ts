import type { Noted, NotImported, NotImportedReason } from '../report.ts'
import { currencyCodeOf } from './currency-numbers.ts'
import { type EspiEntry, type EspiValue, elements, member, textMember } from './espi.ts'

/** Conversion of the values of a meter reading to energy: value × 10^exponent in Wh or W. */
export type ReadingMeaning = {
  readonly exponent: number
  readonly units: 'WH' | 'W'
  /** INBOUND is bought, OUTBOUND is sold, NET is sold where it is negative. */
  readonly flow: 'INBOUND' | 'OUTBOUND' | 'NET'
  readonly isRegister: boolean
}

/** Meter reading of a feed: its usage point, and the meaning of its values; null if it cannot be imported. */
export type EspiMeterReading = {
  readonly self: string
  readonly related: readonly string[]
  readonly usagePoint: string | null
  readonly meaning: ReadingMeaning | null
  /** Code of the currency of its costs; null if there is none. */
  readonly currencyCode: string | null
}

/** Objects of a feed that the interval blocks need. */
export type EspiFeed = {
  readonly meterReadings: readonly EspiMeterReading[]
  /** Self links of the usage points with electricity. */
  readonly usagePoints: readonly string[]
  readonly notImported: readonly NotImported[]
  readonly noted: readonly Noted[]
}

/** Reason why values cannot be imported, and the text of the report. */
type Unusable = { readonly reason: NotImportedReason; readonly message: string }

const flows: Readonly<Record<string, ReadingMeaning['flow']>> = { '1': 'INBOUND', '4': 'NET', '19': 'OUTBOUND' }
const units: Readonly<Record<string, ReadingMeaning['units']>> = { '72': 'WH', '38': 'W' }
const accumulations: Readonly<Record<string, boolean>> = { '3': true, '4': false, '9': true }

/** Read the meaning of a ReadingType. Source: docs/rules/imports.md #green-button. */
export const readingMeaning = (type: EspiValue): ReadingMeaning | Unusable => {
  const uom = textMember(type, 'uom') ?? ''
  const unit = units[uom]
  if (unit === undefined)
    return { reason: 'unit', message: `The unit ${uom || 'is absent; it'} is no energy. uom must be 72 or 38.` }
  const flowText = textMember(type, 'flowDirection') ?? '1'
  const flow = flows[flowText]
  if (flow === undefined) return { reason: 'unit', message: `flowDirection ${flowText} is not 1, 4 or 19.` }
  const accumulation = textMember(type, 'accumulationBehaviour') ?? '4'
  const isRegister = accumulations[accumulation]
  if (isRegister === undefined)
    return { reason: 'unit', message: `accumulationBehaviour ${accumulation} is not 3, 4 or 9.` }
  if (unit === 'W' && isRegister) return { reason: 'power_reading', message: 'A register of power has no energy.' }
  if (isRegister && flow === 'NET') return { reason: 'netting', message: 'A register of net energy can fall.' }
  const multiplier = textMember(type, 'powerOfTenMultiplier') ?? '0'
  if (!/^-?\d{1,2}$/.test(multiplier)) return { reason: 'unit', message: `powerOfTenMultiplier is "${multiplier}".` }
  return { exponent: Number(multiplier), units: unit, flow, isRegister }
}

const notImported = (path: string, { reason, message }: Unusable): NotImported => ({
  path,
  reason,
  affects: 'bill',
  message,
})

/** Return whether `inner` is at or below `outer` by their links. */
const isBelow = (inner: string, outer: string): boolean =>
  outer !== '' && (inner === outer || inner.startsWith(`${outer}/`))

const usagePointOf = (entry: EspiEntry, usagePoints: readonly EspiEntry[]): EspiEntry | undefined =>
  usagePoints.find(({ self }) => isBelow(entry.self, self)) ??
  usagePoints.find(({ related }) => related.some(href => href === entry.self || entry.up.includes(href))) ??
  (usagePoints.length === 1 ? usagePoints[0] : undefined)

const typeOf = (entry: EspiEntry, types: readonly EspiEntry[]): EspiEntry | undefined =>
  types.find(({ self }) => entry.related.includes(self)) ?? (types.length === 1 ? types[0] : undefined)

const isElectric = ({ content }: EspiEntry): boolean =>
  (textMember(member(content, 'ServiceCategory'), 'kind') ?? '0') === '0'

const currencyOf = (type: EspiValue | undefined): string | null =>
  currencyCodeOf(Number(textMember(type, 'currency') ?? '0')) ?? null

/** Kinds of entries that `openEspiFeed` reads. Entries of other kinds are noted. */
const usedKinds: readonly string[] = ['UsagePoint', 'MeterReading', 'ReadingType', 'IntervalBlock']

/**
 * Link the objects of a feed. Usage points with other commodities and readings with other units are not imported. Each place
 * is the self link of the object.
 */
export const openEspiFeed = (entries: readonly EspiEntry[]): EspiFeed => {
  const ofKind = (kind: string) => entries.filter(entry => entry.kind === kind)
  const [points, types] = [ofKind('UsagePoint'), ofKind('ReadingType')]
  const problems: NotImported[] = points
    .filter(point => !isElectric(point))
    .map(({ self }) => notImported(self, { reason: 'other_commodity', message: 'The usage point has no electricity.' }))
  const meterReadings = ofKind('MeterReading').map((entry): EspiMeterReading => {
    const point = usagePointOf(entry, points)
    const type = typeOf(entry, types)
    const { self, related } = entry
    const currencyCode = currencyOf(type?.content)
    const link = { self, related, usagePoint: point?.self ?? null, currencyCode }
    if (point !== undefined && !isElectric(point)) return { ...link, meaning: null }
    const meaning = type === undefined ? noType : readingMeaning(type.content)
    if (!('reason' in meaning)) return { ...link, meaning }
    problems.push(notImported(self, meaning))
    return { ...link, meaning: null }
  })
  return {
    meterReadings,
    usagePoints: points.filter(isElectric).map(({ self }) => self),
    notImported: problems,
    noted: entries
      .filter(({ kind }) => !usedKinds.includes(kind))
      .map(({ self, kind }) => ({ path: self, message: `${kind} has no readings.` })),
  }
}

const noType: Unusable = { reason: 'unit', message: 'The meter reading has no ReadingType, so its unit is unknown.' }

/** Return the meter reading of an interval block; undefined if no link names it. */
export const meterReadingOf = (block: EspiEntry, { meterReadings }: EspiFeed): EspiMeterReading | undefined =>
  meterReadings.find(({ self }) => isBelow(block.self, self)) ??
  meterReadings.find(({ related }) => related.some(href => href === block.self || block.up.includes(href))) ??
  (meterReadings.length === 1 ? meterReadings[0] : undefined)

/** Return the interval readings of a block entry, which can have several blocks. */
export const intervalReadings = ({ content }: EspiEntry): readonly EspiValue[] =>
  (Array.isArray(content) ? (content as readonly EspiValue[]) : [content]).flatMap(block =>
    elements(block, 'IntervalReading'),
  )
