import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, login } from '../support/client.ts'
import { askExactly } from '../support/exact-json.ts'
import { decimal } from '../support/ledger/exact-decimal.ts'
import { bucketsOf } from '../support/oracle/buckets.ts'
import { costRecords, type OracleCost, type OraclePiece } from '../support/oracle/cost.ts'
import { type Fraction, isRounded } from '../support/oracle/exact.ts'
import { type Scenario, scenarios } from '../support/oracle/generate.ts'
import { dataFolder, type RunningSystem, removeData, startSystem } from '../support/running-system.ts'
import { expressible, type PlacedScenario, placeScenario } from '../support/scenario-over-http.ts'

const zones = [
  ...['Europe/Berlin', 'Europe/London', 'America/New_York', 'America/Sao_Paulo', 'America/St_Johns', 'Africa/Casablanca'],
  ...['Asia/Kathmandu', 'Australia/Adelaide', 'Australia/Lord_Howe', 'Pacific/Chatham', 'Pacific/Apia', 'Asia/Tehran'],
] as const
const perZone = Math.ceil(Number(process.env['SCENARIOS'] ?? 40) / zones.length)
const seed = Number(process.env['SCENARIO_SEED'] ?? 14)
const latest = Date.UTC(2026, 0, 1)

/** The first scenarios of a zone that a caller can bring about with a record left. */
const drawn = (zone: string): readonly Scenario[] =>
  fc
    .sample(scenarios({ zones: [zone], mostRecords: 9 }), { seed, numRuns: perZone * 4 })
    .map(scenario => expressible(scenario, latest))
    .filter(({ records }) => records.length > 0)
    .slice(0, perZone)

const folder = dataFolder()
let system: RunningSystem | undefined
let client: Client
const deviceIds = new Map<string, string>()

beforeAll(async () => {
  system = await startSystem(folder)
  client = await login(system.sandbox)
  for (const name of ['dev_1', 'dev_2'])
    deviceIds.set(name, ((await client.ask('POST', '/devices', { reference_id: name })) as { id: string }).id)
})

afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
  removeData(folder)
})

type ExactPiece = { readonly [Name in 'start_time' | 'end_time' | 'energy' | 'price' | 'tier' | 'cost' | 'confidence']: string }
type ExactCost = { readonly value: string | null; readonly confidence: string }
type ExactRecord = {
  readonly status: string
  readonly energy_submitted: string
  readonly data: { readonly energy: { readonly value: string }; readonly tariff: { readonly cost: ExactCost } }
  readonly tariff_ids: readonly string[]
  readonly pieces: readonly ExactPiece[]
}

const instant = (at: number): string => new Date(at).toISOString().replace('.000Z', 'Z')
const money = (value: bigint): string => decimal(value, 9)
const energy = (value: bigint): string => decimal(value, 6)

const pieceOf = (piece: OraclePiece): ExactPiece => ({
  start_time: instant(piece.start),
  end_time: instant(piece.end),
  energy: energy(piece.energy),
  price: money(piece.price),
  tier: money(piece.tiers[0]),
  cost: money(piece.cost),
  confidence: String(piece.confidence),
})

const expectRounded = (confidence: string, exact: Fraction) =>
  expect(isRounded(Number(confidence), exact, 4), `${confidence} is ${exact.numerator}/${exact.denominator}`).toBe(true)

const compareRecord = async ({ tariffIds }: PlacedScenario, { id, record, energy: kept, priced }: OracleCost) => {
  const found = await askExactly<ExactRecord>(client, 'GET', `/meters/records/${id}`)
  expect(found.status).toBe(priced === null ? 'UNPRICED' : 'PRICED')
  expect([found.energy_submitted, found.data.energy.value]).toEqual([energy(record.energy), energy(kept)])
  expect(found.data.tariff.cost.value).toBe(priced === null ? null : money(priced.cost))
  expect(found.pieces).toEqual((priced?.pieces ?? []).map(pieceOf))
  if (priced === null) return
  const used = priced.pieces.flatMap(({ tariffs }) => tariffs).filter(tariff => tariff !== null)
  expect([...found.tariff_ids].sort()).toEqual([...new Set(used)].map(tariff => tariffIds.get(tariff)).sort())
  expectRounded(found.data.tariff.cost.confidence, priced.confidence)
}

type ExactElement = {
  readonly start_time: string
  readonly energy: { readonly value: string }
  readonly tariff: { readonly cost: ExactCost }
  readonly unpriced_records?: string
  readonly unpriced_energy?: { readonly value: string }
}

const flows = [
  ['INBOUND', 'IMPORT'],
  ['OUTBOUND', 'EXPORT'],
  ['INBOUND', 'LOCAL'],
  ['OUTBOUND', 'IMPORT'],
] as const

/** Compare the days of each flow that has records with those of the oracle. */
const compareDays = async ({ input, locationId }: PlacedScenario, costs: readonly OracleCost[]) => {
  for (const [flow, direction] of flows) {
    const own = costs.filter(({ record }) => record.energyFlowDirection === flow && record.tariffDirection === direction)
    if (own.length === 0) continue
    const start = Math.min(...own.map(({ record }) => record.start)) - 7_000
    const end = Math.max(...own.map(({ record }) => record.end)) + 3_601_000
    const query = `tariff_direction=${direction}&energy_flow_direction=${flow}&aggregation=DAY&include_devices=true`
    const { data } = await askExactly<{ data: readonly ExactElement[] }>(client, 'POST', `/costs/interval/${locationId}?${query}`, {
      start_time: instant(start),
      end_time: instant(end),
    })
    const expected = bucketsOf(input.timeZone.name, own, start, end, 'DAY')
    const shown = data.map(element => [
      ...[Date.parse(element.start_time), element.energy.value, element.tariff.cost.value],
      ...[element.unpriced_records ?? '0', element.unpriced_energy?.value ?? '0'],
    ])
    expect(shown).toEqual(
      expected.map(bucket => [
        ...[bucket.start, energy(bucket.energy), money(bucket.cost)],
        ...[String(bucket.unpricedRecords), energy(bucket.unpricedEnergy)],
      ]),
    )
    for (const [index, bucket] of expected.entries()) expectRounded(data[index]?.tariff.cost.confidence ?? '', bucket.confidence)
  }
}

describe.each(zones)('in %s, costs over HTTP are those of an oracle that shares no code with the service', zone => {
  const all = drawn(zone)

  it(`has ${perZone} scenarios`, () => expect(all).toHaveLength(perZone))

  it.each(all.map((scenario, index) => [index + 1, scenario] as const))('scenario %i', async (_, scenario) => {
    const placed = await placeScenario(client, scenario, deviceIds)
    const costs = costRecords(placed.input, placed.records)
    for (const cost of costs) await compareRecord(placed, cost)
    await compareDays(placed, costs)
  })
})
