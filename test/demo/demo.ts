import { parseArgs } from 'node:util'
import { CommandError, UsageError } from '../../services/command-line/command.ts'
import { CallError, logIn, type ServiceClient } from '../../services/command-line/service-client.ts'
import { readTarget } from '../../services/command-line/target.ts'
import { currentInstant } from '../../services/platform/clock.ts'
import { ConfigError } from '../../services/platform/failure.ts'
import { type CreatedFleet, createFleet } from './create-fleet.ts'
import { minLocations, planFleet } from './fleet.ts'
import type { Period } from './reading.ts'
import { reportBought, reportCostliestSession, reportFactory, reportMarket, reportSolar } from './report.ts'
import { planSubmissions, sendAll } from './send-readings.ts'
import { heading, paint, print, showProgress, whole } from './terminal.ts'

const help = `Simulates a fleet of homes, charging sites and factories against a running Wattledger, in test mode.

  npm run demo -- [--locations N] [--days N] [--seed N]

  --locations N     Sites of the fleet, ${minLocations} to 10000 (default 100).
  --days N          Days of readings, 1 to 31 (default 1).
  --seed N          Seed of the readings. The same seed gives the same readings and costs (default 1).
  --base-url URL    Address of the service (default: the address in sandbox.json in the data folder).
  --account ACCOUNT --key KEY
                    Account and test key (default: those of the sandbox).
  --help            Show this help.

The demo does not delete its objects. Their references start with "demo-".
`

type Options = { readonly locations: number; readonly days: number; readonly seed: number }

/** Midnight of Monday, 16 June 2025, in Central European summer time. */
const firstDay = Date.UTC(2025, 5, 15, 22)

const parseNumber = (name: string, text: string, min: number, max: number): number => {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < min || value > max)
    throw new UsageError(`--${name} must be a whole number from ${min} to ${max}, not "${text}".`)
  return value
}

const text = { type: 'string' } as const

const parseArguments = (args: readonly string[]) => {
  const options = {
    locations: text,
    days: text,
    seed: text,
    'base-url': text,
    account: text,
    key: text,
    help: { type: 'boolean', short: 'h' },
  } as const
  try {
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

const connect = async (baseUrl: string, account: string, key: string): Promise<ServiceClient> => {
  try {
    return await logIn(baseUrl, account, key)
  } catch (error) {
    if (!(error instanceof CallError) || error.status !== null) throw error
    throw new CommandError(
      `No service answers at ${baseUrl}. Start the service with "npm start" in another terminal, or use --base-url.`,
      {
        cause: error,
      },
    )
  }
}

const deliver = async (client: ServiceClient, fleet: CreatedFleet, period: Period, seed: number, run: string) => {
  const plan = planSubmissions(fleet.sites, period, seed, run)
  const sending = showProgress('Sending', plan.records, 'records')
  let storing = sending
  const delivery = await sendAll(client, plan, {
    sent: sending.update,
    allSent: ms => {
      const submissions = `${whole(plan.records)} records in ${plan.submissions.length} submissions`
      sending.end(`${submissions}, durable after ${(ms / 1_000).toFixed(2)} s`)
      storing = showProgress('Pricing', plan.records, 'records')
    },
    stored: records => storing.update(records),
  })
  storing.end(`all records processed after ${(delivery.storedMs / 1_000).toFixed(2)} s`)
  return { plan, delivery }
}

const simulate = async (client: ServiceClient, { locations, days, seed }: Options): Promise<void> => {
  const run = `demo-${currentInstant().toString(36)}`
  const period: Period = { start: firstDay, days }
  print()
  const length = days === 1 ? 'one day' : `${days} days`
  print(`  ${paint('bold', 'Wattledger')}  ${whole(locations)} sites, ${length}, from Monday, 16 June 2025`)
  print()
  const creating = showProgress('Creating', locations, 'sites')
  const fleet = await createFleet({ client, run, period, seed }, planFleet(locations), creating.update)
  const devices = fleet.sites.reduce((sum, site) => sum + site.deviceIds.size, 0)
  creating.end(`${whole(locations)} locations with tariffs, ${whole(devices)} devices, one market`)
  const { plan, delivery } = await deliver(client, fleet, period, seed, run)
  await reportBought(client, fleet, period)
  reportMarket(period, seed)
  await reportSolar(client, fleet, period)
  await reportCostliestSession(client, plan.sessions)
  await reportFactory(client, fleet, period)
  const rate = (ms: number): string => `${whole(delivery.records / (ms / 1_000))} records/s`
  heading('Rate', 'one client that waits for each answer; "npm run bench" measures the limits')
  print(`  accepted and durable   ${rate(delivery.acceptedMs)}`)
  print(`  priced and readable    ${rate(delivery.storedMs)}`)
  print()
}

const run = async (): Promise<void> => {
  const given = parseArguments(process.argv.slice(2))
  if (given.help === true) return print(help)
  const options = {
    locations: parseNumber('locations', given.locations ?? '100', minLocations, 10_000),
    days: parseNumber('days', given.days ?? '1', 1, 31),
    seed: parseNumber('seed', given.seed ?? '1', 0, 2 ** 31),
  }
  const target = readTarget({
    options: { 'base-url': given['base-url'], account: given.account, key: given.key },
    variables: process.env,
  })
  await simulate(await connect(target.baseUrl, target.account, target.key), options)
}

try {
  await run()
} catch (error) {
  const isUsage = error instanceof UsageError || error instanceof ConfigError
  const isExpectedError = isUsage || error instanceof CommandError || error instanceof CallError
  const reason =
    error instanceof Error ? (isExpectedError ? error.message : (error.stack ?? error.message)) : String(error)
  process.stderr.write(`\ndemo: ${reason}\n`)
  process.exitCode = isUsage ? 2 : 1
}
