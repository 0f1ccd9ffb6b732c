import type { ServiceClient } from '../../services/command-line/service-client.ts'
import { writeInstant } from '../../services/domain/instant.ts'
import { inParallel } from '../support/system/in-parallel.ts'
import type { CreatedFleet, CreatedSite } from './create-fleet.ts'
import { maxChargingPrice } from './demo-tariffs.ts'
import { dayMs, type Period } from './reading.ts'
import { requestWithRetries } from './retry.ts'
import type { SentSession } from './send-readings.ts'

type Element = {
  readonly start_time: string
  readonly end_time: string
  readonly energy: { readonly value: number }
  readonly tariff: { readonly cost: { readonly value: number } }
  readonly unpriced_records?: number
}
type EnergyCost = { readonly data: readonly Element[] }
type Piece = {
  readonly start_time: string
  readonly energy: number
  readonly price: number
  readonly tier: number
  readonly cost: number
}
type RecordList = { readonly data: readonly { readonly pieces: readonly Piece[] }[] }

/** Energy in Wh with its cost or revenue, as summed by the service. */
export type Cost = { readonly energyWh: number; readonly cost: number; readonly unpricedRecords: number }

export const flows = {
  bought: 'tariff_direction=IMPORT',
  ownRoof: 'tariff_direction=LOCAL',
  sold: 'tariff_direction=EXPORT',
  fromBattery: 'tariff_direction=IMPORT&energy_flow_direction=OUTBOUND',
} as const

const intervalOf = ({ start, end }: Pick<Period, 'start' | 'end'>) => ({
  start_time: writeInstant(start),
  end_time: writeInstant(end),
})

/** Read the cost of one flow of energy of an object in the period. */
export const readCost = async (
  client: ServiceClient,
  objectId: string,
  flow: keyof typeof flows,
  period: Period,
): Promise<Cost> => {
  const { data } = await requestWithRetries<EnergyCost>(
    client,
    'POST',
    `/costs/interval/${objectId}?${flows[flow]}`,
    intervalOf(period),
  )
  const [element] = data
  return {
    energyWh: element?.energy.value ?? 0,
    cost: element?.tariff.cost.value ?? 0,
    unpricedRecords: element?.unpriced_records ?? 0,
  }
}

/** Read the cost of the bought energy for each kind of site. */
export const readBought = async (client: ServiceClient, { customers }: CreatedFleet, period: Period) => {
  const kinds = Object.entries(customers)
  const costs = await inParallel(kinds, kinds.length, ([, id]) => readCost(client, id, 'bought', period))
  return new Map(kinds.map(([kind], index) => [kind, costs[index] ?? { energyWh: 0, cost: 0, unpricedRecords: 0 }]))
}

export type CostedSession = SentSession & { readonly cost: number; readonly start: string; readonly end: string }

const readSession = async (client: ServiceClient, session: SentSession): Promise<CostedSession> => {
  const { data } = await requestWithRetries<EnergyCost>(
    client,
    'POST',
    `/costs/session/${encodeURIComponent(session.reference)}`,
  )
  const [element] = data
  if (element === undefined) throw new Error(`Session ${session.reference} has no cost.`)
  return { ...session, cost: element.tariff.cost.value, start: element.start_time, end: element.end_time }
}

const sessionsAtOnce = 8

/**
 * Find the session of a charging park with the highest cost; null without sessions. Sessions are read in descending order of energy. The
 * search ends when the next session would be cheaper even at the maximum price.
 */
export const costliestSession = async (
  client: ServiceClient,
  sessions: readonly SentSession[],
): Promise<CostedSession | null> => {
  const sorted = sessions.filter(({ site }) => site.kind === 'charging').toSorted((a, b) => b.energyWh - a.energyWh)
  let best: CostedSession | null = null
  for (let from = 0; from < sorted.length; from += sessionsAtOnce) {
    const group = sorted.slice(from, from + sessionsAtOnce)
    if (best !== null && ((group[0]?.energyWh ?? 0) / 1_000) * maxChargingPrice < best.cost) break
    for (const session of await inParallel(group, sessionsAtOnce, one => readSession(client, one))) {
      if (best === null || session.cost > best.cost) best = session
    }
  }
  return best
}

/** Energy and cost of one hour in one tier. */
export type TierPart = {
  readonly hour: number
  readonly price: number
  readonly energyWh: number
  readonly cost: number
}

/** Read the cost of the first day of a site, by hour and tier, in order of time. */
export const readTiers = async (
  client: ServiceClient,
  { locationId }: CreatedSite,
  { start }: Period,
): Promise<readonly TierPart[]> => {
  const { start_time: from, end_time: to } = intervalOf({ start, end: start + dayMs })
  const path = `/meters/records?location_id=${locationId}&start_time=${from}&end_time=${to}&limit=100`
  const { data } = await requestWithRetries<RecordList>(client, 'GET', path)
  const parts = new Map<string, TierPart>()
  for (const piece of data.flatMap(({ pieces }) => pieces)) {
    const hour = Math.floor((Date.parse(piece.start_time) - start) / 3_600_000)
    const key = `${hour} ${piece.tier}`
    const known = parts.get(key) ?? { hour, price: piece.price, energyWh: 0, cost: 0 }
    parts.set(key, { ...known, energyWh: known.energyWh + piece.energy, cost: known.cost + piece.cost })
  }
  return [...parts.values()].toSorted((a, b) => a.hour - b.hour || b.price - a.price)
}
