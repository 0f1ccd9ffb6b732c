import { divideHalfEven } from '../oracle/exact.ts'
import type { Random } from '../random.ts'
import type { Client } from '../system/client.ts'
import { decimal, units } from './exact-decimal.ts'
import type { LedgerLocation } from './journal.ts'

/**
 * Time zones without clock changes, with their offset in minutes. With them, the ledger needs no rules of time zones.
 */
const zones = [
  ['UTC', 0],
  ['Asia/Kolkata', 330],
  ['America/Phoenix', -420],
  ['Asia/Tokyo', 540],
] as const

const clock = (minute: number): string =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}:00`

const rateOf = (random: Random, below: number) => ({
  fixed: `0.${String(1 + random.below(below)).padStart(6, '0')}`,
  surchargeFixed: `0.${String(random.below(90_000)).padStart(7, '0')}`,
  percentage: `0.${String(random.below(400)).padStart(4, '0')}`,
})
type Rate = ReturnType<typeof rateOf>

/** (fixed + surcharge) × (1 + percentage), rounded half to even to 1e-9. */
const priceOf = ({ fixed, surchargeFixed, percentage }: Rate): bigint =>
  divideHalfEven((units(fixed, 9) + units(surchargeFixed, 9)) * (10_000n + units(percentage, 4)), 10_000n)

const hoursOf = (from: number, to: number, { fixed, surchargeFixed, percentage }: Rate): string =>
  `{"valid_from":"${clock(from)}","valid_to":"${clock(to)}","rate":[{"fixed":${fixed},"surcharge_fixed":${surchargeFixed},"surcharge_percentage":${percentage}}]}`

const tariffOf = (locationId: string, type: string, hours: readonly string[]): string =>
  `{"location_id":"${locationId}","direction":"IMPORT","type":"${type}","display_name":"Ledger","schedule":[{"months":["All"],"days_and_hours":[{"days":["All"],"hours":[${hours.join()}]}]}]}`

/** Create a location with a device, day and night prices, and grid fees. Return it with its exact total prices. */
export const makeLocation = async (client: Client, random: Random): Promise<LedgerLocation> => {
  const [timezone, offsetMinutes] = random.pick(zones)
  const { id: locationId } = (await client.ask('POST', '/locations', { timezone, currency_code: 'EUR' })) as {
    id: string
  }
  const { id: deviceId } = (await client.ask('POST', '/devices', { reference_id: `meter of ${locationId}` })) as {
    id: string
  }
  const [from, to] = [60 * (4 + random.below(4)), 60 * (19 + random.below(4)) + 30]
  const [dayRate, nightRate, grid] = [rateOf(random, 500_000), rateOf(random, 200_000), rateOf(random, 80_000)]
  const energy = tariffOf(locationId, 'COMMODITY', [hoursOf(from, to, dayRate), hoursOf(to, from, nightRate)])
  await client.ask('POST', '/tariffs', energy)
  await client.ask('POST', '/tariffs', tariffOf(locationId, 'NON_COMMODITY', [hoursOf(0, 0, grid)]))
  const total = (rate: Rate): string => decimal(priceOf(rate) + priceOf(grid), 9)
  const bands = [
    { fromMinute: from, price: total(dayRate) },
    { fromMinute: to, price: total(nightRate) },
  ]
  return { kind: 'location', locationId, deviceId, offsetMinutes, bands }
}
