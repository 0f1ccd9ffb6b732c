import { nameKey } from './city-name.ts'
import { stateNamed } from './state.ts'

/**
 * Data that a state or a post code gives about an address. `admin` is the GeoNames code of the division. Only a post
 * code gives the market area: within a state the area can depend on the city.
 */
export type Region = { readonly admin?: string; readonly timeZone?: string; readonly marketArea?: string }

/**
 * Find the region of a state (code or name: US, CA, AU, GB; code: CH) or else of a post code (ES, PT, GB, DK, IT).
 * Undefined if neither gives a region.
 */
export function regionOf(country: string, state: string, postCode: string): Region | undefined {
  const named = stateNamed(country, state)
  if (named === undefined) return regionOfPostCode(country, postCode.replace(/\s+/g, '').toUpperCase())
  return named.timeZone === undefined ? { admin: named.admin } : { admin: named.admin, timeZone: named.timeZone }
}

/**
 * Return the code of a territory that addresses write as part of its mother country; otherwise the country.
 * Post codes identify the territories of the United Kingdom (JE, GY, IM), France (971…988) and Finland (22…).
 * State codes identify those of the United States (PR, VI, GU, AS, MP).
 */
export function territoryOf(country: string, state: string, postCode: string): string {
  if (country === 'FR')
    return frenchTerritories.get(postCode.trim()) ?? frenchTerritories.get(postCode.trim().slice(0, 3)) ?? country
  if (country === 'US') return usTerritories.get(nameKey(state)) ?? country
  if (country === 'GB') return crownDependencies.get(postCode.trim().slice(0, 2).toUpperCase()) ?? country
  if (country === 'FI' && /^22\d{3}$/.test(postCode.trim())) return 'AX'
  return country
}

const frenchTerritories: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '971': 'GP',
    '972': 'MQ',
    '973': 'GF',
    '974': 'RE',
    '975': 'PM',
    '976': 'YT',
    '980': 'MC',
    '986': 'WF',
    '987': 'PF',
    '988': 'NC',
    '97133': 'BL',
    '97150': 'MF',
  }),
)

const crownDependencies: ReadonlyMap<string, string> = new Map(Object.entries({ JE: 'JE', GY: 'GG', IM: 'IM' }))

const usTerritories: ReadonlyMap<string, string> = new Map(
  Object.entries({
    pr: 'PR',
    puertorico: 'PR',
    vi: 'VI',
    usvirginislands: 'VI',
    virginislands: 'VI',
    gu: 'GU',
    guam: 'GU',
    as: 'AS',
    americansamoa: 'AS',
    mp: 'MP',
    northernmarianaislands: 'MP',
  }),
)

function regionOfPostCode(country: string, postCode: string): Region | undefined {
  if (country === 'GB' && postCode !== '')
    return /^BT\d/.test(postCode) ? { admin: 'NIR', timeZone: 'Europe/London' } : { marketArea: 'GB' }
  const digits = postCode.replace(/^[A-Z]{1,2}-?/, '').replace(/-/g, '')
  const range = (postCodes[country] ?? []).find(([first, last]) => {
    const head = digits.slice(0, first.length)
    return /^\d{4,7}$/.test(digits) && head >= first && head <= last
  })
  return range?.[2]
}

const north = { marketArea: 'IT-NORD' }
const centreNorth = { marketArea: 'IT-CNOR' }
const centreSouth = { marketArea: 'IT-CSUD' }
const south = { marketArea: 'IT-SUD' }
const spain = { timeZone: 'Europe/Madrid' }
const canaries = { admin: '53', timeZone: 'Atlantic/Canary' }

/** Ranges of first digits (inclusive) and their regions. */
const postCodes: Readonly<Record<string, readonly (readonly [string, string, Region])[]>> = {
  ES: [
    ['35', '35', canaries],
    ['38', '38', canaries],
    ['51', '52', { timeZone: 'Africa/Ceuta' }],
    ['01', '50', spain],
  ],
  PT: [
    ['90', '94', { admin: '10', timeZone: 'Atlantic/Madeira' }],
    ['95', '99', { admin: '23', timeZone: 'Atlantic/Azores' }],
    ['10', '89', { timeZone: 'Europe/Lisbon', marketArea: 'PT' }],
  ],
  DK: [
    ['1', '4', { marketArea: 'DK2' }],
    ['5', '9', { marketArea: 'DK1' }],
  ],
  IT: [
    ['00', '06', centreSouth],
    ['07', '09', { marketArea: 'IT-SARD' }],
    ['10', '48', north],
    ['50', '63', centreNorth],
    ['64', '67', centreSouth],
    ['70', '76', south],
    ['80', '84', centreSouth],
    ['85', '86', south],
    ['87', '89', { marketArea: 'IT-CALA' }],
    ['90', '98', { marketArea: 'IT-SICI' }],
  ],
}
