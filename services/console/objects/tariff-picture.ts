import { type JsonNumber, numberText } from '../../contract/json/exact-number.ts'
import type { TariffWire } from '../../contract/tariffs/tariff.ts'
import { type Content, type Html, html } from '../../web/ui-kit/html.ts'
import { shifted } from './schedule-rows.ts'
import { tierSteps } from './tier-steps.ts'

type Entry = TariffWire['schedule'][number]
type Hours = Entry['days_and_hours'][number]['hours'][number]
type Rate = Hours['rate'][number]

const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const dayGroups: Readonly<Record<string, readonly string[]>> = {
  All: weekdays,
  Weekdays: weekdays.slice(0, 5),
  Weekend: weekdays.slice(5),
}
const maxTones = 6

const isZero = (value: JsonNumber): boolean => Number(numberText(value)) === 0

/** Write the price of a tier: "0.29", or the surcharges on the market price. */
const rateText = ({ fixed, surcharge_fixed, surcharge_percentage }: Rate, isMarket: boolean): string => {
  const parts = [
    ...(isMarket ? ['market price'] : [numberText(fixed)]),
    ...(isZero(surcharge_fixed) ? [] : [numberText(surcharge_fixed)]),
  ].join(' + ')
  return isZero(surcharge_percentage) ? parts : `(${parts}) + ${shifted(numberText(surcharge_percentage), 2)} %`
}

const tierText = (rate: Rate, isMarket: boolean): string =>
  `${rateText(rate, isMarket)}${rate.to_kwh === null ? '' : ` up to ${numberText(rate.to_kwh)} kWh`}`

/** Write all tiers of a time: "0.41 up to 150 kWh, then 0.47". */
const tiersText = (rates: readonly Rate[], isMarket: boolean): string =>
  rates.map((rate, index) => (index === 0 ? tierText(rate, isMarket) : `then ${tierText(rate, isMarket)}`)).join(', ')

/** Order of prices: the first tier with its surcharges. */
const priceOf = ([rate]: readonly Rate[]): number => {
  if (rate === undefined) return 0
  const base = Number(numberText(rate.fixed)) + Number(numberText(rate.surcharge_fixed))
  return base * (1 + Number(numberText(rate.surcharge_percentage)))
}

type Priced = { readonly text: string; readonly rates: readonly Rate[]; readonly tone: number }

/** Give each different price a tone, from the lowest to the highest. */
const tonesOf = (schedule: readonly Entry[], isMarket: boolean): ReadonlyMap<string, Priced> => {
  const prices = new Map<string, readonly Rate[]>()
  for (const { days_and_hours } of schedule)
    for (const { hours } of days_and_hours) for (const { rate } of hours) prices.set(tiersText(rate, isMarket), rate)
  const ordered = [...prices].sort(([, a], [, b]) => priceOf(a) - priceOf(b))
  const last = Math.max(ordered.length - 1, 1)
  return new Map(
    ordered.map(([text, rates], index) => [
      text,
      { text, rates, tone: ordered.length === 1 ? 1 : Math.round((index / last) * (maxTones - 1)) },
    ]),
  )
}

const hourOf = (time: string): number => {
  const [hour = 0, minute = 0, second = 0] = time.split(':').map(Number)
  return hour + minute / 60 + second / 3_600
}

/** Parts of a day that a time covers, in hours. A time after midnight has two parts. */
const partsOf = ({ valid_from, valid_to }: Hours): readonly (readonly [from: number, to: number])[] => {
  const [from, to] = [hourOf(valid_from), hourOf(valid_to)]
  if (to === 0) return [[from, 24]]
  return from < to
    ? [[from, to]]
    : [
        [0, to],
        [from, 24],
      ]
}

const rowHeight = 22
const percentOf = (hour: number): string => `${((hour / 24) * 100).toFixed(3)}%`

type DayRow = { readonly name: string; readonly hours: readonly Hours[] }

/** Rows of a schedule entry: the days of the week, then holidays and special days. */
const rowsOf = ({ days_and_hours }: Entry): readonly DayRow[] => {
  const rows = new Map<string, Hours[]>()
  for (const { days, hours } of days_and_hours)
    for (const day of days.flatMap(one => dayGroups[one] ?? [one])) rows.set(day, [...(rows.get(day) ?? []), ...hours])
  const rank = (name: string): number => (weekdays.includes(name) ? weekdays.indexOf(name) : weekdays.length)
  return [...rows]
    .map(([name, hours]) => ({ name, hours }))
    .sort((a, b) => rank(a.name) - rank(b.name))
    .slice(0, 20)
}

