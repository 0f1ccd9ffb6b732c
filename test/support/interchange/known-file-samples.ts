import { writeInstant } from '../../../services/domain/instant.ts'
import { hourMs, minuteMs } from '../../../services/domain/interval.ts'

/** File in the form of a portal, the time that it covers, and the energy in Wh that the portal shows. */
export type KnownFileSample = {
  readonly name: string
  readonly preset: string
  readonly zone: string
  readonly lines: readonly string[]
  readonly from: string
  readonly to: string
  readonly bought: number
  readonly sold: number
  readonly records: number
}

/** The day of 25 hours: 24 October 22:00 UTC to 25 October 23:00 UTC. */
const longDay = { from: '2026-10-24T22:00:00Z', to: '2026-10-25T23:00:00Z' }
const longDayMs = Date.parse(longDay.from)
const belgium = 'Europe/Brussels'

const two = (value: number): string => String(value).padStart(2, '0')

/** Minutes since midnight on the clock, of the minutes that passed since the start of the long day. */
const clockOf = (minutes: number): number => (minutes < 180 ? minutes : minutes - 60)

const clockText = (minutes: number): string => `${two(Math.floor(clockOf(minutes) / 60))}:${two(clockOf(minutes) % 60)}`

/** Rows of the long day, one for each step. */
const longDayRows = (step: number, row: (minutes: number, at: number) => readonly string[]): readonly string[] =>
  Array.from({ length: 1500 / step }, (_, index) => row(index * step, longDayMs + index * step * minuteMs)).flat()

/** Instant with the offset of its clock. */
const withOffset = (at: number, offset = at < longDayMs + 3 * hourMs ? 2 : 1): string =>
  `${writeInstant(at + offset * hourMs).slice(0, 19)}+0${offset}:00`

const fluviusHead =
  'Van (datum);Van (tijdstip);Tot (datum);Tot (tijdstip);EAN-code;Meter;Metertype;Register;Volume;Eenheid;Validatiestatus;Omschrijving'
const fluviusRow = (times: string, register: string, volume: string, status = 'Uitgelezen'): string =>
  `${times};="541400000000000001";1SAG0000000001;Digitale meter;${register};${volume};kWh;${status};`

const fluviusQuarters = longDayRows(15, minutes => {
  const end = minutes === 1485 ? '26-10-2026;00:00:00' : `25-10-2026;${clockText(minutes + 15)}:00`
  const times = `25-10-2026;${clockText(minutes)}:00;${end}`
  return [
    fluviusRow(times, 'Afname Nacht', '0,065', minutes === 0 ? 'Geschat' : 'Uitgelezen'),
    fluviusRow(times, 'Injectie Nacht', '0,010'),
  ]
})

const fluviusDays = [24, 25, 26].flatMap(day => {
  const times = `${day}-10-2026;00:00:00;${day + 1}-10-2026;00:00:00`
  return [
    ...[fluviusRow(times, 'Afname Dag', '3,000'), fluviusRow(times, 'Afname Nacht', '2,000')],
    ...[fluviusRow(times, 'Injectie Dag', '1,000'), fluviusRow(times, 'Injectie Nacht', '0,500')],
  ]
})

const hoursOf = (count: number, row: (hour: number) => string): readonly string[] =>
  Array.from({ length: count }, (_, hour) => row(hour + 1))

const datadisRows = (date: string, count: number): readonly string[] =>
  hoursOf(count, hour => `ES0000000000000000AA;${date};${two(hour)}:00;0,100;Real;0,020;0;0`)
const cnmcRows = (date: string, count: number): readonly string[] =>
  hoursOf(count, hour => `ES0000000000000000AA;${date};${hour};0,100;${hour === 1 ? 'E' : 'R'}`)

const registerRow = (index: number, time: string): string =>
  `2026-10-2${time},${(100 + index * 0.1).toFixed(3)},${(50 + index * 0.05).toFixed(3)},${(7 + index * 0.01).toFixed(3)},3.000`

const enedisHead = (kind: string): readonly string[] => [
  'Identifiant PRM;Type de donnees;Date de debut;Date de fin;Grandeur physique;Grandeur metier;Etape metier;Unite;Pas en minutes',
  `00000000000000;Courbe de charge;25/10/2026;26/10/2026;Energie active;${kind};Comptage Brut;W;`,
  '',
  'Horodate;Valeur',
]
const enedisRows = longDayRows(30, (_, at) => [
  `${withOffset(at + 30 * minuteMs, at + 30 * minuteMs < longDayMs + 3 * hourMs ? 2 : 1)};1200`,
])

