import { readFileSync } from 'node:fs'
import type { ApiVersion, Client } from '../system/client.ts'
import { makeOne } from '../system/home.ts'
import { allHours } from '../tariffs/all-hours.ts'
import { createSteps } from './price-cases.ts'

type Prices = { readonly start: string; readonly step_minutes: number; readonly values: readonly number[] }
type Case<Request, Expected> = {
  readonly id: string
  readonly prices: Prices
  readonly request: Request
  readonly expected: Expected
  readonly tolerance: { readonly abs?: number; readonly rel?: number }
}
type Window = { readonly start_time: string; readonly end_time: string; readonly segment: 'LOW' | 'HIGH' }

/** One run with a duration, and its optimal starts. */
export type DurationCase = Case<
  Window & { readonly duration_minutes: number },
  { readonly average: number; readonly optimal_starts_on_boundaries: readonly string[] }
>

type LimitWindow = { readonly start_time: string; readonly end_time: string; readonly average: number }

/** All time above or below a price limit. */
export type LimitCase = Case<
  Window & { readonly absolute?: number; readonly relative?: number },
  { readonly windows: readonly LimitWindow[]; readonly duration_minutes: number }
>

type Device = {
  readonly device_id: string
  readonly tariff_direction: 'IMPORT' | 'EXPORT'
  readonly start_time: string
  readonly end_time: string
  readonly max_power_kw: number
  readonly energy_kwh: number
}

/** Devices with a power limit, and the cost of the optimal plan. A power threshold of the file is a second limit. */
export type AmountCase = Case<
  {
    readonly max_power_kw: number | null
    readonly shaving_threshold_absolute_kw?: number
    readonly devices: readonly Device[]
  },
  {
    readonly optimal_cost: number
    readonly baseline_asap_uncapped_cost: number
    readonly shaved?: { readonly optimal_cost: number }
  }
>

/** Read the published cases of one kind of schedule. */
export const scheduleCases = <T>(kind: 'duration' | 'limit' | 'amount'): readonly T[] =>
  JSON.parse(readFileSync(`test/acceptance/schedule_${kind}_cases.json`, 'utf8')).cases

/** Create a location with the market prices of a case, for import and export. */
export const createPrices = async (
  client: Client,
  apiVersion: ApiVersion,
  { start, step_minutes: step, values }: Prices,
): Promise<string> => {
  const steps = values.map((value, index) => [index * step, (index + 1) * step, value] as const)
  const locationId = await createSteps(client, apiVersion, steps, Date.parse(start))
  const terms = { direction: 'EXPORT', type: 'COMMODITY', market_rates: true, schedule: allHours([{}]) }
  await client.ask('POST', apiVersion === 'current' ? '/tariffs' : '/tariffs/elements', {
    location_id: locationId,
    ...terms,
  })
  return locationId
}

type Slot = {
  readonly start_time: string
  readonly end_time: string
  readonly price?: { readonly average: number }
  readonly tariff?: { readonly rate_avg: number; readonly rate_avg_: number }
}

/** Answer to a schedule of a window, in both API versions. */
export type SlotsAnswer = { readonly duration?: number; readonly data: readonly Slot[] }

const paths = { duration: '/slots/time', limit: '/slots/threshold' } as const

/** Request a schedule of a window in an API version. */
export const askSlots = async (
  client: Client,
  apiVersion: ApiVersion,
  kind: 'duration' | 'limit',
  locationId: string,
  body: Readonly<Record<string, unknown>>,
): Promise<SlotsAnswer> => {
  if (apiVersion === 'current') return client.ask('POST', `/schedules/${kind}/${locationId}`, body)
  const { contiguous: _, tariff_direction: tariff = 'IMPORT', ...rest } = body
  const query = new URLSearchParams({
    ...Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, String(value)])),
    tariff: String(tariff),
  })
  return client.ask('GET', `${paths[kind]}/${locationId}?${query}`)
}

/** Return the average price of a slot, in both API versions. */
export const averageOf = ({ price, tariff }: Slot): number => price?.average ?? tariff?.rate_avg ?? Number.NaN

type Money = { readonly value: number; readonly confidence: number }
type Savings = { readonly value: number; readonly percentage: number | null }
type Quantity = { readonly units: string; readonly value: number }

/** A plan, in both API versions. */
export type PlanAnswer = {
  readonly id: string
  readonly cost?: Money
  readonly tariff?: Money
  readonly savings: Savings
  readonly unpriced: readonly { readonly start_time: string; readonly end_time: string }[]
  readonly data: readonly {
    readonly device_id: string
    readonly energy: Quantity
    readonly cost?: Money
    readonly tariff?: Money
    readonly savings: Savings
    readonly schedule: readonly { readonly start_time: string; readonly end_time: string; readonly power: Quantity }[]
  }[]
}

/** Request for a plan in the current API version. */
type PlanBody = Readonly<Record<string, unknown>> & { readonly data: readonly object[] }

/** Convert a request for a plan to an API version. Return its path and body. */
export const planRequest = (apiVersion: ApiVersion, locationId: string, { data, ...body }: PlanBody) =>
  apiVersion === 'current'
    ? ({ path: `/schedules/amount/${locationId}`, body: { ...body, data } } as const)
    : ({
        path: '/schedules',
        body: {
          location_id: locationId,
          ...body,
          data: data.map(one => {
            const { tariff_direction: direction = 'IMPORT', ...rest } = one as { readonly tariff_direction?: string }
            return { ...rest, direction }
          }),
        },
      } as const)

/** Request a plan in an API version. */
export const askPlan = (
  client: Client,
  apiVersion: ApiVersion,
  locationId: string,
  request: PlanBody,
): Promise<PlanAnswer> => {
  const { path, body } = planRequest(apiVersion, locationId, request)
  return client.ask('POST', path, body)
}

let made = 0

/** Create devices with unique references. Return their ids. */
export const makeDevices = (client: Client, count: number): Promise<readonly string[]> =>
  Promise.all(
    Array.from({ length: count }, () => {
      made += 1
      return makeOne(client, '/devices', { reference_id: `planned ${process.pid} ${made}` })
    }),
  )
