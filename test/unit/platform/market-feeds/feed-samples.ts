import type { Feed, FeedSeries, FeedSettings } from '../../../../services/platform/market-feeds/feed.ts'

/** Answers of the feeds, written after their documents. */

export const settings: FeedSettings = {
  baseUrl: 'http://feed.test',
  entsoeToken: 'token-of-the-tests',
  octopus: { product: 'AGILE-24-10-01', isVatIncluded: true, region: null },
}

/** Midnight in Berlin, the start of the sample prices. */
export const start = Date.parse('2025-10-01T22:00:00Z')

/** Every price as [minutes after the start, length in minutes, 1e-9 per kWh]. */
export const listed = (feed: Feed, text: string, series: FeedSeries, more: object = {}) =>
  feed
    .read(text, series, { ...settings, ...more })
    .prices.map(price => [(price.start - start) / 60_000, (price.end - price.start) / 60_000, price.value])

export type SeriesDraft = {
  readonly sequence?: string
  readonly contract?: string
  readonly currency?: string
  readonly unit?: string
  readonly curve?: 'A01' | 'A03'
  readonly start: string
  readonly end: string
  readonly resolution?: string
  /** Price texts by position. */
  readonly points: Readonly<Record<number, string>>
}

const seriesText = (draft: SeriesDraft, number: number): string => {
  const {
    sequence,
    contract = 'A01',
    currency = 'EUR',
    unit = 'MWH',
    curve = 'A03',
    start,
    end,
    resolution = 'PT15M',
    points,
  } = draft
  const position =
    sequence === undefined
      ? ''
      : `<classificationSequence_AttributeInstanceComponent.position>${sequence}</classificationSequence_AttributeInstanceComponent.position>`
  return `
  <TimeSeries>
    <mRID>${number}</mRID>
    <auction.type>A01</auction.type>
    <businessType>A62</businessType>
    <in_Domain.mRID codingScheme="A01">10Y1001A1001A82H</in_Domain.mRID>
    <out_Domain.mRID codingScheme="A01">10Y1001A1001A82H</out_Domain.mRID>
    <contract_MarketAgreement.type>${contract}</contract_MarketAgreement.type>
    <currency_Unit.name>${currency}</currency_Unit.name>
    <price_Measure_Unit.name>${unit}</price_Measure_Unit.name>
    ${position}
    <curveType>${curve}</curveType>
    <Period>
      <timeInterval><start>${start}</start><end>${end}</end></timeInterval>
      <resolution>${resolution}</resolution>
      ${Object.entries(points)
        .map(([index, price]) => `<Point><position>${index}</position><price.amount>${price}</price.amount></Point>`)
        .join('\n      ')}
    </Period>
  </TimeSeries>`
}

/** A publication document of ENTSO-E with some time series. */
export const publication = (...series: readonly SeriesDraft[]): string => `<?xml version="1.0" encoding="utf-8"?>
<Publication_MarketDocument xmlns="urn:iec62325.351:tc57wg16:451-3:publicationdocument:7:3">
  <mRID>1b0c</mRID>
  <revisionNumber>1</revisionNumber>
  <type>A44</type>
  <period.timeInterval><start>2025-10-01T22:00Z</start><end>2025-10-02T22:00Z</end></period.timeInterval>
  ${series.map(seriesText).join('')}
</Publication_MarketDocument>`

/** An acknowledgement document of ENTSO-E. */
export const acknowledgement = (reason: string): string => `<?xml version="1.0" encoding="UTF-8"?>
<Acknowledgement_MarketDocument xmlns="urn:iec62325.351:tc57wg16:451-1:acknowledgementdocument:8:1">
  <mRID>a3</mRID>
  <createdDateTime>2025-10-01T10:00:00Z</createdDateTime>
  <Reason><code>999</code><text>${reason}</text></Reason>
</Acknowledgement_MarketDocument>`

/** Starts in seconds and prices as Energy-Charts sends them. */
export const energyChartsAnswer = (starts: readonly number[], prices: readonly string[], unit = 'EUR / MWh'): string =>
  `{"license_info":"CC BY 4.0","unix_seconds":[${starts.join(',')}],"price":[${prices.join(',')}],"unit":"${unit}","deprecated":false}`