const evccSessions = ['Carport;A1;Auto;12.345;1.463,8;1.504,3;40,50', 'Garage;B2;Auto 2;;;;8,00']

const openWbHead = [
  ...['Beginn', 'Ende', 'Zeitstempel Beginn', 'Zeitstempel Ende', 'Dauer', 'Kosten', 'Energieanteil Netz', 'Fahrzeug'],
  ...['Ladepunkt', 'Ladepunkt-ID', 'Energie', 'Zählerstand Beginn', 'Zählerstand Ende', 'Energie seit Anstecken'],
]
const openWbRow = (hour: number, energy: string): string => {
  const [start, end] = [longDayMs / 1000 + hour * 3600, longDayMs / 1000 + (hour + 1) * 3600]
  return `"25.10.2026, 02:00:00";"25.10.2026, 02:00:00";${start};${end};"1:00";1,00;50,00;"Auto";"Hof";2;${energy};1,00;2,00;99,00`
}

const dsmrHead =
  'Hour Start,Electricity 1 (Dutch Users: Low Tariff),Electricity 2 (Dutch Users: Normal Tariff),Electricity 1 Returned (Dutch Users: Low Tariff),Electricity 2 Returned (Dutch Users: Normal Tariff),Gas'

const nem12Meter = (suffix: string, minutes: number, unit = 'kWh'): string =>
  `200,6102000001,E1E2B1Q1,1,${suffix},N1,METER1,${unit},${minutes},`
const nem12Day = (date: string, count: number, value: string, quality = 'A'): string =>
  `300,${date},${`${value},`.repeat(count)}${quality},,,20260407000000,20260407010000`
const nem12Head = '100,NEM12,202604070000,MDP1,RETAILER1'
/** Two days of market time around the end of summer time in Sydney. */
const nem12Days = { zone: 'Australia/Sydney', from: '2026-04-03T14:00:00Z', to: '2026-04-05T14:00:00Z' }

/** Quarter hours of 29 March and 25 October in Lisbon by their ends on the clock: the hour from 01:00 is skipped, or comes twice. */
const eRedesClock = (quarters: number, change: 1 | -1): readonly string[] =>
  Array.from({ length: quarters }, (_, index) => {
    const elapsed = (index + 1) * 15
    const hasChanged = change === 1 ? elapsed >= 60 : elapsed >= 120
    const minutes = hasChanged ? elapsed + change * 60 : elapsed
    const [month, day] = change === 1 ? ['03', 29] : ['10', 25]
    return `2026/${month}/${day + Math.floor(minutes / 1440)};${two(Math.floor(minutes / 60) % 24)}:${two(minutes % 60)}`
  })
const eRedesTimes = [...eRedesClock(92, 1), ...eRedesClock(100, -1)]
const eRedesHead = ['Dados Globais', '', 'CPE;PT0002000000000000AA', 'Mês/Ano;outubro 2026', 'Intervalo:;15 min', '']
const eRedesDays = { zone: 'UTC', from: '2026-03-29T00:00:00Z', to: '2026-10-26T00:00:00Z' }

/** Quarter hours of the long day by their starts, with the month first. */
const solarEdgeRows = (cells: string): readonly string[] =>
  longDayRows(15, minutes => [`10/25/2026 ${clockText(minutes)},${cells}`])

const engieRow = (at: number, type: string): string =>
  `"${withOffset(at)}","541400000000000001","0.2","${type}","false"`

const spanishDays = { zone: 'Europe/Madrid', from: '2026-03-28T23:00:00Z', to: longDay.to }
const evcc = {
  preset: 'evcc',
  zone: 'Europe/Berlin',
  ...longDay,
  from: '2026-10-24T20:00:00Z',
  bought: 48_500,
  sold: 0,
}

