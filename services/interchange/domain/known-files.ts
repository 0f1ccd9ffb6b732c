import { timeFormat } from './csv/time-text.ts'

/** Form of a file that a portal or a device writes. */
export type KnownForm = {
  readonly preset: string
  /** Headings that the header has. Other headings can be between them. */
  readonly headings: readonly string[]
  /** Mark between cells. Absent: any. */
  readonly delimiter?: string
  /** Texts in the lines before the header. */
  readonly before?: readonly string[]
  /** Options of the import with their texts. The texts of an option that can be repeated are lines. */
  readonly options: Readonly<Record<string, string>>
  /** Reader of a file whose lines have several kinds. Its first line is found by the headings of the form. */
  readonly reader?: 'nem12'
  /** Forms of the times in the first column: the only one that fits all of them is used. */
  readonly dateFormats?: readonly string[]
}

const lines = (...texts: readonly string[]): string => texts.join('\n')

const fluviusOptions = { unit: 'KWH', decimal: ',', zone: 'Europe/Brussels', sum: 'Register' }
const datadisOptions = { unit: 'KWH', decimal: ',', interval: 'PT1H' }
const enedisOptions = { columns: 'end=Horodate,value=Valeur', unit: 'W', interval: 'PT30M' }

const solarEdgeDates = ['MM/dd/yyyy HH:mm', 'dd/MM/yyyy HH:mm']

const eRedesOptions = {
  unit: 'KW',
  interval: 'PT15M',
  decimal: ',',
  zone: 'Europe/Lisbon',
  'date-format': 'yyyy/MM/dd HH:mm',
  map: lines('Real=1', 'Estimado=0.9'),
}

/**
 * Known files, the form with the most headings of each preset first. An hour of Datadis is the number of an hour of the local
 * day, up to 25. The power of Enedis and of E-REDES is the mean of the interval that ends at its time. openWB writes both times as seconds.
 * Source: docs/rules/imports.md #known-files.
 */
export const knownForms: readonly KnownForm[] = [
  {
    preset: 'fluvius',
    headings: ['Van (datum)', 'Van (tijdstip)', 'Tot (datum)', 'Tot (tijdstip)', 'Register', 'Volume', 'Eenheid'],
    options: {
      ...fluviusOptions,
      columns:
        'start=Van (datum)+Van (tijdstip),end=Tot (datum)+Tot (tijdstip),value=Volume,unit=Eenheid,direction=Register,confidence=Validatiestatus',
      'date-format': 'dd-MM-yyyy HH:mm:ss',
      map: lines(
        ...['Afname Dag=IMPORT', 'Afname Nacht=IMPORT', 'Afname Actief=IMPORT'],
        ...['Injectie Dag=EXPORT', 'Injectie Nacht=EXPORT', 'Injectie Actief=EXPORT'],
        ...['Uitgelezen=1', 'Gevalideerd=1', 'Geen verbruik=1', 'Geschat=0.9'],
      ),
    },
  },
  {
    preset: 'datadis',
    headings: ['cups', 'fecha', 'hora', 'consumo_kWh', 'metodoObtencion', 'energiaVertida_kWh'],
    options: {
      ...datadisOptions,
      columns: 'end=fecha+hora,value=consumo_kWh,value_export=energiaVertida_kWh,confidence=metodoObtencion',
      'date-format': 'yyyy/MM/dd n:00',
      map: lines('Real=1', 'Estimada=0.9'),
    },
  },
  {
    preset: 'datadis',
    headings: ['CUPS', 'Fecha', 'Hora', 'Consumo_kWh', 'Metodo_obtencion'],
    options: {
      ...datadisOptions,
      columns: 'end=Fecha+Hora,value=Consumo_kWh,confidence=Metodo_obtencion',
      'date-format': 'dd/MM/yyyy n',
      map: lines('R=1', 'E=0.9'),
    },
  },
  {
    preset: 'e-redes',
    headings: ['Data', 'Hora', 'Consumo medido na IC, Ativa (kW)', 'Injeção na rede medida na IC, Ativa (kW)'],
    options: {
      ...eRedesOptions,
      columns:
        'end=Data+Hora,value="Consumo medido na IC, Ativa (kW)",value_export="Injeção na rede medida na IC, Ativa (kW)",confidence=4',
    },
  },
  {
    preset: 'e-redes',
    headings: ['Data', 'Hora', 'Consumo registado, Ativa (kW)', 'Estado'],
    options: {
      ...eRedesOptions,
      columns: 'end=Data+Hora,value="Consumo registado, Ativa (kW)",confidence=Estado',
    },
  },
  {
    preset: 'e-redes',
    headings: ['Data', 'Hora', 'Consumo registado (kW)', 'Estado'],
    options: { ...eRedesOptions, columns: 'end=Data+Hora,value=Consumo registado (kW),confidence=Estado' },
  },
  {
    preset: 'solaredge',
    headings: ['Time', 'Import (W)', 'Export (W)'],
    dateFormats: solarEdgeDates,
    options: { columns: 'start=Time,value=Import (W),value_export=Export (W)', unit: 'W', interval: 'PT15M' },
  },
  {
    preset: 'solaredge',
    headings: ['Time', 'System Production (W)'],
    dateFormats: solarEdgeDates,
    options: {
      columns: 'start=Time,value=System Production (W)',
      unit: 'W',
      interval: 'PT15M',
      direction: 'EXPORT',
    },
  },
  {
    preset: 'nem12',
    headings: ['100', 'NEM12'],
    delimiter: ',',
    reader: 'nem12',
    options: {
      columns: 'start=Start,end=End,value=Value,unit=Unit,direction=Direction,confidence=Quality',
      sum: 'Suffix',
      map: lines('A=1', 'F=1', 'S=0.9', 'E=0.9'),
    },
  },
  {
    preset: 'octopus',
    headings: ['Consumption (kWh)', 'Start', 'End'],
    options: { columns: 'start=Start,end=End,value=Consumption (kWh)', unit: 'KWH' },
  },
  {
    preset: 'dsmr-reader',
    headings: [
      'Hour Start',
      'Electricity 1 (Dutch Users: Low Tariff)',
      'Electricity 2 (Dutch Users: Normal Tariff)',
      'Electricity 1 Returned (Dutch Users: Low Tariff)',
      'Electricity 2 Returned (Dutch Users: Normal Tariff)',
    ],
    options: {
      columns: [
        'start=Hour Start',
        'value=Electricity 1 (Dutch Users: Low Tariff)+Electricity 2 (Dutch Users: Normal Tariff)',
        'value_export=Electricity 1 Returned (Dutch Users: Low Tariff)+Electricity 2 Returned (Dutch Users: Normal Tariff)',
      ].join(','),
      unit: 'KWH',
      interval: 'PT1H',
    },
  },
  {
    preset: 'homewizard',
    headings: ['time', 'Import T1 kWh', 'Import T2 kWh', 'Export T1 kWh', 'Export T2 kWh'],
    options: {
      columns: 'time=time,register=Import T1 kWh+Import T2 kWh,register_export=Export T1 kWh+Export T2 kWh',
      unit: 'KWH',
    },
  },
  {
    preset: 'homewizard',
    headings: ['time', 'Import kWh', 'Export kWh'],
    options: { columns: 'time=time,register=Import kWh,register_export=Export kWh', unit: 'KWH' },
  },
  {
    preset: 'evcc',
    headings: ['Startzeit', 'Endzeit', 'Ladepunkt', 'Energie (kWh)'],
    delimiter: ';',
    options: {
      columns: 'start=Startzeit,end=Endzeit,value=Energie (kWh)',
      unit: 'KWH',
      'date-format': 'dd.MM.yyyy HH:mm:ss',
      decimal: ',',
      thousands: '.',
    },
  },
  {
    preset: 'evcc',
    headings: ['Startzeit', 'Endzeit', 'Ladepunkt', 'Energie (kWh)'],
    delimiter: ',',
    options: { columns: 'start=Startzeit,end=Endzeit,value=Energie (kWh)', unit: 'KWH' },
  },
  {
    preset: 'evcc',
    headings: ['Created', 'Finished', 'Charging point', 'Energy (kWh)'],
    delimiter: ',',
    options: { columns: 'start=Created,end=Finished,value=Energy (kWh)', unit: 'KWH' },
  },
  {
    preset: 'openwb',
    headings: ['Zeitstempel Beginn', 'Zeitstempel Ende', 'Ladepunkt', 'Energie', 'Energie seit Anstecken'],
    options: {
      columns: 'start=Zeitstempel Beginn,end=Zeitstempel Ende,value=Energie',
      unit: 'KWH',
      decimal: ',',
    },
  },
  {
    preset: 'engie-be',
    headings: ['Datum', 'EAN', 'Verbruik', 'Type', 'Piek'],
    options: {
      columns: 'start=Datum,value=Verbruik',
      unit: 'KWH',
      interval: 'PT1H',
      where: 'Type=Elektriciteit',
    },
  },
  {
    preset: 'enedis',
    headings: ['Horodate', 'Valeur'],
    before: ['Courbe de charge', 'Consommation', ';W'],
    options: enedisOptions,
  },
  {
    preset: 'enedis',
    headings: ['Horodate', 'Valeur'],
    before: ['Courbe de charge', 'Production', ';W'],
    options: { ...enedisOptions, direction: 'EXPORT' },
  },
]

