import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Folder of the inputs, a copy of the acceptance files without those that are generated here. */
export const fieldFolder = join(import.meta.dirname, '../../acceptance/field')

/** Form of a CSV file, in the words of the parameters of `PUT /meters/interval`. */
export type FileForm = Readonly<Record<string, string>>

/** Start, end and energy in Wh of a stored record. */
export type StoredInterval = readonly [start: string, end: string, wh: number]

type Outcome = {
  readonly title: string
  readonly location: object
  /** Lines of the file that are refused, with their codes. The lines of a register count its header. */
  readonly refused: readonly (readonly [line: number, code: string])[]
  readonly stored: readonly StoredInterval[]
}

/** Readings of a counting register, as a body of `PUT /meters/cumulative/epoch` without its location. */
export type RegisterCase = Outcome & { readonly units: 'WH' | 'KWH'; readonly data: readonly RegisterReading[] }
/** Time in seconds; the value null withdraws the reading. */
export type RegisterReading = { readonly time: number; readonly value: number | null }

/**
 * File with records. `refusedRecords`: the file has more rows than a submission. These are refused if a program sends
 * its rows as records, without their other columns.
 */
export type FileCase = Outcome & {
  readonly text: string
  readonly form: FileForm
  readonly refusedRecords?: Outcome['refused']
}

const readText = (path: string): string => readFileSync(join(fieldFolder, path), 'utf8')

const registerFile = (path: string): readonly RegisterReading[] =>
  readText(path)
    .trim()
    .split('\n')
    .slice(1)
    .map(row => row.split(','))
    .map(([time = '', value]) => ({ time: Date.parse(time) / 1000, value: Number(value) }))

const registerBody = (path: string): readonly RegisterReading[] =>
  JSON.parse(readText(path))['PUT /meters/cumulative/epoch'].data

const lifetime = { register: { kind: 'LIFETIME' } }
const zero = registerFile('01-register-momentary-zero/register-zero.csv')
const sessionRelative = registerFile('01-register-momentary-zero/register-session-relative.csv')

/** Registers that show another value for a moment. */
export const registerCases: readonly RegisterCase[] = [
  {
    title: 'a register that shows 0 for a moment counts 700 Wh',
    location: lifetime,
    units: 'WH',
    data: zero,
    refused: [[3, 'register_dip']],
    stored: [['2026-03-01T08:00:00Z', '2026-03-01T10:00:00Z', 700]],
  },
  {
    title: 'a register that shows 0 for a moment is refused if its kind is unknown',
    location: {},
    units: 'WH',
    data: zero,
    stored: [],
    refused: [
      [3, 'register_decreased'],
      [4, 'implausible_energy'],
    ],
  },
  {
    title: 'a register that shows the energy of a session counts 400 Wh',
    location: lifetime,
    units: 'KWH',
    data: sessionRelative,
    refused: [
      [3, 'register_dip'],
      [4, 'register_dip'],
      [5, 'register_dip'],
    ],
    stored: [['2026-03-01T08:00:00Z', '2026-03-01T09:00:00Z', 400]],
  },
  {
    title: 'a register that shows the energy of a session is refused if its kind is unknown',
    location: {},
    units: 'KWH',
    data: sessionRelative,
    refused: [
      [3, 'register_decreased'],
      [6, 'implausible_energy'],
    ],
    stored: [
      ['2026-03-01T08:15:00Z', '2026-03-01T08:30:00Z', 124],
      ['2026-03-01T08:30:00Z', '2026-03-01T08:45:00Z', 125],
    ],
  },
  {
    title: 'a small dip counts once: 4,000 + 4.1 + 3,995.9 = 8,000 Wh',
    location: lifetime,
    units: 'WH',
    refused: [[5, 'register_dip']],
    data: registerBody('01-register-momentary-zero/register-small-dip.json'),
    stored: [
      ['2026-03-01T10:00:00Z', '2026-03-01T11:00:00Z', 4000],
      ['2026-03-01T11:00:00Z', '2026-03-01T11:01:00Z', 4.1],
      ['2026-03-01T11:01:00Z', '2026-03-01T13:00:00Z', 3995.9],
    ],
  },
  {
    title: 'a reading of another meter is left out',
    location: {},
    units: 'KWH',
    refused: [[3, 'implausible_energy']],
    data: registerBody('01-register-momentary-zero/register-foreign-reading.json'),
    stored: [['2026-03-01T09:00:00Z', '2026-03-01T10:00:00Z', 1000]],
  },
]

