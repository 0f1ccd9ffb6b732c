import { writeDate } from '../../domain/civil-date.ts'
import { localDayNumber, offsetAt, type TimeZone } from '../../domain/civil-time.ts'
import { writeInstant } from '../../domain/instant.ts'
import { dayMs, minuteMs } from '../../domain/interval.ts'
import { energyScale, formatDecimal, readEnergy } from '../../domain/quantity.ts'
import { objectNameText } from '../contract/file-reading.ts'
import type { FileReading, RefusedRow } from '../domain/reading.ts'
import type { CheckedReading } from './check-readings.ts'
import type { ReadingSource } from './reading-source.ts'
import { previewRegisters, type RegisterEnergy } from './register-preview.ts'

/** Reading as it would be stored. Times are in UTC; local times are absent without a zone. `value` null withdraws. */
export type PreviewedReading = {
  readonly line: number
  /** Device of the reading, else its location. */
  readonly object: string
  readonly direction: 'IMPORT' | 'EXPORT' | 'LOCAL'
  readonly kind: 'record' | 'register'
  readonly start_time: string
  readonly end_time: string
  readonly local_start_time?: string
  readonly local_end_time?: string
  readonly value: string | null
  readonly units: string
  /** Confidence of an estimate; null: actual. */
  readonly confidence: string | null
}

/**
 * Energy of the records of a direction that start on a local day, or on a day of UTC without a zone; in kWh. The records of
 * a register are the intervals between its readings in the file.
 */
export type PreviewedDay = {
  readonly day: string
  readonly direction: string
  readonly records: number
  readonly kwh: string
}

/**
 * Preview of a file. The sums are those of the first `summed` readings; `is_complete`: these are all readings. `totals` are
 * sums of all days. `time_label`: meaning of the single time of a row. `has_registers`: readings of registers are among
 * them. The energy since a reading that is stored already is unknown.
 */
export type ReadingPreview = {
  readonly zone: string | null
  readonly time_label: 'start' | 'end' | null
  readonly first: readonly PreviewedReading[]
  readonly days: readonly PreviewedDay[]
  readonly totals: readonly Omit<PreviewedDay, 'day'>[]
  readonly summed: number
  readonly has_registers: boolean
  readonly is_complete: boolean
}

const maxFirst = 3
/** Readings whose energies are added. */
const maxSummed = 100_000
/** Days at the beginning and at the end of the sums. */
const shownDays = 3

/** Decimals of an energy of 1e-6 Wh in kWh. */
const kilowattHourScale = energyScale + 3

type Sum = { readonly direction: string; readonly records: number; readonly energy: bigint }

const more = ({ direction, records, energy }: Sum, added: bigint): Sum => ({
  direction,
  records: records + 1,
  energy: energy + added,
})

const previewed = (reading: FileReading, zone: TimeZone | null): PreviewedReading => {
  const { line, location, device, start, end, value, units, directions, isRegister, confidence } = reading
  const local = (at: number, ofZone: TimeZone) => writeInstant(at, offsetAt(ofZone, at) / minuteMs)
  return {
    line,
    object: objectNameText(device ?? location),
    direction: directions?.tariffDirection ?? 'IMPORT',
    kind: isRegister ? 'register' : 'record',
    start_time: writeInstant(start),
    end_time: writeInstant(end),
    ...(zone === null ? {} : { local_start_time: local(start, zone), local_end_time: local(end, zone) }),
    value: value === 'null' ? null : value,
    units,
    confidence,
  }
}

/**
 * Collects the checked readings of a dry run, in file order. `add` returns the readings of registers that would fail, such
 * as one below the reading before it.
 */
export type PreviewCollector = {
  readonly add: (checked: readonly CheckedReading[]) => Promise<readonly RefusedRow[]>
  readonly end: () => ReadingPreview
}

/** Adds energies by local day and by direction. */
const energySums = (zone: TimeZone | null) => {
  const days = new Map<string, Sum & { readonly day: string }>()
  const totals = new Map<string, Sum>()
  const add = ({ direction, start, energy }: RegisterEnergy): void => {
    const day = writeDate(zone === null ? Math.floor(start / dayMs) : localDayNumber(zone, start))
    const none = { direction, records: 0, energy: 0n }
    const sum = days.get(`${day} ${direction}`) ?? { day, ...none }
    days.set(`${day} ${direction}`, { ...sum, ...more(sum, energy) })
    totals.set(direction, more(totals.get(direction) ?? none, energy))
  }
  return { add, days, totals }
}

