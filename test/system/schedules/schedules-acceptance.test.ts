import { beforeAll, describe, expect, it } from 'vitest'
import {
  type AmountCase,
  askPlan,
  askSlots,
  averageOf,
  createPrices,
  type DurationCase,
  type LimitCase,
  makeDevices,
  scheduleCases,
} from '../../support/acceptance/schedule-cases.ts'
import type { ApiVersion, Client } from '../../support/system/client.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
const clients: Partial<Record<ApiVersion, Client>> = {}

beforeAll(async () => {
  for (const apiVersion of ['current', 'earlier'] as const) clients[apiVersion] = await system.login('test', apiVersion)
})

const toleranceOf = ({ tolerance }: Pick<AmountCase, 'tolerance'>, value: number): number =>
  Math.max(tolerance.abs ?? 0, (tolerance.rel ?? 0) * Math.abs(value))

const hoursOf = (start: string, end: string): number => (Date.parse(end) - Date.parse(start)) / 3_600_000

const isFitting = ({ request }: DurationCase): boolean =>
  request.duration_minutes <= hoursOf(request.start_time, request.end_time) * 60
const durationCases = scheduleCases<DurationCase>('duration').filter(isFitting)
const tooLong = scheduleCases<DurationCase>('duration').filter(one => !isFitting(one))
const limitCases = scheduleCases<LimitCase>('limit')
const amountCases = scheduleCases<AmountCase>('amount')

describe('published runs', () => {
  it.each(durationCases.map(one => [one.id, one] as const))('%s', async (_, one) => {
    const client = clients.current as Client
    const { duration_minutes: duration, ...window } = one.request
    const body = { ...window, duration, contiguous: true }
    const { data } = await askSlots(
      client,
      'current',
      'duration',
      await createPrices(client, 'current', one.prices),
      body,
    )
    expect(data).toHaveLength(1)
    const [slot] = data
    if (slot === undefined) throw new Error('no run')
    expect(Math.abs(averageOf(slot) - one.expected.average)).toBeLessThanOrEqual(toleranceOf(one, one.expected.average))
    expect(one.expected.optimal_starts_on_boundaries.map(Date.parse)).toContain(Date.parse(slot.start_time))
    expect(hoursOf(slot.start_time, slot.end_time) * 60).toBe(duration)
  })
})

describe('published windows that are too short', () => {
  it.each(tooLong.map(one => [one.id, one] as const))('%s', async (_, one) => {
    const client = clients.current as Client
    const { duration_minutes: duration, ...window } = one.request
    const path = `/schedules/duration/${await createPrices(client, 'current', one.prices)}`
    const { status, json } = await client.send('POST', path, { ...window, duration, contiguous: true })
    expect([status, json]).toMatchObject([400, { code: 'duration_too_long', field: 'duration' }])
  })
})

describe.each(['current', 'earlier'] as const)('published schedules in the %s API version', apiVersion => {
  it.each(durationCases.map(one => [one.id, one] as const))(
    '%s, split, is at least as good as one run',
    async (_, one) => {
      const client = clients[apiVersion] as Client
      const { duration_minutes: duration, ...window } = one.request
      const locationId = await createPrices(client, apiVersion, one.prices)
      const { data } = await askSlots(client, apiVersion, 'duration', locationId, { ...window, duration })
      const hours = data.map(({ start_time: start, end_time: end }) => hoursOf(start, end))
      const total = hours.reduce((sum, one) => sum + one, 0)
      expect(total * 60).toBeCloseTo(duration, 9)
      const average = data.reduce((sum, slot, index) => sum + averageOf(slot) * (hours[index] ?? 0), 0) / total
      const gain = (one.expected.average - average) * (one.request.segment === 'LOW' ? 1 : -1)
      expect(gain).toBeGreaterThanOrEqual(-toleranceOf(one, one.expected.average))
    },
  )

  it.each(limitCases.map(one => [one.id, one] as const))('%s', async (_, one) => {
    const client = clients[apiVersion] as Client
    const { data, duration } = await askSlots(
      client,
      apiVersion,
      'limit',
      await createPrices(client, apiVersion, one.prices),
      one.request,
    )
    expect(data.map(slot => [Date.parse(slot.start_time), Date.parse(slot.end_time)])).toEqual(
      one.expected.windows.map(({ start_time: start, end_time: end }) => [Date.parse(start), Date.parse(end)]),
    )
    expect(duration).toBe(one.expected.duration_minutes)
    for (const [index, { average }] of one.expected.windows.entries()) {
      expect(Math.abs(averageOf(data[index] as (typeof data)[number]) - average)).toBeLessThanOrEqual(
        toleranceOf(one, average),
      )
    }
  })

  it.each(amountCases.map(one => [one.id, one] as const))('%s', async (_, one) => {
    const client = clients[apiVersion] as Client
    const locationId = await createPrices(client, apiVersion, one.prices)
    const devices = await makeDevices(clients.current as Client, one.request.devices.length)
    const data = one.request.devices.map((device, index) => ({
      device_id: devices[index],
      tariff_direction: device.tariff_direction,
      start_time: device.start_time,
      end_time: device.end_time,
      max_power: { units: 'KW', value: device.max_power_kw },
      energy: { units: 'KWH', value: device.energy_kwh },
    }))
    const planUnder = async (cap: number | null, expected: number): Promise<void> => {
      const plan = await askPlan(client, apiVersion, locationId, {
        ...(cap === null ? {} : { max_power: { units: 'KW', value: cap } }),
        data,
      })
      const cost = (plan.cost ?? plan.tariff)?.value ?? Number.NaN
      expect(Math.abs(cost - expected)).toBeLessThanOrEqual(toleranceOf(one, expected))
      const { baseline_asap_uncapped_cost: baseline } = one.expected
      expect(Math.abs(plan.savings.value - (baseline - cost))).toBeLessThanOrEqual(2 * toleranceOf(one, baseline))
      for (const [index, { energy }] of plan.data.entries())
        expect(energy.value).toBe(one.request.devices[index]?.energy_kwh)
    }
    const { max_power_kw: cap, shaving_threshold_absolute_kw: shaved } = one.request
    await planUnder(cap, one.expected.optimal_cost)
    if (shaved === undefined || one.expected.shaved === undefined) return
    await planUnder(cap === null ? shaved : Math.min(cap, shaved), one.expected.shaved.optimal_cost)
  })
})
