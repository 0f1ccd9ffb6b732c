import { writeInstant } from '../../../services/domain/instant.ts'
import { hourMs, minuteMs } from '../../../services/domain/interval.ts'

/** The day of 25 hours: 24 October 22:00 UTC to 25 October 23:00 UTC. */
export const longDay = { from: '2026-10-24T22:00:00Z', to: '2026-10-25T23:00:00Z' }
const longDayMs = Date.parse(longDay.from)
export const belgium = 'Europe/Brussels'

const two = (value: number): string => String(value).padStart(2, '0')

/** Minutes since midnight on the clock, of the minutes that passed since the start of the long day. */
const clockOf = (minutes: number): number => (minutes < 180 ? minutes : minutes - 60)

export const clockText = (minutes: number): string =>
  `${two(Math.floor(clockOf(minutes) / 60))}:${two(clockOf(minutes) % 60)}`

/** Rows of the long day, one for each step. */
export const longDayRows = (step: number, row: (minutes: number, at: number) => readonly string[]): readonly string[] =>
  Array.from({ length: 1500 / step }, (_, index) => row(index * step, longDayMs + index * step * minuteMs)).flat()

/** Instant with the offset of its clock. */
export const withOffset = (at: number, offset = at < longDayMs + 3 * hourMs ? 2 : 1): string =>
  `${writeInstant(at + offset * hourMs).slice(0, 19)}+0${offset}:00`

export const fluviusHead =
  'Van (datum);Van (tijdstip);Tot (datum);Tot (tijdstip);EAN-code;Meter;Metertype;Register;Volume;Eenheid;Validatiestatus;Omschrijving'
const fluviusRow = (times: string, register: string, volume: string, status = 'Uitgelezen'): string =>
  `${times};="541400000000000001";1SAG0000000001;Digitale meter;${register};${volume};kWh;${status};`

export const fluviusQuarters = longDayRows(15, minutes => {
  const end = minutes === 1485 ? '26-10-2026;00:00:00' : `25-10-2026;${clockText(minutes + 15)}:00`
  const times = `25-10-2026;${clockText(minutes)}:00;${end}`
  return [
    fluviusRow(times, 'Afname Nacht', '0,065', minutes === 0 ? 'Geschat' : 'Uitgelezen'),
    fluviusRow(times, 'Injectie Nacht', '0,010'),
  ]
})

export const fluviusDays = [24, 25, 26].flatMap(day => {
  const times = `${day}-10-2026;00:00:00;${day + 1}-10-2026;00:00:00`
  return [
    ...[fluviusRow(times, 'Afname Dag', '3,000'), fluviusRow(times, 'Afname Nacht', '2,000')],
    ...[fluviusRow(times, 'Injectie Dag', '1,000'), fluviusRow(times, 'Injectie Nacht', '0,500')],
  ]
})

const hoursOf = (count: number, row: (hour: number) => string): readonly string[] =>
  Array.from({ length: count }, (_, hour) => row(hour + 1))

export const datadisRows = (date: string, count: number): readonly string[] =>
  hoursOf(count, hour => `ES0000000000000000AA;${date};${two(hour)}:00;0,100;Real;0,020;0;0`)
export const cnmcRows = (date: string, count: number): readonly string[] =>
  hoursOf(count, hour => `ES0000000000000000AA;${date};${hour};0,100;${hour === 1 ? 'E' : 'R'}`)

export const registerRow = (index: number, time: string): string =>
  `2026-10-2${time},${(100 + index * 0.1).toFixed(3)},${(50 + index * 0.05).toFixed(3)},${(7 + index * 0.01).toFixed(3)},3.000`

export const enedisHead = (kind: string): readonly string[] => [
  'Identifiant PRM;Type de donnees;Date de debut;Date de fin;Grandeur physique;Grandeur metier;Etape metier;Unite;Pas en minutes',
  `00000000000000;Courbe de charge;25/10/2026;26/10/2026;Energie active;${kind};Comptage Brut;W;`,
  '',
  'Horodate;Valeur',
]
export const enedisRows = longDayRows(30, (_, at) => [
  `${withOffset(at + 30 * minuteMs, at + 30 * minuteMs < longDayMs + 3 * hourMs ? 2 : 1)};1200`,
])

