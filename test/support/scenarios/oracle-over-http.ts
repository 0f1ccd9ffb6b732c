import { expect } from 'vitest'
import { costOfInterval, type ExactPiece, type ExactRecord } from '../exact/exact-answers.ts'
import { askExactly } from '../exact/exact-json.ts'
import { flows } from '../history/history.ts'
import { decimal } from '../ledger/exact-decimal.ts'
import { bucketsOf } from '../oracle/buckets.ts'
import { costRecords, type OracleCost, type OraclePiece } from '../oracle/cost.ts'
import { type Fraction, isRounded } from '../oracle/exact.ts'
import type { Client } from '../system/client.ts'
import type { CreatedScenario } from './scenario-over-http.ts'

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

const compareRecord = async (
  client: Client,
  { tariffIds }: CreatedScenario,
  { id, record, energy: stored, priced }: OracleCost,
) => {
  const found = await askExactly<ExactRecord>(client, 'GET', `/meters/records/${id}`)
  expect(found.status).toBe(priced === null ? 'UNPRICED' : 'PRICED')
  expect([found.energy_submitted, found.data.energy.value]).toEqual([energy(record.energy), energy(stored)])
  expect(found.data.tariff.cost.value).toBe(priced === null ? null : money(priced.cost))
  expect(found.pieces).toEqual((priced?.pieces ?? []).map(pieceOf))
  if (priced === null) return
  const used = priced.pieces.flatMap(({ tariffs }) => tariffs).filter(tariff => tariff !== null)
  expect([...found.tariff_ids].sort()).toEqual([...new Set(used)].map(tariff => tariffIds.get(tariff)).sort())
  expectRounded(found.data.tariff.cost.confidence, priced.confidence)
}

/** Compare the daily costs of each flow that has records with the oracle. */
const compareDays = async (client: Client, { input, locationId }: CreatedScenario, costs: readonly OracleCost[]) => {
  for (const { energyFlowDirection: flow, tariffDirection: direction } of Object.values(flows)) {
    const own = costs.filter(
      ({ record }) => record.energyFlowDirection === flow && record.tariffDirection === direction,
    )
    if (own.length === 0) continue
    const start = Math.min(...own.map(({ record }) => record.start)) - 7_000
    const end = Math.max(...own.map(({ record }) => record.end)) + 3_601_000
    const query = `tariff_direction=${direction}&energy_flow_direction=${flow}&aggregation=DAY&include_devices=true`
    const { data } = await costOfInterval(client, locationId, [instant(start), instant(end)], query)
    const expected = bucketsOf(input.timeZone.name, own, start, end, 'DAY')
    const shown = data.map(element => [
      ...[Date.parse(element.start_time), element.energy.value, element.tariff.cost.value],
      ...[element.estimated_energy.value, element.provisional_energy.value],
      ...[element.unpriced_records ?? '0', element.unpriced_energy?.value ?? '0', element.records],
    ])
    expect(shown).toEqual(
      expected.map(bucket => [
        ...[bucket.start, energy(bucket.energy), money(bucket.cost)],
        ...[energy(bucket.estimatedEnergy), energy(bucket.provisionalEnergy)],
        ...[String(bucket.unpricedRecords), energy(bucket.unpricedEnergy), String(bucket.records)],
      ]),
    )
    for (const [index, bucket] of expected.entries())
      expectRounded(data[index]?.tariff.cost.confidence ?? '', bucket.confidence)
  }
}

/** Compare the answers of a running system with the oracle: each record with its pieces, and the days of each flow. */
export const expectOracleCosts = async (client: Client, created: CreatedScenario): Promise<void> => {
  const costs = costRecords(created.input, created.records)
  await Promise.all(costs.map(cost => compareRecord(client, created, cost)))
  await compareDays(client, created, costs)
}