const hourMs = 3_600_000
const hourText = (hour: number): string =>
  new Date(Date.UTC(2026, 0, 1) + hour * hourMs).toISOString().replace('.000', '')

/** Rows of electricity, then rows of gas in the same hours. */
export const twoCommodities = (hours: number): string => {
  const rows = (type: string, value: string): readonly string[] =>
    Array.from({ length: hours }, (_, hour) => `${hourText(hour)},871000000000000000,${value},${type}`)
  const lines = ['Datum,EAN,Verbruik,Type', ...rows('Elektriciteit', '1.000'), ...rows('Gas', '0.100')]
  return `${lines.join('\n')}\n`
}

const hoursOf = (count: number): readonly StoredInterval[] =>
  Array.from({ length: count }, (_, hour) => [hourText(hour), hourText(hour + 1), 1000])

const commodities = (hours: number): Omit<FileCase, 'title' | 'refused'> => ({
  location: { timezone: 'Europe/Brussels' },
  text: twoCommodities(hours),
  stored: hoursOf(hours),
  form: { columns: 'start=Datum,value=Verbruik', unit: 'KWH', interval: 'PT1H' },
})

const gasRefused = (hours: number, code = 'other_quantity'): FileCase['refused'] =>
  Array.from({ length: hours }, (_, hour) => [hours + hour + 2, code])

/** 24 kWh on each of the local days that begin at these times. */
const days = (...starts: readonly string[]): readonly StoredInterval[] =>
  starts.slice(1).map((end, day) => [starts[day] ?? '', end, 24_000])

// Brussels has summer time from 29 March to 25 October: these days have 23 and 25 hours.
const spring = days('2026-03-27T23:00:00Z', '2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z', '2026-03-30T22:00:00Z')
const autumn = days('2026-10-23T22:00:00Z', '2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z', '2026-10-26T23:00:00Z')

const daily = (name: string, stored: readonly StoredInterval[], form: FileForm): FileCase => ({
  title: `${name} has 24 kWh on each local day`,
  location: { timezone: 'Europe/Brussels' },
  refused: [],
  stored,
  text: readText(`08-daily-values-over-a-clock-change/${name}`),
  form: { unit: 'KWH', zone: 'Europe/Brussels', ...form },
})

const longDays = { columns: 'start=day,value=kWh', interval: 'P1D' }
const doubledHour = {
  location: { timezone: 'Europe/Berlin' },
  text: readText('11-session-end-in-doubled-hour/session-doubled-hour.csv'),
  form: { unit: 'KWH', zone: 'Europe/Berlin', date_format: 'dd.MM.yyyy HH:mm', columns: 'value=kWh' },
}
const charger = {
  location: { timezone: 'Europe/Berlin' },
  text: readText('11-session-end-in-doubled-hour/evcc-de.csv'),
  form: {
    unit: 'KWH',
    zone: 'Europe/Berlin',
    date_format: 'dd.MM.yyyy HH:mm:ss',
    decimal: 'comma',
    thousands: 'point',
    columns: 'start=Startzeit,end=Endzeit,value=Energie (kWh)',
  },
}
const firstSession: StoredInterval = ['2026-04-30T20:00:00Z', '2026-05-01T00:00:00Z', 40_000]
const lastSession: StoredInterval = ['2026-10-27T07:00:00Z', '2026-10-27T08:00:00Z', 1_234_500]

