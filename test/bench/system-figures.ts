import type { OpenBench } from './bench-system.ts'
import { sixCharges } from './bills/bill-rows.ts'
import { batchFigures, statementFigures } from './bills/statements.ts'
import { type EndToEnd, endToEnd } from './end-to-end.ts'
import { type FigureLine, lineOf, type Measures, ratioLine } from './figure-line.ts'
import { type GrowthFigures, growthFigures } from './growth.ts'
import { limitRate, type OpenLimit } from './limit/limit.ts'
import { readFigures, readKinds } from './reads.ts'
import { singleRecords } from './single.ts'
import { medianOf, spreadOf } from './statistics.ts'
import { webhookFigures } from './webhooks.ts'

/** Kind of system, and size of the load. */
export type Profile = {
  readonly name: 'embedded' | 'distributed'
  readonly open: OpenBench
  readonly openLimit: OpenLimit
  readonly seconds: number
  /** Locations of the fleet. Each has two devices. */
  readonly locations: number
  /** Locations of the batch of statements. */
  readonly statements: number
  /** Months of rows that P7 reads, with 1.2 million rows each. */
  readonly months: number
}

const loadOf = ({ locations }: Profile) => ({ rate: null, locations, connections: 8 })
const p1Goals = { embedded: '≥ 120,000 and ≥ 0.75 ×', distributed: '≥ 100,000 and ≥ 0.75 ×' }
const rounds = 3
const readGoals = { day: 20, month: 30, session: 20, months: 150, account: 250 }
const readNames = {
  day: 'costs of a day',
  month: 'costs of a month',
  session: 'costs of a session',
  months: 'costs of a location, all months',
  account: 'costs of an account, a month',
}

const statementLines = async ({ open }: Profile): Promise<readonly FigureLine[]> => {
  const { clientMs, serverMs, engineMs } = await statementFigures(open)
  return [
    ratioLine('P13', 'statement of a month, on the server', serverMs, engineMs, 'ms', '≤ 50 and ≤ 3 × the engine'),
    lineOf('P13', 'statement of a month, for the client', clientMs, 'ms', ''),
  ]
}

const batchLines = async ({ open, statements }: Profile): Promise<readonly FigureLine[]> => {
  const { statementsPerSecond, enginePerSecond, cpuMs, memoryMb } = await batchFigures(open, statements)
  return [
    ratioLine('P14', 'batch of statements', statementsPerSecond, enginePerSecond, 'statements/s', '≥ 200'),
    lineOf('P14', 'CPU for a statement of a batch', cpuMs, 'ms', ''),
    lineOf('P14', 'memory above idle', memoryMb, 'MiB', '≤ 256'),
  ]
}

const cpuOf = ({ cpuMicroseconds }: EndToEnd): number =>
  Object.values(cpuMicroseconds).reduce((sum, micros) => sum + micros, 0)

/** Compare records, lag and reads of locations with charges and without, in turns. */
const chargedLines = async (profile: Profile): Promise<readonly FigureLine[]> => {
  const { open, seconds } = profile
  const load = { ...loadOf(profile), seconds: Math.min(seconds / rounds, 10) }
  const charges = sixCharges.slice(0, 2)
  const runs: { readonly without: EndToEnd; readonly charged: EndToEnd }[] = []
  for (let round = 0; round < rounds; round += 1)
    runs.push({ without: await endToEnd(open, load), charged: await endToEnd(open, { ...load, charges }) })
  const medianOfRuns = (of: (run: EndToEnd) => number) => ({
    without: medianOf(runs.map(run => of(run.without))),
    charged: medianOf(runs.map(run => of(run.charged))),
  })
  const records = medianOfRuns(({ recordsPerSecond }) => recordsPerSecond)
  const cpu = medianOfRuns(cpuOf)
  const rate = records.without / 2
  const lag = (await endToEnd(open, { ...load, rate })).lag.p99
  const chargedLag = (await endToEnd(open, { ...load, rate, charges })).lag.p99
  const without = await readFigures(open, 1, null)
  const charged = await readFigures(open, 1, null, charges)
  return [
    ratioLine('P16', 'end to end, with charges', records.charged, records.without, 'records/s', '≥ 0.97 × without'),
    ratioLine('P16', 'CPU, with charges', cpu.charged, cpu.without, 'µs/record', '≤ 1.03 × without'),
    ratioLine('P16', 'visible lag, p99, with charges', chargedLag, lag, 's', 'as without'),
    ...readKinds.map(kind =>
      ratioLine(
        'P16',
        `${readNames[kind]}, with charges`,
        charged.alone[kind].p99,
        without.alone[kind].p99,
        'ms',
        'as without',
      ),
    ),
  ]
}

const maxOf = (runs: readonly EndToEnd[], of: (run: EndToEnd) => number): number => Math.max(...runs.map(of))

/**
 * Measure the product and its limit in turns, so that other load affects both. The figure is the ratio of the medians.
 */