export const knownFileSamples: readonly KnownFileSample[] = [
  {
    ...{ name: 'fluvius quarter hours', preset: 'fluvius', zone: 'UTC', lines: [fluviusHead, ...fluviusQuarters] },
    // 100 quarter hours x 0.065 kWh, and x 0.010 kWh.
    ...{ ...longDay, bought: 6_500, sold: 1_000, records: 200 },
  },
  {
    ...{ name: 'fluvius days', preset: 'fluvius', zone: 'UTC', lines: [fluviusHead, ...fluviusDays] },
    // 3 days x (3 + 2) kWh, and x (1 + 0.5) kWh.
    ...{ from: '2026-10-23T22:00:00Z', to: '2026-10-26T23:00:00Z', bought: 15_000, sold: 4_500, records: 6 },
  },
  {
    ...{ name: 'datadis', preset: 'datadis', ...spanishDays },
    lines: [
      'cups;fecha;hora;consumo_kWh;metodoObtencion;energiaVertida_kWh;energiaGenerada_kWh;energiaAutoconsumida_kWh',
      ...[...datadisRows('2026/03/29', 23), ...datadisRows('2026/10/25', 25)],
    ],
    // (23 + 25) hours x 0.1 kWh, and x 0.02 kWh.
    ...{ bought: 4_800, sold: 960, records: 96 },
  },
  {
    ...{ name: 'datadis of a distributor', preset: 'datadis', ...spanishDays },
    lines: [
      'CUPS;Fecha;Hora;Consumo_kWh;Metodo_obtencion',
      ...[...cnmcRows('29/03/2026', 23), ...cnmcRows('25/10/2026', 25)],
    ],
    ...{ bought: 4_800, sold: 0, records: 48 },
  },
  {
    ...{ name: 'octopus', preset: 'octopus', zone: 'Europe/London', ...longDay, bought: 12_500, sold: 0, records: 50 },
    lines: [
      ' Consumption (kwh), Start, End',
      ...longDayRows(30, (_, at) => [`0.250000, ${withOffset(at)}, ${withOffset(at + 30 * minuteMs)}`]),
    ],
  },
  {
    ...{ name: 'e-redes', preset: 'e-redes', ...eRedesDays },
    lines: [
      ...eRedesHead,
      'Data;Hora;Consumo medido na IC, Ativa (kW);Estado;Injeção na rede medida na IC, Ativa (kW);Estado;Consumo registado (kW);Estado;Injeção registada (kW);Estado',
      ...eRedesTimes.map(time => `${time};0,348;Real;0,1;Real;0,5;Real;0;Real`),
    ],
    // (92 + 100) quarter hours x 0.348 kW / 4, and x 0.1 kW / 4.
    ...{ bought: 16_704, sold: 4_800, records: 384 },
  },
  {
    ...{ name: 'e-redes without injection', preset: 'e-redes', ...eRedesDays },
    lines: [
      ...[...eRedesHead, 'Data;Hora;Consumo registado (kW);Estado'],
      ...eRedesTimes.map((time, index) => `${time};0,4;${index === 0 ? 'Estimado' : 'Real'}`),
    ],
    ...{ bought: 19_200, sold: 0, records: 192 },
  },
  {
    ...{ name: 'solaredge', preset: 'solaredge', zone: 'Europe/Berlin', ...longDay },
    lines: [
      'Time,Battery Charge Level (%),Consumption (W),System Production (W),Export (W),Self Consumption (W),Import (W)',
      ...solarEdgeRows('50,800,1000,400,600,200'),
    ],
    // 100 quarter hours x 200 W / 4, and x 400 W / 4.
    ...{ bought: 5_000, sold: 10_000, records: 200 },
  },
  {
    ...{ name: 'solaredge production', preset: 'solaredge', zone: 'Europe/Berlin', ...longDay },
    lines: ['Time,System Production (W)', ...solarEdgeRows('1000').map(row => row.replace('10/25', '25/10'))],
    ...{ bought: 0, sold: 25_000, records: 100 },
  },
  {
    ...{ name: 'nem12', preset: 'nem12', ...nem12Days },
    lines: [
      ...[nem12Head, nem12Meter('E1', 30), nem12Day('20260404', 48, '0.5'), nem12Day('20260405', 48, '0.5', 'V')],
      ...['400,1,40,A,,', '400,41,46,S14,32,', '400,47,48,N,,', '500,O,S01009,20260407000000,'],
      ...[nem12Meter('E2', 30), nem12Day('20260404', 48, '0.25'), nem12Day('20260405', 48, '0.25', 'F14')],
      ...[nem12Meter('B1', 30), nem12Day('20260404', 48, '0.1'), nem12Day('20260405', 48, '0.1')],
      ...[nem12Meter('Q1', 30, 'kVArh'), nem12Day('20260404', 48, '0.7'), nem12Day('20260405', 48, '0.7'), '900'],
    ],
    // (96 - 2) half hours x 0.5 kWh, and 96 x (0.25, and 0.1) kWh.
    ...{ bought: 71_000, sold: 9_600, records: 192 },
  },
  {
    ...{ name: 'nem12 of 5 minutes', preset: 'nem12', ...nem12Days },
    lines: [
      ...[nem12Head, nem12Meter('E1', 5, 'Wh'), nem12Day('20260404', 288, '25'), nem12Day('20260405', 288, '25')],
      ...[nem12Meter('B1', 5, 'MWh'), nem12Day('20260404', 288, '0.00001'), nem12Day('20260405', 288, '0.00001')],
      '900',
    ],
    // 576 intervals x 25 Wh, and x 10 Wh.
    ...{ bought: 14_400, sold: 5_760, records: 1152 },
  },
  {
    ...{ name: 'dsmr-reader', preset: 'dsmr-reader', zone: 'Europe/Amsterdam', ...longDay },
    lines: [dsmrHead, ...longDayRows(60, (_, at) => [`${withOffset(at)},0.2,0.05,0.01,0.02,0.3`])],
    // 25 hours x (0.2 + 0.05) kWh, and x (0.01 + 0.02) kWh.
    ...{ bought: 6_250, sold: 750, records: 50 },
  },
  {
    ...{ name: 'homewizard', preset: 'homewizard', zone: 'Europe/Amsterdam', ...longDay },
    lines: [
      'time,Import T1 kWh,Import T2 kWh,Export T1 kWh,Export T2 kWh,L1 max W,L2 max W,L3 max W',
      ...longDayRows(15, minutes => [`${registerRow(minutes / 15, `5 ${clockText(minutes)}`)},0,0,0`]),
      `${registerRow(100, '6 00:00')},0,0,0`,
    ],
    // 100 quarter hours x (0.1 + 0.05) kWh, and x 0.01 kWh.
    ...{ bought: 15_000, sold: 1_000, records: 200 },
  },
  {
    ...{ name: 'homewizard kWh meter', preset: 'homewizard', zone: 'Europe/Amsterdam' },
    lines: ['time,Import kWh,Export kWh', '2026-10-24 00:00,1.000,2.000', '2026-10-24 01:00,1.500,2.250'],
    ...{ from: '2026-10-23T22:00:00Z', to: '2026-10-23T23:00:00Z', bought: 500, sold: 250, records: 2 },
  },
  {
    ...{ name: 'evcc in German, with German numbers', ...evcc, records: 2 },
    lines: [
      '\uFEFFStartzeit;Endzeit;Ladepunkt;Kennung;Fahrzeug;Kilometerstand (km);Anfangszählerstand (kWh);Endzählerstand (kWh);Energie (kWh);Ladedauer',
      ...[`24.10.2026 22:00:00;25.10.2026 04:00:00;${evccSessions[0]};7h0m0s`],
      ...[`25.10.2026 08:00:00;25.10.2026 09:30:00;${evccSessions[1]};1h30m0s`],
    ],
  },
  {
    ...{ name: 'evcc in German', ...evcc, records: 2 },
    lines: [
      '\uFEFFStartzeit,Endzeit,Ladepunkt,Kennung,Fahrzeug,Energie (kWh),Ladedauer',
      ...['2026-10-24 22:00:00,2026-10-25 04:00:00,Carport,,Auto,40.500,7h0m0s'],
      ...['2026-10-25 08:00:00,2026-10-25 09:30:00,Carport,,Auto,8.000,1h30m0s'],
    ],
  },
  {
    ...{ name: 'evcc in English', ...evcc, records: 2 },
    lines: [
      'Created,Finished,Charging point,Identifier,Vehicle,Energy (kWh),Charge duration',
      ...['2026-10-24 22:00:00,2026-10-25 04:00:00,Carport,,Car,40.5,7h0m0s'],
      ...['2026-10-25 08:00:00,2026-10-25 09:30:00,Carport,,Car,8.0,1h30m0s'],
    ],
  },
  {
    ...{ name: 'openwb', preset: 'openwb', zone: 'Europe/Berlin', ...longDay },
    lines: [openWbHead.map(heading => `"${heading}"`).join(';'), openWbRow(2, '12,34'), openWbRow(3, '5,00')],
    ...{ bought: 17_340, sold: 0, records: 2 },
  },
  {
    ...{ name: 'engie-be', preset: 'engie-be', zone: belgium, ...longDay, bought: 5_000, sold: 0, records: 25 },
    lines: [
      '"Datum","EAN","Verbruik","Type","Piek"',
      ...longDayRows(60, (_, at) => [engieRow(at, 'Elektriciteit')]),
      ...longDayRows(60, (_, at) => [engieRow(at, 'Gas')]),
    ],
  },
  {
    ...{ name: 'enedis', preset: 'enedis', zone: 'Europe/Paris', ...longDay },
    lines: [...enedisHead('Consommation'), ...enedisRows],
    // 50 half hours x 1,200 W.
    ...{ bought: 30_000, sold: 0, records: 50 },
  },
  {
    ...{ name: 'enedis production', preset: 'enedis', zone: 'Europe/Paris', ...longDay },
    lines: [...enedisHead('Production'), ...enedisRows],
    ...{ bought: 0, sold: 30_000, records: 50 },
  },
]