/** Names of the presets, in alphabetical order. */
export const presetNames: readonly string[] = [...new Set(knownForms.map(({ preset }) => preset))].sort()

/** Form of a file, its delimiter, and the lines before its header. */
export type FoundForm = { readonly form: KnownForm; readonly delimiter: string; readonly skipLines: number }

const named = (text: string): string => text.trim().toLowerCase()

/**
 * Find the form of a file by its header in the first lines, among `forms`. `cellsOf` splits the lines at a delimiter.
 * Returns null if no form fits.
 */
export const findKnownForm = (
  cellsOf: (delimiter: string) => readonly (readonly string[])[],
  delimiters: readonly string[],
  forms: readonly KnownForm[],
): FoundForm | null => {
  const splitLines = new Map(
    delimiters.map(delimiter => [delimiter, cellsOf(delimiter).map(cells => cells.map(named))]),
  )
  for (const form of forms) {
    for (const [delimiter, rows] of splitLines) {
      if (form.delimiter !== undefined && form.delimiter !== delimiter) continue
      const skipLines = rows.findIndex(cells => form.headings.every(heading => cells.includes(named(heading))))
      if (skipLines < 0 || (form.reader !== undefined && skipLines > 0)) continue
      const before = rows
        .slice(0, skipLines)
        .map(cells => cells.join(delimiter))
        .join('\n')
      if ((form.before ?? []).every(text => before.includes(named(text)))) return { form, delimiter, skipLines }
    }
  }
  return null
}

/**
 * Return the forms among `formats` in which all times can be read. Texts that have none of the forms do not count, so that
 * all forms are returned for a file without such times.
 */
export const possibleDateFormats = (formats: readonly string[], times: readonly string[]): readonly string[] => {
  const readers = formats.map(timeFormat)
  const counted = times.filter(time => readers.some(reader => reader?.read(time) !== undefined))
  return formats.filter((_, index) => counted.every(time => readers[index]?.read(time) !== undefined))
}