const endToEndLines = async (profile: Profile): Promise<readonly FigureLine[]> => {
  const { name, open, openLimit } = profile
  const load = { ...loadOf(profile), seconds: profile.seconds / rounds }
  const limits: number[] = []
  const runs: EndToEnd[] = []
  for (let round = 0; round < rounds; round += 1) {
    limits.push(await limitRate(openLimit, load))
    runs.push(await endToEnd(open, load))
  }
  const rates = runs.map(({ recordsPerSecond }) => recordsPerSecond)
  const rate = medianOf(rates)
  const tiered = name === 'embedded' ? await endToEnd(open, { ...load, pricing: 'tiers' }) : null
  const tieredLine = (value: number): FigureLine =>
    ratioLine('P1', 'end to end, prices with tiers', value, rate, 'records/s', '≥ 0.5 × without')
  const backlogSeconds = (at: (backlog: readonly number[]) => number | undefined): number =>
    maxOf(runs, run => (at(run.backlog) ?? 0) / run.recordsPerSecond)
  const backlogAtEnd = backlogSeconds(backlog => backlog.at(-1))
  const backlogAtHalf = backlogSeconds(backlog => backlog[backlog.length >> 1])
  const lost = maxOf(runs, run => run.lost)
  const rssMb = maxOf(runs, run => run.rssMb)
  const cpuNames = Object.keys(runs[0]?.cpuMicroseconds ?? {})
  return [
    ...(tiered === null ? [] : [tieredLine(tiered.recordsPerSecond)]),
    ratioLine('P1', `end to end, ${name}`, rate, medianOf(limits), 'records/s', p1Goals[name]),
    lineOf('P1', 'spread of the product over rounds', spreadOf(rates), '%', ''),
    lineOf('P1', 'spread of the limit over rounds', spreadOf(limits), '%', ''),
    lineOf('P1', 'backlog at the end', backlogAtEnd, 's', 'not growing'),
    lineOf('P1', 'backlog at half of the time', backlogAtHalf, 's', ''),
    lineOf('P1', 'lost', lost, 'records', '0'),
    ...cpuNames.map(process =>
      lineOf('P1', `CPU, ${process}`, medianOf(runs.map(run => run.cpuMicroseconds[process] ?? 0)), 'µs/record', ''),
    ),
    lineOf('P10', 'memory at P1', rssMb, 'MB', name === 'embedded' ? '≤ 900' : ''),
  ]
}

const lagLines = async (profile: Profile): Promise<readonly FigureLine[]> => {
  const { open, seconds } = profile
  const load = loadOf(profile)
  const { recordsPerSecond } = await endToEnd(open, { ...load, seconds: Math.min(seconds, 20) })
  const { lag } = await endToEnd(open, { ...load, seconds, rate: recordsPerSecond / 2 })
  return [
    lineOf('P2', 'visible lag at half load, p50', lag.p50, 's', '≤ 0.2'),
    lineOf('P2', 'visible lag at half load, p99', lag.p99, 's', '≤ 0.5'),
    lineOf('P2', 'the same in the first seconds', lag.p99New, 's', ''),
  ]
}

/** Return the mean number of cores that the roles used. */
const coresOf = (run: EndToEnd): number => (cpuOf(run) * run.recordsPerSecond) / 1e6
const loadCoresOf = ({ load }: EndToEnd): number => load.cpuSeconds / load.seconds

/** Connections that are enough to send three times the peak rate. With brokers, accepted requests take longer. */
const overloadConnections = { embedded: 2_000, distributed: 6_000 }

/**
 * Send three times the peak rate, each request at its planned time. Refused requests must not slow down the others.
 * The peak and the overload alternate.
 */
const overloadLines = async (profile: Profile): Promise<readonly FigureLine[]> => {
  const { name, open } = profile
  const load = { ...loadOf(profile), seconds: Math.min(profile.seconds, 60) / rounds }
  const [peaks, overs]: [EndToEnd[], EndToEnd[]] = [[], []]
  for (let round = 0; round < rounds; round += 1) {
    const peak = await endToEnd(open, load)
    const rate = peak.recordsPerSecond * 3
    peaks.push(peak)
    overs.push(await endToEnd(open, { ...load, rate, connections: overloadConnections[name], isOpenLoop: true }))
  }
  const ratesOf = (runs: readonly EndToEnd[]) => runs.map(({ recordsPerSecond }) => recordsPerSecond)
  const peakRate = medianOf(ratesOf(peaks))
  const offered = medianOf(overs.map(over => (over.load.requests * 500) / load.seconds))
  const cores = (of: (run: EndToEnd) => number) => [medianOf(overs.map(of)), medianOf(peaks.map(of))] as const
  const goal = '≥ 0.8 × the peak'
  return [
    ratioLine('I7', 'stored under three times the load', medianOf(ratesOf(overs)), peakRate, 'records/s', goal),
    lineOf('I7', 'spread over rounds', spreadOf(ratesOf(overs)), '%', ''),
    lineOf('I7', 'spread of the peak over rounds', spreadOf(ratesOf(peaks)), '%', ''),
    ratioLine('I7', 'offered', offered, peakRate, 'records/s', '3 × the peak'),
    lineOf('I7', 'refused', medianOf(overs.map(over => over.load.failed - over.load.unanswered)), 'requests', ''),
    lineOf(
      'I7',
      'without an answer',
      maxOf(overs, over => over.load.unanswered),
      'requests',
      '0',
    ),
    lineOf('I7', 'time to the answer, p99', maxOf(overs, over => over.load.latencyMs.p99) / 1000, 's', '≤ 5'),
    lineOf(
      'I7',
      'lost',
      maxOf(overs, over => over.lost),
      'records',
      '0',
    ),
    ratioLine('I7', 'CPU, all roles, and at the peak', ...cores(coresOf), 'cores', ''),
    ratioLine('I7', 'CPU, load, and at the peak', ...cores(loadCoresOf), 'cores', ''),
  ]
}

