import { priceRetrieve } from '../../contract/prices/price.ts'
import { scheduleAmount } from '../../contract/schedules/schedule-amount.ts'
import { writeInstant } from '../../domain/instant.ts'
import { hourMs } from '../../domain/interval.ts'
import { timeZone } from '../../platform/time-zone.ts'
import { type Command, type CommandInput, success, UsageError } from '../command.ts'
import { columnChart, instantText } from '../price-chart.ts'
import { logIn, type Received } from '../service-client.ts'
import { columns } from '../table.ts'
import { readTarget, targetOptions } from '../target.ts'
import { chartValues } from './price-command.ts'

const maxHours = 7 * 24

type Prices = Pick<Received<typeof priceRetrieve>, 'data'>

type Plan = Received<typeof scheduleAmount>

type TimeWindow = { readonly start_time: string; readonly end_time: string }

/** Format the plan of one device for a terminal: prices, runs, energy and cost. */
export const planText = (plan: Plan, prices: Prices): string => {
  const zone = timeZone(plan.location_timezone)
  if (zone === null) throw new RangeError(`Unknown time zone ${plan.location_timezone}.`)
  const values = chartValues(prices)
  const [device] = plan.data
  const pieces = device?.schedule ?? []
  const runIntervals = pieces.map(({ start_time: start, end_time: end }) => ({
    start: Date.parse(start),
    end: Date.parse(end),
  }))
  const { location_id: id, currency_code: currency, location_timezone: zoneName } = plan
  const title = `  Plan of ${device?.device_id} at ${id}, ${currency} per kWh, time zone ${zoneName}`
  const runTexts = pieces.map((piece, index) => {
    const { start, end } = runIntervals[index] ?? { start: 0, end: 0 }
    return [`${instantText(start, zone)} to ${instantText(end, zone)}`, `${piece.power.value} kW`]
  })
  const { value, percentage } = plan.savings
  const savingsText = percentage === null ? `${value} ${currency}` : `${value} ${currency} (${percentage} %)`
  const planFacts = [
    ['energy', `${device?.energy.value} kWh`],
    ['cost', `${plan.cost.value} ${currency}`],
    ['savings', `${savingsText} compared with an immediate start`],
  ]
  return [title, '', columnChart(values, zone, runIntervals), '', columns(runTexts), '', columns(planFacts)].join('\n')
}

const readNumber = (name: string, text: string): number => {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value <= 0)
    throw new UsageError(`--${name} must be a number above 0, not "${text}".`)
  return value
}

const readHours = (text: string): number => {
  const hours = readNumber('hours', text)
  if (!Number.isInteger(hours) || hours > maxHours)
    throw new UsageError(`--hours must be a whole number from 1 to ${maxHours}, not "${text}".`)
  return hours
}

/** Return the parts of a window outside the unpriced windows, which are ordered and do not overlap. */
const windowWithout = (
  { start_time: from, end_time: to }: TimeWindow,
  unpricedWindows: readonly TimeWindow[],
): readonly TimeWindow[] => {
  const windows: TimeWindow[] = []
  let start = from
  for (const gap of unpricedWindows) {
    if (Date.parse(gap.start_time) > Date.parse(start)) windows.push({ start_time: start, end_time: gap.start_time })
    start = gap.end_time
  }
  return Date.parse(start) < Date.parse(to) ? [...windows, { start_time: start, end_time: to }] : windows
}

/** Return the requested window, from the next whole minute, and the request body. */
const planRequest = ({ options, at }: Pick<CommandInput, 'options' | 'at'>) => {
  const start = Math.ceil(at / 60_000) * 60_000
  const window = {
    start_time: writeInstant(start),
    end_time: writeInstant(start + readHours(options['hours'] ?? '24') * hourMs),
  }
  const energy = { units: 'KWH', value: readNumber('energy', options['energy'] ?? '') }
  const power = { units: 'KW', value: readNumber('power', options['power'] ?? '') }
  return { window, body: { data: [{ device_id: options['device'] ?? '', ...window, max_power: power, energy }] } }
}

export const scheduleCommand: Command = {
  name: 'schedule',
  operands: ['LOCATION'],
  summary: 'Plan the energy of a device at the lowest cost.',
  details: [
    'Requires a running service. Draws the cheapest plan of one device, from now, below the prices.',
    'Works in test mode. Default address and key: sandbox.json in the data folder.',
  ],
  options: {
    device: { value: 'DEVICE', summary: 'Id of the device.', isRequired: true },
    energy: { value: 'KWH', summary: 'Energy in kWh.', isRequired: true },
    power: { value: 'KW', summary: 'Maximum power in kW.', isRequired: true },
    hours: { value: 'N', summary: `Length of the plan in hours, up to ${maxHours}. Default: 24.` },
    ...targetOptions,
  },
  run: async input => {
    const location = { id: input.operands[0] ?? '' }
    const { window, body } = planRequest(input)
    const target = readTarget(input)
    const client = await logIn(target.baseUrl, target.account, target.key)
    const plan = await client.ask(scheduleAmount, location, body)
    // The service refuses price requests that include unpriced windows. The plan lists these windows.
    const known = windowWithout(window, plan.unpriced).map(one => client.ask(priceRetrieve, location, one))
    const data = (await Promise.all(known)).flatMap(prices => prices.data)
    return success(planText(plan, { data }), plan)
  },
}