/**
 * Preview the readings of a file: the first three as they would be stored, and sums of the first 100,000 readings by local
 * day and direction. Sums are of the first and the last three days, and of all days. Lines with a refused reading are left out.
 * Source: docs/rules/imports.md #preview.
 */
export const previewReadings = ({ zone = null, label }: Pick<ReadingSource, 'zone' | 'label'>): PreviewCollector => {
  const first: PreviewedReading[] = []
  const sums = energySums(zone)
  const registers = previewRegisters()
  let [summed, isComplete, hasRegisters] = [0, true, false]
  const addRecord = ({ start, end, value, units, directions }: FileReading): void => {
    const energy = readEnergy(value, units, end - start)
    const direction = directions?.tariffDirection ?? 'IMPORT'
    if (energy.ok) sums.add({ direction, start, energy: energy.value })
  }
  return {
    add: checked => {
      for (const { reading } of checked.slice(0, maxFirst - first.length)) first.push(previewed(reading, zone))
      const added = checked.slice(0, maxSummed - summed)
      if (added.length < checked.length) isComplete = false
      summed += added.length
      for (const { reading } of added) if (!reading.isRegister) addRecord(reading)
      const ofRegisters = added.filter(({ reading }) => reading.isRegister)
      if (ofRegisters.length > 0) hasRegisters = true
      return registers.add(ofRegisters)
    },
    end: () => {
      for (const energy of registers.energies()) sums.add(energy)
      const ordered = [...sums.days.values()].sort((a, b) =>
        `${a.day} ${a.direction}` < `${b.day} ${b.direction}` ? -1 : 1,
      )
      const names = [...new Set(ordered.map(({ day }) => day))]
      const shown = new Set([...names.slice(0, shownDays), ...names.slice(-shownDays)])
      const days = ordered
        .filter(({ day }) => shown.has(day))
        .map(({ energy, ...day }) => ({ ...day, kwh: formatDecimal(energy, kilowattHourScale) }))
      return {
        zone: zone?.name ?? null,
        time_label: label?.() ?? null,
        first,
        days,
        summed,
        has_registers: hasRegisters,
        is_complete: isComplete,
        totals: [...sums.totals.values()]
          .sort((a, b) => (a.direction < b.direction ? -1 : 1))
          .map(({ energy, ...total }) => ({ ...total, kwh: formatDecimal(energy, kilowattHourScale) })),
      }
    },
  }
}

const readingLine = (reading: PreviewedReading): string => {
  const { line, direction, kind, start_time: start, end_time: end, value, units } = reading
  const { local_start_time: localStart, local_end_time: localEnd } = reading
  const times = kind === 'register' ? end : `${start} to ${end}`
  const local =
    localStart === undefined ? '' : `, local ${kind === 'register' ? localEnd : `${localStart} to ${localEnd}`}`
  return `    line ${line}: ${value === null ? 'withdrawn' : `${value} ${units}`} ${kind === 'register' ? 'register ' : ''}${direction}, ${times}${local}`
}

const sumText = (sum: Omit<PreviewedDay, 'day'>): string =>
  `${sum.direction}: ${sum.kwh} kWh in ${sum.records.toLocaleString('en')} record${sum.records === 1 ? '' : 's'}`

/** What a preview says about the readings of registers. */
export const registersRemark =
  'The energy of a register is that between its readings in the file. Readings that are stored already are not compared.'

/** Return the lines of a preview for the terminal. */
export const previewLines = ({
  zone,
  time_label: label,
  first,
  days,
  totals,
  summed,
  has_registers: hasRegisters,
  is_complete: isComplete,
}: ReadingPreview): readonly string[] => {
  if (first.length === 0) return []
  const part = isComplete ? '' : `, of the first ${summed.toLocaleString('en')} readings`
  return [
    `  First readings as they would be stored (${zone === null ? 'no zone is set' : `zone ${zone}`}):`,
    ...first.map(readingLine),
    ...(label === null ? [] : [`  The time of a row is read as the ${label} of its interval.`]),
    ...(days.length === 0
      ? []
      : [`  Energy by ${zone === null ? 'day of UTC' : 'local day'}, first and last days${part}:`]),
    ...days.map(day => `    ${day.day} ${sumText(day)}`),
    ...(days.length === 0 ? [] : [`  Sum of all days${part}:`]),
    ...totals.map(total => `    ${sumText(total)}`),
    ...(hasRegisters ? [`  ${registersRemark}`] : []),
  ]
}
