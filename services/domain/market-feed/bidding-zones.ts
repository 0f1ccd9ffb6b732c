/** A bidding zone of the European electricity market. */
export type BiddingZone = {
  /** Name of the zone in locations and market sources. */
  readonly area: string
  /** Energy Identification Code. */
  readonly eic: string
  /** Name of the zone at Energy-Charts. Null if Energy-Charts has no prices of the zone. */
  readonly energyCharts: string | null
  readonly currencyCode: string
  /** Length of the market time unit. */
  readonly resolutionMinutes: number
  /** Time zone of the delivery days. */
  readonly timeZone: string
}

/** Time zone of the delivery days in all coupled markets. It can differ from the time zone of the country. */
const coupled = 'Europe/Brussels'

/**
 * Columns: area, EIC, name at Energy-Charts (= same as the area, - none), minutes, time zone, currency.
 * Defaults of the last three columns: 15, the coupled time zone, EUR.
 */
const rows = `
AL        10YAL-KESH-----5 -               60
AT        10YAT-APG------L =
BA        10YBA-JPCC-----D -               60
BE        10YBE----------2 =
BG        10YCA-BULGARIA-R =
CH        10YCH-SWISSGRIDZ =               60
CY        10YCY-1001A0003J -               30 Asia/Nicosia
CZ        10YCZ-CEPS-----N =
DE-LU     10Y1001A1001A82H =
DK1       10YDK-1--------W =
DK2       10YDK-2--------M =
EE        10Y1001A1001A39I =
ES        10YES-REE------0 =
FI        10YFI-1--------U =
FR        10YFR-RTE------C =
GE        10Y1001A1001B012 -               60 Asia/Tbilisi GEL
GR        10YGR-HTSO-----Y =
HR        10YHR-HEP------M =
HU        10YHU-MAVIR----U =
IE        10Y1001A1001A59C -               30
IT-CALA   10Y1001C--00096J IT-Calabria
IT-CNOR   10Y1001A1001A70O IT-Centre-North
IT-CSUD   10Y1001A1001A71M IT-Centre-South
IT-NORD   10Y1001A1001A73I IT-North
IT-SARD   10Y1001A1001A74G IT-Sardinia
IT-SICI   10Y1001A1001A75E IT-Sicily
IT-SUD    10Y1001A1001A788 IT-South
LT        10YLT-1001A0008Q =
LV        10YLV-1001A00074 =
MD        10Y1001A1001A990 -               60 Europe/Chisinau MDL
ME        10YCS-CG-TSO---S =               60
MK        10YMK-MEPSO----8 -               60
MT        10Y1001A1001A93C -               60
NL        10YNL----------L =
NO1       10YNO-1--------2 =
NO2       10YNO-2--------T =
NO3       10YNO-3--------J =
NO4       10YNO-4--------9 =
NO5       10Y1001A1001A48H =
PL        10YPL-AREA-----S =
PT        10YPT-REN------W =
RO        10YRO-TEL------P =
RS        10YCS-SERBIATSOV =               60
SE1       10Y1001A1001A44P =
SE2       10Y1001A1001A45N =
SE3       10Y1001A1001A46L =
SE4       10Y1001A1001A47J =
SI        10YSI-ELES-----O =
SK        10YSK-SEPS-----K =
TR        10YTR-TEIAS----W -               60 Europe/Istanbul TRY
UA        10Y1001C--00003F -               60 Europe/Kyiv UAH
XK        10Y1001C--00100H -               60
`

const readRow = (row: string): BiddingZone => {
  const [area = '', eic = '', name = '-', minutes = '15', timeZone = coupled, currencyCode = 'EUR'] = row.split(/ +/)
  const energyCharts = name === '=' ? area : name === '-' ? null : name
  return { area, eic, energyCharts, currencyCode, resolutionMinutes: Number(minutes), timeZone }
}

/**
 * Bidding zones with published day-ahead prices, with the currency of their auction.
 * Source:
 * ENTSO-E, https://www.entsoe.eu/data/energy-identification-codes-eic/; Energy-Charts, https://api.energy-charts.info.
 */
export const biddingZones: readonly BiddingZone[] = rows.trim().split('\n').map(readRow)

const byArea: ReadonlyMap<string, BiddingZone> = new Map(biddingZones.map(zone => [zone.area, zone]))

/** Return the bidding zone of a market area. */
export const biddingZone = (area: string): BiddingZone | undefined => byArea.get(area)
