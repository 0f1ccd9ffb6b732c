import { nameKey } from './city-name.ts'

/** Data that a state gives about an address. `admin` is the GeoNames code of the division. */
export type State = { readonly admin: string; readonly timeZone?: string; readonly marketArea?: string }

/** Find a state by its code or name (US, CA, AU, GB) or by its code (CH). */
export function stateNamed(country: string, name: string): State | undefined {
  const key = nameKey(name)
  if (country === 'CH') return /^[a-z]{2}$/.test(key) ? { admin: key.toUpperCase() } : undefined
  return rows(country).find(row => row.keys.includes(key))?.state
}

/** Find the state of a city by its division's GeoNames code (US, CA, AU, GB). */
export const stateOfAdmin = (country: string, admin: string): State | undefined =>
  rows(country).find(({ state }) => state.admin === admin)?.state

/** Check if the state locates an address of a country (US, CA, AU). The countries of GB are rarely written. */
export const hasStates = (country: string): boolean => country !== 'GB' && country in table

type Row = { readonly keys: readonly string[]; readonly state: State }

const rowsByCountry = new Map<string, readonly Row[]>()

function rows(country: string): readonly Row[] {
  const known = rowsByCountry.get(country)
  if (known !== undefined) return known
  const read = (table[country] ?? '').split(';').filter(Boolean).map(readRow)
  rowsByCountry.set(country, read)
  return read
}

function readRow(text: string): Row {
  const [code = '', name = '', admin = '', timeZone = '', marketArea = ''] = text.trim().split(',')
  return {
    keys: [code, name].map(nameKey),
    state: { admin: admin || code, ...(timeZone && { timeZone }), ...(marketArea && { marketArea }) },
  }
}

/**
 * Code; name; GeoNames code if it differs; time zone if the state has only one; market area if one operator runs
 * (nearly) all of its grid. If a state has several zones or operators, the city decides or the value stays open.
 */
const table: Readonly<Record<string, string>> = {
  US: `
AL,Alabama,,America/Chicago; AK,Alaska; AZ,Arizona; AR,Arkansas,,America/Chicago; CA,California,,America/Los_Angeles,CAISO;
CO,Colorado,,America/Denver; CT,Connecticut,,America/New_York,ISO-NE; DE,Delaware,,America/New_York,PJM;
DC,District of Columbia,,America/New_York,PJM; FL,Florida; GA,Georgia,,America/New_York; HI,Hawaii,,Pacific/Honolulu; ID,Idaho;
IL,Illinois,,America/Chicago; IN,Indiana; IA,Iowa,,America/Chicago,MISO; KS,Kansas,,,SPP; KY,Kentucky; LA,Louisiana,,America/Chicago;
ME,Maine,,America/New_York,ISO-NE; MD,Maryland,,America/New_York,PJM; MA,Massachusetts,,America/New_York,ISO-NE; MI,Michigan;
MN,Minnesota,,America/Chicago,MISO; MS,Mississippi,,America/Chicago; MO,Missouri,,America/Chicago; MT,Montana,,America/Denver;
NE,Nebraska,,,SPP; NV,Nevada; NH,New Hampshire,,America/New_York,ISO-NE; NJ,New Jersey,,America/New_York,PJM;
NM,New Mexico,,America/Denver; NY,New York,,America/New_York,NYISO; NC,North Carolina,,America/New_York; ND,North Dakota;
OH,Ohio,,America/New_York,PJM; OK,Oklahoma,,America/Chicago,SPP; OR,Oregon; PA,Pennsylvania,,America/New_York,PJM;
RI,Rhode Island,,America/New_York,ISO-NE; SC,South Carolina,,America/New_York; SD,South Dakota; TN,Tennessee; TX,Texas,,,ERCOT;
UT,Utah,,America/Denver; VT,Vermont,,America/New_York,ISO-NE; VA,Virginia,,America/New_York,PJM; WA,Washington,,America/Los_Angeles;
WV,West Virginia,,America/New_York,PJM; WI,Wisconsin,,America/Chicago,MISO; WY,Wyoming,,America/Denver`,
  CA: `
AB,Alberta,01,America/Edmonton,AESO; BC,British Columbia,02; MB,Manitoba,03,America/Winnipeg; NB,New Brunswick,04,America/Moncton;
NL,Newfoundland and Labrador,05; NS,Nova Scotia,07,America/Halifax; ON,Ontario,08,,IESO; PE,Prince Edward Island,09,America/Halifax;
QC,Quebec,10; SK,Saskatchewan,11; YT,Yukon,12,America/Whitehorse; NT,Northwest Territories,13; NU,Nunavut,14`,
  AU: `
ACT,Australian Capital Territory,01,Australia/Sydney,NSW1; NSW,New South Wales,02,,NSW1; NT,Northern Territory,03,Australia/Darwin;
QLD,Queensland,04,Australia/Brisbane,QLD1; SA,South Australia,05,Australia/Adelaide,SA1; TAS,Tasmania,06,Australia/Hobart,TAS1;
VIC,Victoria,07,Australia/Melbourne,VIC1; WA,Western Australia,08`,
  GB: `
ENG,England,,Europe/London,GB; SCT,Scotland,,Europe/London,GB; WLS,Wales,,Europe/London,GB; NIR,Northern Ireland,,Europe/London,IE`,
}
