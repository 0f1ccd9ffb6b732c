import { writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { endToEnd } from './end-to-end.ts'
import { measureGateway } from './gateway.ts'
import { insertRates } from './insert.ts'
import { barePipeline } from './limit/bare.ts'
import { priceFigures } from './prices.ts'
import { pricingFigures } from './pricing.ts'
import { rePriceFigures } from './re-price.ts'
import { readFigures } from './reads.ts'
import { planFigures } from './schedules.ts'
import { singleRecords, startTimes } from './single.ts'
import { webhookFigures } from './webhooks.ts'

/** One figure beside its limit in the same run, and the goal for it. */
type Line = {
  readonly promise: string
  readonly figure: string
  readonly value: number
  readonly unit: string
  readonly limit: number | null
  readonly ratio: number | null
  readonly goal: string
}

const help = `npm run bench -- [--seconds N] [--only P1,P2,P3,P4,P5,P6,P7,P8,P9,P10,P11,D5]

Measures the promises of performance, each beside its limit in the same run, prints a table and writes bench.json.
Leave the machine alone meanwhile: every figure is of the whole machine.
`

const argument = (name: string): string | undefined => {
  const at = process.argv.indexOf(name)
  return at === -1 ? undefined : process.argv[at + 1]
}

const seconds = Number(argument('--seconds') ?? 60)

const measures: Readonly<Record<string, () => Promise<readonly Line[]>>> = {
  P3: async () => {
    const { gatewayNs, parseNs, ratio } = await measureGateway()
    return [{ promise: 'P3', figure: 'gateway, own work', value: gatewayNs, unit: 'ns/record', limit: parseNs, ratio, goal: '≤ 3.0 ×' }]
  },
  P4: async () =>
    pricingFigures().map(({ name, recordsPerSecond }) => ({
      promise: 'P4',
      figure: `pricing, ${name}`,
      value: recordsPerSecond,
      unit: 'records/s',
      limit: null,
      ratio: null,
      goal: '1 M / 300 k / 700 k',
    })),
  P5: async () => {
    const { engine, withEncoding, bytesPerRow } = await insertRates()
    return [
      {
        promise: 'P5',
        figure: 'rows stored',
        value: withEncoding,
        unit: 'rows/s',
        limit: engine,
        ratio: withEncoding / engine,
        goal: '≥ 0.6 ×',
      },
      { promise: 'P10', figure: 'storage', value: bytesPerRow, unit: 'bytes/row', limit: null, ratio: null, goal: '≤ 40' },
    ]
  },
  P1: async () => {
    const load = { seconds, rate: null, locations: 2_000, connections: 8 }
    const bare = await barePipeline(load)
    const whole = await endToEnd(load)
    const tiered = await endToEnd({ ...load, pricing: 'tiers' })
    const ratio = whole.recordsPerSecond / bare.recordsPerSecond
    const lag = (whole.backlog.at(-1) ?? 0) / whole.recordsPerSecond
    return [
      {
        promise: 'P1',
        figure: 'first pricing with tiers',
        value: tiered.recordsPerSecond,
        unit: 'records/s',
        limit: whole.recordsPerSecond,
        ratio: tiered.recordsPerSecond / whole.recordsPerSecond,
        goal: '≥ 0.5 × without',
      },
      {
        promise: 'P1',
        figure: 'end to end, embedded',
        value: whole.recordsPerSecond,
        unit: 'records/s',
        limit: bare.recordsPerSecond,
        ratio,
        goal: '≥ 120,000 and ≥ 0.6 ×',
      },
      { promise: 'P1', figure: 'backlog at the end', value: lag, unit: 's', limit: null, ratio: null, goal: 'not growing' },
      { promise: 'P1', figure: 'lost', value: whole.lost, unit: 'records', limit: null, ratio: null, goal: '0' },
      { promise: 'P10', figure: 'memory at P1', value: whole.rssMb, unit: 'MB', limit: null, ratio: null, goal: '≤ 1,200' },
    ]
  },
  P2: async () => {
    const load = { seconds, locations: 2_000, connections: 8 }
    const { recordsPerSecond } = await endToEnd({ ...load, seconds: Math.min(seconds, 20), rate: null })
    const { lag } = await endToEnd({ ...load, rate: recordsPerSecond / 2 })
    const line = { promise: 'P2', unit: 's', limit: null, ratio: null }
    return [
      { ...line, figure: 'visible lag at half load, p50', value: lag.p50, goal: '≤ 0.2' },
      { ...line, figure: 'visible lag at half load, p99', value: lag.p99, goal: '≤ 0.5' },
    ]
  },
  P7: async () => {
    const { alone, beside } = await readFigures(10, 20_000)
    const goals = { day: '≤ 30', month: '≤ 60', session: '≤ 60', account: '≤ 600' }
    return (['day', 'month', 'session', 'account'] as const).flatMap(kind => [
      { promise: 'P7', figure: `costs of a ${kind}, p99`, value: alone[kind], unit: 'ms', limit: null, ratio: null, goal: goals[kind] },
      {
        promise: 'P7',
        figure: `costs of a ${kind}, beside load`,
        value: beside[kind],
        unit: 'ms',
        limit: null,
        ratio: null,
        goal: goals[kind],
      },
    ])
  },
  P8: async () =>
    priceFigures().map(({ name, ms }) => ({
      promise: 'P8',
      figure: name,
      value: ms,
      unit: 'ms CPU',
      limit: null,
      ratio: null,
      goal: name.startsWith('audit') ? '≤ 25' : '≤ 15',
    })),
  D5: async () => {
    const { oneLocationSeconds, marketRows, marketRowsPerSecond } = await rePriceFigures()
    const line = { promise: 'D5', limit: null, ratio: null }
    return [
      { ...line, figure: '10,000 rows follow a tariff', value: oneLocationSeconds, unit: 's', goal: '≤ 10' },
      { ...line, figure: `${marketRows.toLocaleString('en')} rows follow a price`, value: marketRowsPerSecond, unit: 'rows/s', goal: '' },
    ]
  },
  P9: async () =>
    planFigures().map(({ name, ms }) => ({
      promise: 'P9',
      figure: `plan, ${name}`,
      value: ms,
      unit: 'ms',
      limit: null,
      ratio: null,
      goal: name.startsWith('1000 ') ? '≤ 1,000' : '≤ 50',
    })),
  P6: async () => {
    const { requestsPerSecond, p99Ms } = await singleRecords(Math.min(seconds, 20))
    return [
      { promise: 'P6', figure: 'single records', value: requestsPerSecond, unit: 'requests/s', limit: null, ratio: null, goal: '≥ 4,000' },
      { promise: 'P6', figure: 'single records, p99', value: p99Ms, unit: 'ms', limit: null, ratio: null, goal: '≤ 50' },
    ]
  },
  P11: async () => {
    const { deliveriesPerSecond, p99Ms } = await webhookFigures(Math.min(seconds, 20))
    const line = { promise: 'P11', limit: null, ratio: null }
    return [
      { ...line, figure: 'webhook deliveries', value: deliveriesPerSecond, unit: '/s', goal: '≥ 1,000' },
      { ...line, figure: 'first attempt after the event, p99', value: p99Ms, unit: 'ms', goal: '≤ 1,000' },
    ]
  },
  P10: async () => {
    const { firstSeconds, laterSeconds, rssMb } = await startTimes()
    return [
      { promise: 'P10', figure: 'first start', value: firstSeconds, unit: 's', limit: null, ratio: null, goal: '≤ 5' },
      { promise: 'P10', figure: 'later start', value: laterSeconds, unit: 's', limit: null, ratio: null, goal: '≤ 1.0' },
      { promise: 'P10', figure: 'memory when idle', value: rssMb, unit: 'MB', limit: null, ratio: null, goal: '' },
    ]
  },
}

const shown = (value: number | null): string => {
  if (value === null) return ''
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2)
}

const print = ({ promise, figure, value, unit, limit, ratio, goal }: Line): void => {
  const cells = [promise.padEnd(5), figure.padEnd(34), shown(value).padStart(12), unit.padEnd(11), shown(limit).padStart(12)]
  process.stdout.write(`${cells.join(' ')} ${ratio === null ? '      ' : `${ratio.toFixed(2)} ×`}  ${goal}\n`)
}

if (process.argv.includes('--help')) process.stdout.write(help)
else {
  const only = argument('--only')?.split(',') ?? Object.keys(measures)
  const lines: Line[] = []
  process.stdout.write(`${cpus().length} cores, load ${(loadavg()[0] ?? 0).toFixed(1)} at the start\n`)
  process.stdout.write(`${'what'.padEnd(40)} ${'value'.padStart(12)} ${'unit'.padEnd(11)} ${'limit'.padStart(12)} ratio   goal\n`)
  for (const name of only) {
    for (const line of (await measures[name]?.()) ?? []) {
      lines.push(line)
      print(line)
    }
  }
  writeFileSync('bench.json', `${JSON.stringify({ cores: cpus().length, lines }, null, 2)}\n`)
}
