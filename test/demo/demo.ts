import { parseArgs } from 'node:util'
import { CommandError, UsageError } from '../../services/command-line/command.ts'
import { CallError, logIn, type ServiceClient } from '../../services/command-line/service-client.ts'
import { readTarget, type ServiceTarget } from '../../services/command-line/target.ts'
import { currentInstant } from '../../services/platform/clock.ts'
import { ConfigError } from '../../services/platform/failure.ts'
import { timeZone } from '../../services/platform/time-zone.ts'
import { type CreatedFleet, createFleet, freeSuffix } from './create-fleet.ts'
import { minLocations, placesOf, planFleet } from './fleet.ts'
import { type OfficeDay, playOfficeDay } from './office-day.ts'
import { type Period, periodUntil } from './reading.ts'
import { reportBought, reportCostliestSession, reportFactory, reportMarket, reportSolar } from './report.ts'
import { planSubmissions, sendAll } from './send-readings.ts'
import { heading, paint, print, showProgress, whole } from './terminal.ts'

const help = `Simulates a fleet of homes, charging parks and factories against a running Wattledger, in test mode.
The readings end now, so that the console shows them at once.

  npm run demo -- [--locations N] [--days N] [--seed N]

  --locations N     Sites of the fleet, ${minLocations} to 10000 (default 40).
  --days N          Days of readings, 1 to 31 (default 31).
  --seed N          Seed of the readings. The same seed gives the same readings and costs (default 1).
  --base-url URL    Address of the service (default: the address in sandbox.json in the data folder).
  --account ACCOUNT --key KEY
                    Account and test key (default: those of the sandbox).
  --help            Show this help.

The demo does not delete its objects. A second run creates a second fleet: "Leeds home (2)".
`

type Options = { readonly locations: number; readonly days: number; readonly seed: number }

const zone = 'Europe/Berlin'
const dayFormat = new Intl.DateTimeFormat('en-GB', { timeZone: zone, day: 'numeric', month: 'long', year: 'numeric' })

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

const deliver = async (client: ServiceClient, fleet: CreatedFleet, period: Period, seed: number, suffix: string) => {
  const plan = planSubmissions(fleet.sites, period, seed, suffix)
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

const reportEnd = (baseUrl: string, account: string, { corrected, ending, webhook }: OfficeDay): void => {
  heading('Look at it', 'the console shows it now')
  print(`  ${paint('bold', `${baseUrl}/console`)}`)
  print(`  Sign in with account ${account} and the test key that you used here (sandbox.json has both).`)
  print()
  for (const [name, value] of [
    ['Corrected reading', corrected],
    ['Contract that ends in 12 days', ending],
    ['Energy without a price', `the ${placesOf.unpriced.word} in ${placesOf.unpriced.addresses[0]?.city}`],
    ['Webhook that fails', webhook],
  ] as const)
    print(`  ${paint('dim', name.padEnd(30))} ${value}`)
  print()
}

const simulate = async (
  client: ServiceClient,
  { locations, days, seed }: Options,
  { baseUrl, account }: ServiceTarget,
): Promise<void> => {
  const berlin = timeZone(zone)
  if (berlin === null) throw new RangeError(`${zone} is unknown.`)
  const period = periodUntil(berlin, currentInstant(), days)
  const [firstDay, lastDay] = [period.start, period.end].map(at => dayFormat.format(at))
  print()
  print(`  ${paint('bold', 'Wattledger')}  ${whole(locations)} sites, ${firstDay} to ${lastDay} (now)`)
  print()
  const sites = planFleet(locations)
  const suffix = await freeSuffix(client, sites)
  const creating = showProgress('Creating', locations, 'sites')
  const fleet = await createFleet({ client, suffix, period, seed }, sites, creating.update)
  const devices = fleet.sites.reduce((sum, site) => sum + site.deviceIds.size, 0)
  creating.end(`${whole(locations)} locations with tariffs and charges, ${whole(devices)} devices, 2 plans, 1 market`)
  const { plan, delivery } = await deliver(client, fleet, period, seed, suffix)
  const office = await playOfficeDay(client, fleet, period)
  await reportBought(client, fleet, period)
  reportMarket(period, seed)
  await reportSolar(client, fleet, period)
  await reportCostliestSession(client, plan.sessions)
  await reportFactory(client, fleet, period)
  const rate = (ms: number): string => `${whole(delivery.records / (ms / 1_000))} records/s`
  heading('Rate', 'one client that waits for each answer; "npm run bench" measures the limits')
  print(`  accepted and durable   ${rate(delivery.acceptedMs)}`)
  print(`  priced and readable    ${rate(delivery.storedMs)}`)
  reportEnd(baseUrl, account, office)
}

const run = async (): Promise<void> => {
  const given = parseArguments(process.argv.slice(2))
  if (given.help === true) return print(help)
  const options = {
    locations: parseNumber('locations', given.locations ?? '40', minLocations, 10_000),
    days: parseNumber('days', given.days ?? '31', 1, 31),
    seed: parseNumber('seed', given.seed ?? '1', 0, 2 ** 31),
  }
  const target = readTarget({
    options: { 'base-url': given['base-url'], account: given.account, key: given.key },
    variables: process.env,
  })
  await simulate(await connect(target.baseUrl, target.account, target.key), options, target)
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
