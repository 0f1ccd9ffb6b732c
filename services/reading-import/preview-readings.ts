import { writeDate } from '../domain/civil-date.ts'
import { localDayNumber, offsetAt, type TimeZone } from '../domain/civil-time.ts'
import { writeInstant } from '../domain/instant.ts'
import type { FileReading } from '../domain/interchange/reading.ts'
import { dayMs, minuteMs } from '../domain/interval.ts'
import { energyScale, formatDecimal, readEnergy } from '../domain/quantity.ts'

/** Reading as it would be stored. Times are in UTC; local times are absent without a zone. `value` null withdraws. */
export type PreviewedReading = {
  readonly line: number
  readonly direction: 'IMPORT' | 'EXPORT' | 'LOCAL'
  readonly kind: 'record' | 'register'
  readonly start_time: string
  readonly end_time: string
  readonly local_start_time?: string
  readonly local_end_time?: string
  readonly value: string | null
  readonly units: string
}

/** Energy of the records of a direction that start on a local day, or on a day of UTC without a zone; in kWh. */
export type PreviewedDay = {
  readonly day: string
  readonly direction: string
  readonly records: number
  readonly kwh: string
}

/** Preview of a file. The sums are those of the first `summed` records; `is_complete`: these are all records. */
export type ReadingPreview = {
  readonly zone: string | null
  readonly first: readonly PreviewedReading[]
  readonly days: readonly PreviewedDay[]
  readonly summed: number
  readonly is_complete: boolean
}

const maxFirst = 3
/** Records whose energies are added. */
const maxSummed = 100_000
/** Days at the beginning and at the end of the sums. */
const shownDays = 3

/** Decimals of an energy of 1e-6 Wh in kWh. */
const kilowattHourScale = energyScale + 3

const previewed = (reading: FileReading, zone: TimeZone | null): PreviewedReading => {
  const { line, start, end, value, units, directions, isRegister } = reading
  const local = (at: number, ofZone: TimeZone) => writeInstant(at, offsetAt(ofZone, at) / minuteMs)
  return {
    ...{ line, direction: directions?.tariffDirection ?? 'IMPORT', kind: isRegister ? 'register' : 'record' },
    ...{ start_time: writeInstant(start), end_time: writeInstant(end) },
    ...(zone === null ? {} : { local_start_time: local(start, zone), local_end_time: local(end, zone) }),
    ...{ value: value === 'null' ? null : value, units },
  }
}

/** Collects the readings of a dry run, in file order. `refusedLines` are lines with a refused reading. */
export type PreviewCollector = {
  readonly add: (readings: readonly FileReading[], refusedLines: ReadonlySet<number>) => void
  readonly end: () => ReadingPreview
}

/**
 * Preview the readings of a file: the first three as they would be stored, and sums of the first 100,000 records by local
 * day and direction. Sums are of the first and the last three days. Lines with a refused reading are left out.
 * Source: docs/rules/imports.md #preview.
 */
export const previewReadings = (zone: TimeZone | null): PreviewCollector => {
  const first: PreviewedReading[] = []
  const sums = new Map<string, { day: string; direction: string; records: number; energy: bigint }>()
  let [summed, isComplete] = [0, true]
  const addRecord = (reading: FileReading): void => {
    const { start, end, value, units, directions } = reading
    if (summed === maxSummed) isComplete = false
    const energy = readEnergy(value, units, end - start)
    if (!isComplete || !energy.ok) return
    summed += 1
    const day = writeDate(zone === null ? Math.floor(start / dayMs) : localDayNumber(zone, start))
    const direction = directions?.tariffDirection ?? 'IMPORT'
    const sum = sums.get(`${day} ${direction}`) ?? { day, direction, records: 0, energy: 0n }
    sums.set(`${day} ${direction}`, { ...sum, records: sum.records + 1, energy: sum.energy + energy.value })
  }
  return {
    add: (readings, refusedLines) => {
      for (const reading of readings) {
        if (refusedLines.has(reading.line)) continue
        if (first.length < maxFirst) first.push(previewed(reading, zone))
        if (!reading.isRegister) addRecord(reading)
      }
    },
    end: () => {
      const ordered = [...sums.values()].sort((a, b) =>
        `${a.day} ${a.direction}` < `${b.day} ${b.direction}` ? -1 : 1,
      )
      const names = [...new Set(ordered.map(({ day }) => day))]
      const shown = new Set([...names.slice(0, shownDays), ...names.slice(-shownDays)])
      const days = ordered
        .filter(({ day }) => shown.has(day))
        .map(({ energy, ...day }) => ({ ...day, kwh: formatDecimal(energy, kilowattHourScale) }))
      return { zone: zone?.name ?? null, first, days, summed, is_complete: isComplete }
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

/** Return the lines of a preview for the terminal. */
export const previewLines = ({
  zone,
  first,
  days,
  summed,
  is_complete: isComplete,
}: ReadingPreview): readonly string[] => {
  if (first.length === 0) return []
  const part = isComplete ? '' : `, of the first ${summed.toLocaleString('en')} records`
  return [
    `  First readings as they would be stored (${zone === null ? 'no zone is set' : `zone ${zone}`}):`,
    ...first.map(readingLine),
    ...(days.length === 0
      ? []
      : [`  Energy by ${zone === null ? 'day of UTC' : 'local day'}, first and last days${part}:`]),
    ...days.map(
      ({ day, direction, records, kwh }) =>
        `    ${day} ${direction}: ${kwh} kWh in ${records} record${records === 1 ? '' : 's'}`,
    ),
  ]
}
