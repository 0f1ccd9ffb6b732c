import { minuteMs } from '../../../services/domain/interval.ts'
import {
  belgium,
  clockText,
  cnmcRows,
  datadisRows,
  dsmrHead,
  enedisHead,
  enedisRows,
  engieRow,
  eRedesDays,
  eRedesHead,
  eRedesTimes,
  evcc,
  evccSessions,
  fluviusDays,
  fluviusHead,
  fluviusQuarters,
  longDay,
  longDayRows,
  nem12Day,
  nem12Days,
  nem12Head,
  nem12Meter,
  openWbHead,
  openWbRow,
  registerRow,
  solarEdgeRows,
  spanishDays,
  withOffset,
} from './known-file-rows.ts'

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

export const knownFileSamples: readonly KnownFileSample[] = [
  {
    name: 'fluvius quarter hours',
    preset: 'fluvius',
    zone: 'UTC',
    lines: [fluviusHead, ...fluviusQuarters],
    // 100 quarter hours x 0.065 kWh, and x 0.010 kWh.
    ...longDay,
    bought: 6_500,
    sold: 1_000,
    records: 200,
  },
  {
    name: 'fluvius days',
    preset: 'fluvius',
    zone: 'UTC',
    lines: [fluviusHead, ...fluviusDays],
    // 3 days x (3 + 2) kWh, and x (1 + 0.5) kWh.
    from: '2026-10-23T22:00:00Z',
    to: '2026-10-26T23:00:00Z',
    bought: 15_000,
    sold: 4_500,
    records: 6,
  },
  {
    name: 'datadis',
    preset: 'datadis',
    ...spanishDays,
    lines: [
      'cups;fecha;hora;consumo_kWh;metodoObtencion;energiaVertida_kWh;energiaGenerada_kWh;energiaAutoconsumida_kWh',
      ...[...datadisRows('2026/03/29', 23), ...datadisRows('2026/10/25', 25)],
    ],
    // (23 + 25) hours x 0.1 kWh, and x 0.02 kWh.
    bought: 4_800,
    sold: 960,
    records: 96,
  },
  {
    name: 'datadis of a distributor',
    preset: 'datadis',
    ...spanishDays,
    lines: [
      'CUPS;Fecha;Hora;Consumo_kWh;Metodo_obtencion',
      ...[...cnmcRows('29/03/2026', 23), ...cnmcRows('25/10/2026', 25)],
    ],
    bought: 4_800,
    sold: 0,
    records: 48,
  },
  {
    name: 'octopus',
    preset: 'octopus',
    zone: 'Europe/London',
    ...longDay,
    bought: 12_500,
    sold: 0,
    records: 50,
    lines: [
      ' Consumption (kwh), Start, End',
      ...longDayRows(30, (_, at) => [`0.250000, ${withOffset(at)}, ${withOffset(at + 30 * minuteMs)}`]),
    ],
  },
  {
    name: 'e-redes',
    preset: 'e-redes',
    ...eRedesDays,
    lines: [
      ...eRedesHead,
      'Data;Hora;Consumo medido na IC, Ativa (kW);Estado;Injeção na rede medida na IC, Ativa (kW);Estado;Consumo registado (kW);Estado;Injeção registada (kW);Estado',
      ...eRedesTimes.map(time => `${time};0,348;Real;0,1;Real;0,5;Real;0;Real`),
    ],
    // (92 + 100) quarter hours x 0.348 kW / 4, and x 0.1 kW / 4.
    bought: 16_704,
    sold: 4_800,
    records: 384,
  },
  {
    name: 'e-redes without injection',
    preset: 'e-redes',
    ...eRedesDays,
    lines: [
      ...[...eRedesHead, 'Data;Hora;Consumo registado (kW);Estado'],
      ...eRedesTimes.map((time, index) => `${time};0,4;${index === 0 ? 'Estimado' : 'Real'}`),
    ],
    bought: 19_200,
    sold: 0,
    records: 192,
  },
  {
    name: 'solaredge',
    preset: 'solaredge',
    zone: 'Europe/Berlin',
    ...longDay,
    lines: [
      'Time,Battery Charge Level (%),Consumption (W),System Production (W),Export (W),Self Consumption (W),Import (W)',
      ...solarEdgeRows('50,800,1000,400,600,200'),
    ],
    // 100 quarter hours x 200 W / 4, and x 400 W / 4.
    bought: 5_000,
    sold: 10_000,
    records: 200,
  },
  {
    name: 'solaredge production',
    preset: 'solaredge',
    zone: 'Europe/Berlin',
    ...longDay,
    lines: ['Time,System Production (W)', ...solarEdgeRows('1000').map(row => row.replace('10/25', '25/10'))],
    bought: 0,
    sold: 25_000,
    records: 100,
  },
  {
    name: 'nem12',
    preset: 'nem12',
    ...nem12Days,
    lines: [
      ...[nem12Head, nem12Meter('E1', 30), nem12Day('20260404', 48, '0.5'), nem12Day('20260405', 48, '0.5', 'V')],
      ...['400,1,40,A,,', '400,41,46,S14,32,', '400,47,48,N,,', '500,O,S01009,20260407000000,'],
      ...[nem12Meter('E2', 30), nem12Day('20260404', 48, '0.25'), nem12Day('20260405', 48, '0.25', 'F14')],
      ...[nem12Meter('B1', 30), nem12Day('20260404', 48, '0.1'), nem12Day('20260405', 48, '0.1')],
      ...[nem12Meter('Q1', 30, 'kVArh'), nem12Day('20260404', 48, '0.7'), nem12Day('20260405', 48, '0.7'), '900'],
    ],
    // (96 - 2) half hours x 0.5 kWh, and 96 x (0.25, and 0.1) kWh.
    bought: 71_000,
    sold: 9_600,
    records: 192,
  },
  {
    name: 'nem12 of 5 minutes',
    preset: 'nem12',
    ...nem12Days,
    lines: [
      ...[nem12Head, nem12Meter('E1', 5, 'Wh'), nem12Day('20260404', 288, '25'), nem12Day('20260405', 288, '25')],
      ...[nem12Meter('B1', 5, 'MWh'), nem12Day('20260404', 288, '0.00001'), nem12Day('20260405', 288, '0.00001')],
      '900',
    ],
    // 576 intervals x 25 Wh, and x 10 Wh.
    bought: 14_400,
    sold: 5_760,
    records: 1152,
  },
  {
    name: 'dsmr-reader',
    preset: 'dsmr-reader',
    zone: 'Europe/Amsterdam',
    ...longDay,
    lines: [dsmrHead, ...longDayRows(60, (_, at) => [`${withOffset(at)},0.2,0.05,0.01,0.02,0.3`])],
    // 25 hours x (0.2 + 0.05) kWh, and x (0.01 + 0.02) kWh.
    bought: 6_250,
    sold: 750,
    records: 50,
  },
  {
    name: 'homewizard',
    preset: 'homewizard',
    zone: 'Europe/Amsterdam',
    ...longDay,
    lines: [
      'time,Import T1 kWh,Import T2 kWh,Export T1 kWh,Export T2 kWh,L1 max W,L2 max W,L3 max W',
      ...longDayRows(15, minutes => [`${registerRow(minutes / 15, `5 ${clockText(minutes)}`)},0,0,0`]),
      `${registerRow(100, '6 00:00')},0,0,0`,
    ],
    // 100 quarter hours x (0.1 + 0.05) kWh, and x 0.01 kWh.
    bought: 15_000,
    sold: 1_000,
    records: 200,
  },
  {
    name: 'homewizard kWh meter',
    preset: 'homewizard',
    zone: 'Europe/Amsterdam',
    lines: ['time,Import kWh,Export kWh', '2026-10-24 00:00,1.000,2.000', '2026-10-24 01:00,1.500,2.250'],
    from: '2026-10-23T22:00:00Z',
    to: '2026-10-23T23:00:00Z',
    bought: 500,
    sold: 250,
    records: 2,
  },
  {
    name: 'evcc in German, with German numbers',
    ...evcc,
    records: 2,
    lines: [
      '\uFEFFStartzeit;Endzeit;Ladepunkt;Kennung;Fahrzeug;Kilometerstand (km);Anfangszählerstand (kWh);Endzählerstand (kWh);Energie (kWh);Ladedauer',
      ...[`24.10.2026 22:00:00;25.10.2026 04:00:00;${evccSessions[0]};7h0m0s`],
      ...[`25.10.2026 08:00:00;25.10.2026 09:30:00;${evccSessions[1]};1h30m0s`],
    ],
  },
  {
    name: 'evcc in German',
    ...evcc,
    records: 2,
    lines: [
      '\uFEFFStartzeit,Endzeit,Ladepunkt,Kennung,Fahrzeug,Energie (kWh),Ladedauer',
      ...['2026-10-24 22:00:00,2026-10-25 04:00:00,Carport,,Auto,40.500,7h0m0s'],
      ...['2026-10-25 08:00:00,2026-10-25 09:30:00,Carport,,Auto,8.000,1h30m0s'],
    ],
  },
  {
    name: 'evcc in English',
    ...evcc,
    records: 2,
    lines: [
      'Created,Finished,Charging point,Identifier,Vehicle,Energy (kWh),Charge duration',
      ...['2026-10-24 22:00:00,2026-10-25 04:00:00,Carport,,Car,40.5,7h0m0s'],
      ...['2026-10-25 08:00:00,2026-10-25 09:30:00,Carport,,Car,8.0,1h30m0s'],
    ],
  },
  {
    name: 'openwb',
    preset: 'openwb',
    zone: 'Europe/Berlin',
    ...longDay,
    lines: [openWbHead.map(heading => `"${heading}"`).join(';'), openWbRow(2, '12,34'), openWbRow(3, '5,00')],
    bought: 17_340,
    sold: 0,
    records: 2,
  },
  {
    name: 'engie-be',
    preset: 'engie-be',
    zone: belgium,
    ...longDay,
    bought: 5_000,
    sold: 0,
    records: 25,
    lines: [
      '"Datum","EAN","Verbruik","Type","Piek"',
      ...longDayRows(60, (_, at) => [engieRow(at, 'Elektriciteit')]),
      ...longDayRows(60, (_, at) => [engieRow(at, 'Gas')]),
    ],
  },
  {
    name: 'enedis',
    preset: 'enedis',
    zone: 'Europe/Paris',
    ...longDay,
    lines: [...enedisHead('Consommation'), ...enedisRows],
    // 50 half hours x 1,200 W.
    bought: 30_000,
    sold: 0,
    records: 50,
  },
  {
    name: 'enedis production',
    preset: 'enedis',
    zone: 'Europe/Paris',
    ...longDay,
    lines: [...enedisHead('Production'), ...enedisRows],
    bought: 0,
    sold: 30_000,
    records: 50,
  },
]