const dayBands = (
  { name, hours }: DayRow,
  y: number,
  tones: ReadonlyMap<string, Priced>,
  isMarket: boolean,
): readonly Html[] =>
  hours.flatMap(one => {
    const text = tiersText(one.rate, isMarket)
    return partsOf(one).map(
      ([from, to]) =>
        html`<rect class="price-${tones.get(text)?.tone ?? 0}" x="${percentOf(from)}" width="${percentOf(to - from)}" y="${y + 1}" height="${rowHeight - 2}"><title>${name} ${one.valid_from} to ${one.valid_to}: ${text}</title></rect>`,
    )
  })

const seasonText = ({ months, dates }: Entry): string => {
  const days = dates === undefined || dates.length === 0 || dates.length === 31 ? '' : `, days ${dates.join(', ')}`
  return (months.includes('All') || months.length === 12 ? 'All year' : months.join(', ')) + days
}

const seasonPicture = (entry: Entry, tones: ReadonlyMap<string, Priced>, isMarket: boolean): Html => {
  const rows = rowsOf(entry)
  const height = rows.length * rowHeight + 18
  return html`<figure class="week"><figcaption>${seasonText(entry)}</figcaption><div class="plotted">
<svg class="axis" height="${height}" aria-hidden="true">${rows.map(
    ({ name }, index) => html`<text class="tick" x="0" y="${index * rowHeight + 15}">${name}</text>`,
  )}</svg>
<svg class="plot" height="${height}" aria-hidden="true">${rows.flatMap((one, index) => dayBands(one, index * rowHeight, tones, isMarket))}
${[0, 6, 12, 18, 24].map(
  hour =>
    html`<text class="tick" x="${percentOf(hour)}" y="${height - 4}" text-anchor="${hour === 0 ? 'start' : hour === 24 ? 'end' : 'middle'}">${hour}:00</text>`,
)}</svg></div></figure>`
}

const legend = (tones: ReadonlyMap<string, Priced>, currency: string): Html =>
  html`<ul class="legend">${[...tones.values()].map(
    ({ text, tone }) =>
      html`<li><span class="swatch price-${tone}"></span>${text} <span class="none">${currency}/kWh</span></li>`,
  )}</ul>`

/** Maximum number of pictures of a schedule. */
const maxSeasons = 24
/** Maximum number of prices whose tiers are drawn. */
const maxTiered = 3

/** Draw the tiers of the prices that have some. */
const tierPictures = (tones: ReadonlyMap<string, Priced>, isMarket: boolean, currency: string): readonly Html[] => {
  const tiered = [...tones.values()].filter(({ rates }) => rates.length > 1).slice(0, maxTiered)
  const unit = isMarket ? `${currency}/kWh without the market price` : `${currency}/kWh`
  return tiered.map(({ text, rates }) =>
    tierSteps(
      tiered.length === 1 ? 'Price by energy' : `Price by energy: ${text}`,
      unit,
      rates.map(rate => ({
        to: rate.to_kwh === null ? null : Number(numberText(rate.to_kwh)),
        price: priceOf([rate]),
        text: tierText(rate, isMarket),
      })),
    ),
  )
}

/** Show a schedule as people read it: a week by hours in colours for each season, with the prices as a legend. */
export const schedulePicture = (schedule: readonly Entry[], isMarket: boolean, currency: string): Content => {
  const tones = tonesOf(schedule, isMarket)
  return html`${legend(tones, currency)}${tierPictures(tones, isMarket, currency)}<div class="weeks">${schedule
    .slice(0, maxSeasons)
    .map(entry => seasonPicture(entry, tones, isMarket))}</div>
<details><summary>As a list</summary><ul>${schedule.slice(0, maxSeasons).map(
    entry =>
      html`<li>${seasonText(entry)}<ul>${entry.days_and_hours.map(
        ({ days, hours }) =>
          html`<li>${days.join(', ')}: ${hours
            .slice(0, 48)
            .map(one => `${one.valid_from.slice(0, 5)}–${one.valid_to.slice(0, 5)} ${tiersText(one.rate, isMarket)}`)
            .join('; ')}</li>`,
      )}</ul></li>`,
  )}</ul></details>`
}
