import { describe, expect, it } from 'vitest'
import { type PriceAuditElement, priceAudit } from '../../../services/domain/price/price-series.ts'
import { createPricingPool } from '../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../services/domain/tariff/snapshot.ts'
import type { TariffDirection } from '../../../services/domain/tariff/tariff.ts'
import { askExactly } from '../../support/exact/exact-json.ts'
import { decimal } from '../../support/ledger/exact-decimal.ts'
import { countAll } from '../../support/oracle/count-all.ts'
import type { Scenario } from '../../support/oracle/generate.ts'
import { chooseScenarios, client, deviceIds, hasTiers, useScenarios } from '../../support/scenarios/scenario-fixture.ts'
import { type CreatedScenario, createScenario } from '../../support/scenarios/scenario-over-http.ts'

const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe'] as const
const perZone = Math.ceil(Number(process.env['SCENARIOS'] ?? 9) / zones.length)
const seed = Number(process.env['SCENARIO_SEED'] ?? 11)
const dayMs = 86_400_000

useScenarios()

/** The first scenarios of a zone with tiers and some records. */
const drawn = (zone: string): readonly Scenario[] =>
  chooseScenarios(zone, {
    wanted: perZone,
    generatedPerWanted: 8,
    seed,
    maxRecords: 10,
    isUseful: one => hasTiers(one) && one.records.length > 2,
  })

const instant = (at: number): string => new Date(at).toISOString()

const shown = ({ start, end, price, confidence, breakdown: { commodity, nonCommodity } }: PriceAuditElement) => ({
  span: [start, end],
  commodity: {
    market: decimal(commodity.market, 9),
    fixed: decimal(commodity.fixed, 9),
    percentage: decimal(commodity.percentage, 9),
    tier: decimal(commodity.tier, 9),
    aggregate: decimal(commodity.aggregate, 9),
  },
  non_commodity: { fixed: decimal(nonCommodity.fixed, 9), tier: decimal(nonCommodity.tier, 9) },
  total: decimal(price, 9),
  confidence: decimal(BigInt(confidence), 4),
})

type Audit = {
  readonly data: readonly { readonly valid_from: string; readonly valid_to: string; readonly price_breakdown: object }[]
}

/** Elements follow each other without a gap. */
const runsOf = (elements: readonly PriceAuditElement[]): readonly (readonly PriceAuditElement[])[] => {
  const runs: PriceAuditElement[][] = []
  for (const element of elements) {
    const last = runs.at(-1)
    if (last?.at(-1)?.end === element.start) last.push(element)
    else runs.push([element])
  }
  return runs
}

/**
 * Compare the audits of a direction with the same tariffs after all records are counted one by one. Returns the number
 * of tiers reached.
 */
const compare = async (
  { input, records, locationId }: CreatedScenario,
  direction: TariffDirection,
): Promise<number> => {
  const snapshot = compileSnapshot(input, createPricingPool())
  const starts = records.map(({ record }) => record.start)
  const start = Math.min(...starts) - dayMs
  const end = Math.min(start + 60 * dayMs, Math.max(...starts) + 3 * dayMs)
  const { elements } = priceAudit(snapshot, {
    direction,
    start,
    end,
    counted: countAll({ snapshot, direction, records }),
  })
  for (const run of runsOf(elements)) {
    const span = { start_time: instant(run[0]?.start ?? 0), end_time: instant(run.at(-1)?.end ?? 0) }
    const { data } = await askExactly<Audit>(client, 'POST', `/audits/prices/${locationId}`, {
      ...span,
      tariff_direction: direction,
    })
    const found = data.map(one => ({
      span: [Date.parse(one.valid_from), Date.parse(one.valid_to)],
      ...one.price_breakdown,
    }))
    expect(found).toEqual(run.map(shown))
  }
  return elements.filter(({ breakdown }) => breakdown.commodity.tier > 0n || breakdown.nonCommodity.tier > 0n).length
}

describe.each(zones)('in %s, audits over HTTP equal the tariffs with every record counted', zone => {
  const all = drawn(zone)

  it(`has ${perZone} scenarios`, () => expect(all).toHaveLength(perZone))

  it('and reach tiers', { timeout: 120_000 }, async () => {
    let tiers = 0
    for (const scenario of all) {
      const created = await createScenario(client, scenario, deviceIds)
      for (const direction of ['IMPORT', 'EXPORT', 'LOCAL'] as const) tiers += await compare(created, direction)
    }
    expect(tiers).toBeGreaterThan(0)
  })
})
