import type { ServiceClient } from '../../services/command-line/service-client.ts'
import type { CreatedFleet } from './create-fleet.ts'
import { factoryTiers, marketPrices } from './demo-tariffs.ts'
import { placesOf, type SiteKind, siteKinds } from './fleet.ts'
import { type Cost, costliestSession, readBought, readCost, readTiers, type TierPart } from './read-costs.ts'
import type { Period } from './reading.ts'
import type { SentSession } from './send-readings.ts'
import { energyText, heading, meanPrice, money, paint, print, printTable, sparkline, whole } from './terminal.ts'

const titles: Readonly<Record<SiteKind, string>> = {
  household: 'British homes, Economy 7',
  market: 'German homes, dynamic price, § 14a',
  nordic: 'Norwegian homes',
  solar: 'German homes with solar roof',
  charging: 'Charging parks',
  factory: 'Factories',
  unpriced: 'Danish kiosk, no tariff yet',
}

const nothing: Cost = { energyWh: 0, cost: 0, unpricedRecords: 0 }

/** Print the bought energy and its cost for each kind of site, and the totals. */
export const reportBought = async (client: ServiceClient, fleet: CreatedFleet, period: Period): Promise<void> => {
  const costs = await readBought(client, fleet, period)
  const rows = siteKinds.map(kind => {
    const { energyWh, cost } = costs.get(kind) ?? nothing
    const count = fleet.sites.filter(site => site.kind === kind).length
    const { currency } = placesOf[kind]
    const priced = energyWh === 0 ? ['–', '–'] : [money(cost, currency), meanPrice(cost, energyWh, currency)]
    return [titles[kind], whole(count), energyText(energyWh), ...priced]
  })
  const all = [...costs.values()]
  heading('Bought from the grid', 'one request for each line: POST /costs/interval/{customer}')
  printTable(['', 'sites', 'energy', 'cost', 'per kWh'], rows)
  const unpriced = all.reduce((sum, one) => sum + one.unpricedRecords, 0)
  if (unpriced > 0) print(`\n  ${paint('yellow', `${whole(unpriced)} records without a price are not included.`)}`)
}

/** Print the value of the solar energy: used at home, sold, and stored in batteries for the evening. */
export const reportSolar = async (
  client: ServiceClient,
  { customers }: CreatedFleet,
  period: Period,
): Promise<void> => {
  const [sold, ownRoof, fromBattery, bought] = await Promise.all([
    readCost(client, customers.solar, 'sold', period),
    readCost(client, customers.solar, 'ownRoof', period),
    readCost(client, customers.solar, 'fromBattery', period),
    readCost(client, customers.solar, 'bought', period),
  ])
  heading('Solar roofs and batteries', 'INBOUND and OUTBOUND, IMPORT, EXPORT and LOCAL')
  printTable(
    ['', 'energy', 'value'],
    [
      ['Sold to the grid', energyText(sold.energyWh), money(sold.cost)],
      ['Used at home or stored in the battery', energyText(ownRoof.energyWh), money(ownRoof.cost)],
      ['Battery instead of the grid', energyText(fromBattery.energyWh), money(fromBattery.cost)],
      null,
      ['Bought minus sold', energyText(bought.energyWh - sold.energyWh), money(bought.cost - sold.cost)],
    ],
  )
}

/** Print the market prices of the first day by hour. */
export const reportMarket = (period: Period, seed: number): void => {
  const prices = marketPrices({ start: period.start, days: 1 }, seed).map(({ value }) => value)
  const cents = (value: number): string => `${(value * 100).toFixed(1)} ct`
  heading('Market', 'price of each hour of the first day')
  const range = `from ${cents(Math.min(...prices))} to ${cents(Math.max(...prices))} per kWh`
  print(`  0 h ${paint('cyan', sparkline(prices))} 24 h   ${range}`)
}

/** Print the charging session with the highest cost. */
export const reportCostliestSession = async (
  client: ServiceClient,
  sessions: readonly SentSession[],
): Promise<void> => {
  const session = await costliestSession(client, sessions)
  if (session === null) return
  const minutes = Math.round((Date.parse(session.end) - Date.parse(session.start)) / 60_000)
  heading('Most expensive charging session', `of ${whole(sessions.length)}: POST /costs/session/{reference}`)
  const price = meanPrice(session.cost, session.energyWh)
  const energy = `${energyText(session.energyWh)} in ${minutes} minutes`
  print(`  ${paint('bold', money(session.cost))} for ${energy}, ${price} per kWh`)
  const { address_line1: street, city } = session.site.address
  print(`  ${session.device} of ${session.site.name}, ${street}, ${city}  ${paint('dim', session.reference)}`)
}

const tierStyles = [
  { colour: 'cyan', full: '█' },
  { colour: 'green', full: '▓' },
  { colour: 'yellow', full: '░' },
] as const

const chartWidth = 40

/** Print the first day of the first factory by hour and tier. */
export const reportFactory = async (client: ServiceClient, { sites }: CreatedFleet, period: Period): Promise<void> => {
  const factory = sites.find(({ kind }) => kind === 'factory')
  if (factory === undefined) return
  const parts = await readTiers(client, factory, period)
  heading('A factory by hour', `${factory.address.city}, first day; pieces of GET /meters/records`)
  const hours = Array.from({ length: 24 }, (_, hour) => parts.filter(part => part.hour === hour))
  const maxWh = Math.max(...hours.map(energyOf))
  for (const [hour, ofHour] of hours.entries()) {
    const lengths = ofHour.map(({ energyWh }) => Math.round((energyWh / maxWh) * chartWidth))
    const bars = ofHour.map(({ price }, index) => tierBar(price, lengths[index] ?? 0)).join('')
    const gap = ' '.repeat(Math.max(0, chartWidth + 1 - lengths.reduce((sum, length) => sum + length, 0)))
    const cost = ofHour.reduce((sum, part) => sum + part.cost, 0)
    const numbers = `${energyText(energyOf(ofHour)).padStart(8)}  ${money(cost).padStart(9)}`
    print(`  ${String(hour).padStart(2, '0')} h  ${bars}${gap}${paint('dim', numbers)}`)
  }
  print()
  printTable(
    ['tier', 'price per kWh', 'energy', 'cost'],
    factoryTiers.map(({ fixed = 0, to_kwh: to }, index) => {
      const ofTier = parts.filter(({ price }) => price === fixed)
      const cost = ofTier.reduce((sum, part) => sum + part.cost, 0)
      const bound = to === undefined ? 'above' : `up to ${whole(to)} kWh`
      return [
        `${tierStyles[index]?.full ?? ''} ${bound}`,
        `${(fixed * 100).toFixed(1)} ct`,
        energyText(energyOf(ofTier)),
        money(cost),
      ]
    }),
  )
}

const energyOf = (parts: readonly TierPart[]): number => parts.reduce((sum, part) => sum + part.energyWh, 0)

const tierBar = (price: number, length: number): string => {
  const style = tierStyles[factoryTiers.findIndex(({ fixed }) => fixed === price)] ?? tierStyles[0]
  return paint(style.colour, style.full.repeat(length))
}
