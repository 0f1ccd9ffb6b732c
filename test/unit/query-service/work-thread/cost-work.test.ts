import { describe, expect, it } from 'vitest'
import { apiVersions } from '../../../../services/contract/api-version.ts'
import { energyCostToCsv, energyCostToWire, intervalCost } from '../../../../services/contract/costs/energy-cost.ts'
import { answerInApiVersion } from '../../../../services/contract/exchange.ts'
import { zoneOffset } from '../../../../services/domain/answer-offset.ts'
import { costInBuckets } from '../../../../services/domain/cost/energy-cost.ts'
import type { WorkResult } from '../../../../services/platform/work-thread/work-messages.ts'
import {
  type IntervalCostInput,
  intervalCostWork,
  type StoredCosts,
} from '../../../../services/query-service/work-thread/cost-work.ts'

const hourMs = 3_600_000
const start = Date.UTC(2026, 2, 10)
const edges = Array.from({ length: 4_001 }, (_, index) => start + index * hourMs)

/**
 * Sums as ClickHouse writes them: bucket, currency, whether unpriced, whether estimated, records, energy, cost, weights of
 * confidence, provisional energy.
 */
const lineOf = (edge: number, index: number): string =>
  JSON.stringify([
    String(edge),
    'EUR',
    index % 5 === 0 ? 1 : 0,
    index % 3 === 0 ? 1 : 0,
    '2',
    `${1_000 + index}`,
    `${3 * index}`,
    `${10n ** 15n}`,
    '7200000',
    '9',
    '2',
    `${index % 7}`,
  ])

const stored: StoredCosts = { edges, sums: [edges.slice(0, -1).map(lineOf).join('\n')], blocks: [], rows: [] }
const zone = { name: 'Europe/Berlin', changes: [start + 20 * 24 * hourMs], offsets: [hourMs, 2 * hourMs] }

const input: IntervalCostInput = {
  view: {
    id: 'ecs_1',
    accountId: 'acc_1',
    liveMode: true,
    objectId: 'loc_1',
    energyFlowDirection: 'INBOUND',
    tariffDirection: 'IMPORT',
    timezone: zone.name,
    currencyCode: 'EUR',
    includeTariff: true,
    overlap: null,
    createdAt: start,
  },
  costs: stored,
  devices: {
    isIncluded: false,
    isMixed: true,
    excluded: { ...stored, edges: [start, edges.at(-1) ?? 0], sums: [lineOf(start, 5)] },
  },
  offsets: { zone, isBucket: true, requested: 0 },
  apiVersion: 'current',
  isTable: false,
}

const textOf = ({ chunks }: WorkResult): string => Buffer.concat([...chunks]).toString()

const noUncertain = { estimatedEnergy: 0n, provisionalEnergy: 0n }

const whole = () => {
  const sums = edges.slice(0, -1).map((_, bucket) => {
    const isUnpriced = bucket % 5 === 0
    const uncertain = {
      estimatedEnergy: bucket % 3 === 0 ? BigInt(1_000 + bucket) : 0n,
      provisionalEnergy: BigInt(bucket % 7),
    }
    const of = { bucket, records: 2, time: 7_200_000n, ...(isUnpriced ? noUncertain : uncertain) }
    return isUnpriced
      ? {
          ...of,
          energy: 0n,
          cost: 0n,
          weightedEnergy: 0n,
          weightedTime: 0n,
          weightedRecords: 0n,
          unpricedRecords: 2,
          unpricedEnergy: BigInt(1_000 + bucket),
        }
      : {
          ...of,
          energy: BigInt(1_000 + bucket),
          cost: BigInt(3 * bucket),
          weightedEnergy: 10n ** 15n,
          weightedTime: 9n,
          weightedRecords: 2n,
          unpricedRecords: 0,
          unpricedEnergy: 0n,
        }
  })
  const entries = costInBuckets(edges, [], sums).map(element => ({
    ...element,
    sessionReferenceId: null,
    recordReferenceId: null,
  }))
  const deviceRecords = { isIncluded: false, isMixed: true, excludedEnergy: 1_005n }
  return energyCostToWire({ ...input.view, entries, deviceRecords }, zoneOffset(zone))
}

describe('costs added up and written in parts', () => {
  it.each(apiVersions)('have the text of the whole answer, in API version %s', apiVersion => {
    expect(textOf(intervalCostWork({ ...input, apiVersion }))).toBe(
      JSON.stringify(answerInApiVersion(intervalCost, whole(), apiVersion)),
    )
  })

  it('have the text of the whole table', () => {
    expect(textOf(intervalCostWork({ ...input, isTable: true }))).toBe(energyCostToCsv(whole()))
  })
})