const readLines = async ({ open, months }: Profile): Promise<readonly FigureLine[]> => {
  const { alone, underLoad, byHand } = await readFigures(open, months, 20_000)
  return readKinds.flatMap(kind => [
    ratioLine('P7', `${readNames[kind]}, p50`, alone[kind].p50, byHand[kind].p50, 'ms', ''),
    ratioLine('P7', `${readNames[kind]}, p99`, alone[kind].p99, byHand[kind].p99, 'ms', `≤ ${readGoals[kind]}`),
    ...(underLoad === null
      ? []
      : [lineOf('P7', `${readNames[kind]}, under load`, underLoad[kind].p99, 'ms', `≤ ${2 * readGoals[kind]}`)]),
  ])
}

/** Compare fleets of 1, 10 and 100 times the locations, and reads with ten times the rows. */
const growthLines = async (profile: Profile): Promise<readonly FigureLine[]> => {
  const { name, open, seconds, locations } = profile
  const fleets: GrowthFigures[] = []
  for (const times of [1, 10, 100])
    fleets.push(await growthFigures(open, (locations / 2) * times, Math.min(seconds, 40)))
  const [small] = fleets as [GrowthFigures]
  const lines = fleets.flatMap(fleet => {
    const of = `${fleet.locations.toLocaleString('en')} locations`
    const start = fleet.startSeconds
    return [
      ratioLine('P12', `records, ${of}`, fleet.recordsPerSecond, small.recordsPerSecond, 'records/s', ''),
      ratioLine('P12', `CPU, ${of}`, fleet.cpuMicroseconds, small.cpuMicroseconds, 'µs/record', '≤ 1.2 ×'),
      lineOf('P12', `memory under load, ${of}`, fleet.loadedMb, 'MB', ''),
      lineOf('P12', `memory after a start, ${of}`, fleet.idleMb, 'MB', ''),
      ...(start === null ? [] : [lineOf('P12', `later start, ${of}`, start, 's', '')]),
    ]
  })
  if (name === 'distributed') return lines
  const few = await readFigures(open, 1, null)
  const many = await readFigures(open, 10, null)
  const reads = readKinds.map(kind =>
    ratioLine('P12', `${readNames[kind]}, 10 × the rows`, many.alone[kind].p99, few.alone[kind].p99, 'ms', '≤ 2 ×'),
  )
  return [...lines, ...reads]
}

const singleLines = async ({ name, open, seconds }: Profile): Promise<readonly FigureLine[]> => {
  const { product, limit } = await singleRecords(open, Math.min(seconds, 60), name === 'embedded')
  const goals = { rate: '≥ 0.6 × the log alone', p99: '≤ 3 × p50' }
  return [
    limit === null
      ? lineOf('P6', 'single records', product.requestsPerSecond, 'requests/s', '')
      : ratioLine('P6', 'single records', product.requestsPerSecond, limit.requestsPerSecond, 'requests/s', goals.rate),
    ratioLine('P6', 'single records, p99 and p50', product.p99Ms, product.p50Ms, 'ms', goals.p99),
    lineOf('P6', 'spread of the product over rounds', product.spread, '%', ''),
    ...(limit === null
      ? []
      : [
          ratioLine('P6', 'the log alone, p99 and p50', limit.p99Ms, limit.p50Ms, 'ms', ''),
          lineOf('P6', 'spread of the log alone over rounds', limit.spread, '%', ''),
        ]),
  ]
}

const webhookLines = async ({ open, seconds }: Profile): Promise<readonly FigureLine[]> => {
  const { deliveriesPerSecond, p99Ms, p99NewMs } = await webhookFigures(open, Math.min(seconds, 20))
  return [
    lineOf('P11', 'webhook deliveries', deliveriesPerSecond, '/s', '≥ 1,000'),
    lineOf('P11', 'first attempt after the event, p99', p99Ms, 'ms', '≤ 1,000'),
    lineOf('P11', 'the same in the first seconds', p99NewMs, 'ms', ''),
  ]
}

/** Figures of a whole system, embedded or distributed. */
export const systemFigures = (profile: Profile): Measures => ({
  P1: () => endToEndLines(profile),
  P2: () => lagLines(profile),
  I7: () => overloadLines(profile),
  P7: () => readLines(profile),
  P13: () => statementLines(profile),
  P14: () => batchLines(profile),
  P16: () => chargedLines(profile),
  P6: () => singleLines(profile),
  P11: () => webhookLines(profile),
  P12: () => growthLines(profile),
})