/** Files with records. */
export const fileCases: readonly FileCase[] = [
  { ...commodities(24), title: 'the gas of 24 hours is refused', refused: gasRefused(24) },
  { ...commodities(3000), title: 'the gas of 3,000 hours is refused', refused: gasRefused(3000) },
  {
    ...commodities(6000),
    title: 'the gas of 6,000 hours is refused',
    refused: gasRefused(6000),
    refusedRecords: gasRefused(6000, 'duplicate_row'),
  },
  {
    ...commodities(24),
    title: 'the electricity of a mixed file can be chosen',
    refused: [],
    form: { ...commodities(24).form, where: 'Type=Elektriciteit' },
  },
  daily('days-over-clock-change.csv', spring, longDays),
  daily('days-wide0.csv', spring, { layout: 'wide' }),
  daily('days-wide.csv', spring, { layout: 'wide', delimiter: 'semicolon' }),
  daily('days-over-autumn.csv', autumn, longDays),
  {
    title: 'a file without a header has 10 + 20 + 30 = 60 kWh',
    location: {},
    refused: [],
    text: readText('09-file-without-header/no-header.csv'),
    form: { columns: 'start=1,value=2', unit: 'KWH', interval: 'PT1H' },
    stored: [
      ['2026-04-01T00:00:00Z', '2026-04-01T01:00:00Z', 10_000],
      ['2026-04-01T01:00:00Z', '2026-04-01T02:00:00Z', 20_000],
      ['2026-04-01T02:00:00Z', '2026-04-01T03:00:00Z', 30_000],
    ],
  },
  {
    ...doubledHour,
    title: 'a session that ends in the doubled hour is ambiguous',
    stored: [],
    refused: [
      [2, 'ambiguous_time'],
      [3, 'ambiguous_time'],
    ],
  },
  {
    ...doubledHour,
    title: 'a session can end in the later doubled hour',
    refused: [],
    form: { ...doubledHour.form, ambiguous: 'later' },
    stored: [
      ['2026-10-24T21:30:00Z', '2026-10-25T01:30:00Z', 3000],
      ['2026-10-24T21:31:00Z', '2026-10-25T01:31:00Z', 4000],
    ],
  },
  {
    ...charger,
    title: 'a German file of a charger has two sessions that are certain',
    // The published case counts line 3 as right. It ends in the doubled hour, so it is ambiguous without a choice.
    refused: [
      [3, 'ambiguous_time'],
      [4, 'ambiguous_time'],
      [5, 'not_a_time'],
    ],
    stored: [firstSession, lastSession],
  },
  {
    ...charger,
    title: 'a German file of a charger has all sessions with an end if the hour is chosen',
    form: { ...charger.form, ambiguous: 'later' },
    refused: [[5, 'not_a_time']],
    stored: [
      firstSession,
      ['2026-10-24T21:30:00Z', '2026-10-25T01:30:00Z', 8000],
      ['2026-10-25T01:15:00Z', '2026-10-25T02:15:00Z', 4000],
      lastSession,
    ],
  },
]

type FirstOfMay = { readonly 'PUT /meters/interval': readonly object[]; readonly location: object }

/** Records at the edges of May: 10 kWh on 1 May 00:01 and 7 kWh on 1 June 00:30, local time. */
export const firstOfMay: FirstOfMay = JSON.parse(readText('12-export-by-dates/first-of-may.json'))

/** References that an export and an import must leave as they are. */
export const references: readonly string[] = JSON.parse(
  readText('13-csv-round-trip/references.json'),
).session_reference_id

/** Columns of an export of records that is imported again. */
export const exportedColumns =
  'start=start_time,end=end_time,value=energy_wh,session=session_reference_id,direction=tariff_direction'

/** Records of 1 kWh an hour, each with a reference. */
export const referencedRecords = (location: string): readonly object[] =>
  references.map((session_reference_id, hour) => ({
    location_id: location,
    units: 'KWH',
    value: 1,
    session_reference_id,
    start_time: new Date(Date.UTC(2026, 2, 1, hour)).toISOString(),
    end_time: new Date(Date.UTC(2026, 2, 1, hour + 1)).toISOString(),
  }))