export const evccSessions = ['Carport;A1;Auto;12.345;1.463,8;1.504,3;40,50', 'Garage;B2;Auto 2;;;;8,00']

export const openWbHead = [
  ...['Beginn', 'Ende', 'Zeitstempel Beginn', 'Zeitstempel Ende', 'Dauer', 'Kosten', 'Energieanteil Netz', 'Fahrzeug'],
  ...['Ladepunkt', 'Ladepunkt-ID', 'Energie', 'Zählerstand Beginn', 'Zählerstand Ende', 'Energie seit Anstecken'],
]
export const openWbRow = (hour: number, energy: string): string => {
  const [start, end] = [longDayMs / 1000 + hour * 3600, longDayMs / 1000 + (hour + 1) * 3600]
  return `"25.10.2026, 02:00:00";"25.10.2026, 02:00:00";${start};${end};"1:00";1,00;50,00;"Auto";"Hof";2;${energy};1,00;2,00;99,00`
}

export const dsmrHead =
  'Hour Start,Electricity 1 (Dutch Users: Low Tariff),Electricity 2 (Dutch Users: Normal Tariff),Electricity 1 Returned (Dutch Users: Low Tariff),Electricity 2 Returned (Dutch Users: Normal Tariff),Gas'

export const nem12Meter = (suffix: string, minutes: number, unit = 'kWh'): string =>
  `200,6102000001,E1E2B1Q1,1,${suffix},N1,METER1,${unit},${minutes},`
export const nem12Day = (date: string, count: number, value: string, quality = 'A'): string =>
  `300,${date},${`${value},`.repeat(count)}${quality},,,20260407000000,20260407010000`
export const nem12Head = '100,NEM12,202604070000,MDP1,RETAILER1'
/** Two days of market time around the end of summer time in Sydney. */
export const nem12Days = { zone: 'Australia/Sydney', from: '2026-04-03T14:00:00Z', to: '2026-04-05T14:00:00Z' }

/** Quarter hours of 29 March and 25 October in Lisbon by their ends on the clock: the hour from 01:00 is skipped, or comes twice. */
const eRedesClock = (quarters: number, change: 1 | -1): readonly string[] =>
  Array.from({ length: quarters }, (_, index) => {
    const elapsed = (index + 1) * 15
    const hasChanged = change === 1 ? elapsed >= 60 : elapsed >= 120
    const minutes = hasChanged ? elapsed + change * 60 : elapsed
    const [month, day] = change === 1 ? ['03', 29] : ['10', 25]
    return `2026/${month}/${day + Math.floor(minutes / 1440)};${two(Math.floor(minutes / 60) % 24)}:${two(minutes % 60)}`
  })
export const eRedesTimes = [...eRedesClock(92, 1), ...eRedesClock(100, -1)]
export const eRedesHead = [
  'Dados Globais',
  '',
  'CPE;PT0002000000000000AA',
  'Mês/Ano;outubro 2026',
  'Intervalo:;15 min',
  '',
]
export const eRedesDays = { zone: 'UTC', from: '2026-03-29T00:00:00Z', to: '2026-10-26T00:00:00Z' }

/** Quarter hours of the long day by their starts, with the month first. */
export const solarEdgeRows = (cells: string): readonly string[] =>
  longDayRows(15, minutes => [`10/25/2026 ${clockText(minutes)},${cells}`])

export const engieRow = (at: number, type: string): string =>
  `"${withOffset(at)}","541400000000000001","0.2","${type}","false"`

export const spanishDays = { zone: 'Europe/Madrid', from: '2026-03-28T23:00:00Z', to: longDay.to }
export const evcc = {
  preset: 'evcc',
  zone: 'Europe/Berlin',
  ...longDay,
  from: '2026-10-24T20:00:00Z',
  bought: 48_500,
  sold: 0,
}
