import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type CostStep, createCostStep } from '../../../services/cost-worker/cost-step.ts'
import { partitionOutcomes } from '../../../services/cost-worker/failing-share.ts'
import { completeStep, type FetchedMessages, readStep } from '../../../services/cost-worker/step.ts'
import { createPricingPool } from '../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../services/domain/tariff/snapshot.ts'
import type { MarketSeries, Tariff } from '../../../services/domain/tariff/tariff.ts'
import {
  meterCostBlock,
  meterCostBlockInSteps,
} from '../../../services/platform/clickhouse/encoding/fast-path/meter-cost-block.ts'
import { encodeBlock, runToEnd } from '../../../services/platform/clickhouse/encoding/fast-path/native-block.ts'
import type { PlainRows } from '../../../services/platform/clickhouse/encoding/fast-path/plain-rows.ts'
import type { MeterCostRow } from '../../../services/platform/clickhouse/meter-cost/meter-cost-row.ts'
import { openCodec } from '../../../services/platform/log/avro/codec.ts'
import { localSchemaIds } from '../../../services/platform/log/avro/schema-ids.ts'
import { toHeaders } from '../../../services/platform/log/chunk-headers.ts'
import type { PricingCache } from '../../../services/platform/pricing-cache/pricing-cache.ts'
import type { AcceptedRecord } from '../../../services/record-bytes/accepted-record.ts'
import { recordInRow } from '../../../services/record-bytes/record-columns.ts'
import { recordIdDigits } from '../../../services/record-bytes/record-id.ts'
import { hexId } from '../../suites/cost-rows.ts'
import { db, nextTenant, useMeterTables } from '../../suites/meter-tables.ts'
import { allDay, band, pricing, rate, tariff } from '../../support/oracle/tables.ts'

const codec = await openCodec(localSchemaIds())
const hourMs = 3_600_000
const firstStart = Date.UTC(2026, 2, 28)

const marketPrices = (): MarketSeries => {
  // The prices of the fourth hour of each six are missing, and those after two days are forecasts.
  const starts = Array.from({ length: 110 }, (_, hour) => firstStart + hour * hourMs).filter(
    (_, hour) => hour % 6 !== 3,
  )
  return {
    sourceId: hexId('mrs_', 1),
    starts,
    ends: starts.map(start => start + hourMs),
    prices: starts.map((_, hour) => BigInt(hour - 5) * 31_234_567n),
    confidences: starts.map(start => (start < firstStart + 48 * hourMs ? 1 : 0.61)),
  }
}

const day = [band('00:00-06:00', 0.2), band('06:00-24:00', 0.31)]
const network = tariff(allDay(0.071), { id: hexId('trf_', 9), type: 'NON_COMMODITY' })
const tariffsOf: readonly (readonly Tariff[])[] = [
  [tariff(allDay(0.25), { id: hexId('trf_', 1) })],
  [tariff(day, { id: hexId('trf_', 2) }), network],
  [tariff(allDay([rate(0.3, 5), rate(0.2)]), { id: hexId('trf_', 3) })],
  [tariff(allDay(0), { id: hexId('trf_', 4), marketRates: true }), network],
  [],
  [tariff(allDay(-1e9), { id: hexId('trf_', 5) })],
]
/** Tariffs of each location of an account, as an index of `tariffsOf`; -1 for a location that no pricing has. */
const locations = [0, 1, 0, 1, 0, 1, 3, 3, 2, 4, 5, -1]
/** Ids of an account's own location or device: caches of the worker do not contain the account. */
const ownId = (prefix: string, accountId: string, number: number): string =>
  `${prefix}${accountId.slice(-18)}${number.toString(16).padStart(6, '0')}`

const pricingCacheOf = (accountId: string): PricingCache => {
  const pool = createPricingPool()
  const market = marketPrices()
  const cache = new Map(
    locations.flatMap((kind, index) => {
      const tariffs = tariffsOf[kind]
      if (tariffs === undefined) return []
      const isMarket = kind === 3
      const snapshot = compileSnapshot(pricing('Europe/Berlin', tariffs, isMarket ? market : null), pool)
      const importSourceId = isMarket ? market.sourceId : null
      const priceRevision = isMarket ? 2n ** 40n + 7n : 0n
      const cached = { snapshot, accountId, revision: index + 1, priceRevision, importSourceId, exportSourceId: null }
      return [[ownId('loc_', accountId, index), cached] as const]
    }),
  )
  const gather: PricingCache['gather'] = async requests =>
    new Map(
      requests.flatMap(({ locationId }) => {
        const cached = cache.get(locationId)
        return cached === undefined ? [] : [[locationId, cached] as const]
      }),
    )
  const doNothing = (): void => undefined
  return {
    faultOf: () => undefined,
    cached: locationId => cache.get(locationId),
    gather,
    gatherNewest: gather,
    invalidateLocation: doNothing,
    invalidateSource: doNothing,
    clear: doNothing,
  }
}

type Sent = Omit<AcceptedRecord, 'recordId' | 'recordNumber' | 'locationId' | 'deviceId'> & {
  readonly location: number
  readonly device: number
}
type SentPart = { readonly records: readonly Sent[]; readonly isAlone: boolean; readonly isImport: boolean }
type SentMessage = { readonly parts: readonly SentPart[]; readonly isReplay: boolean }
type SentSteps = readonly (readonly SentMessage[])[]

const rarely = <T>(usual: T, other: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 60, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other })

const sent: fc.Arbitrary<Sent> = fc
  .record({
    location: fc.nat(locations.length - 1),
    device: fc.nat(2),
    energyFlowDirection: rarely<Sent['energyFlowDirection']>('INBOUND', fc.constant('OUTBOUND')),
    tariffDirection: rarely<Sent['tariffDirection']>('IMPORT', fc.constantFrom('EXPORT', 'LOCAL')),
    slot: fc.nat(90),
    slots: rarely(1, fc.constantFrom(0, 2, 9, 300)),
    energy: rarely(250_000_001n, fc.constantFrom(0n, 1n, 3n * 10n ** 11n, 2n ** 53n - 1n, 2n ** 53n, 10n ** 17n)),
    confidence: rarely(1_000_000, fc.constant(400_000)),
    sessionReferenceId: rarely<string | null>(null, fc.constant('Sitzung ü')),
    recordReferenceId: rarely<string | null>(null, fc.constantFrom('a', 'b')),
  })
  .map(({ slot, slots, ...record }) => {
    const start = firstStart + slot * 900_000
    return { ...record, start, end: start + slots * 900_000 }
  })

const steps: fc.Arbitrary<SentSteps> = fc.array(
  fc.array(
    fc.record({
      parts: fc.array(
        fc.record({
          records: fc.array(sent, { maxLength: 12, size: 'max' }),
          isAlone: rarely(false, fc.constant(true)),
          isImport: rarely(false, fc.constant(true)),
        }),
        { maxLength: 3 },
      ),
      isReplay: rarely(false, fc.constant(true)),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  { minLength: 2, maxLength: 5 },
)

const fetchedOf = (messages: readonly SentMessage[], accountId: string, step: number): readonly FetchedMessages[] => {
  const stored = messages.map(({ parts, isReplay }, index) => {
    const offset = 65_530 + step * 10 + index
    const chunk = parts.map(({ records, isAlone, isImport }, part) => ({
      accountId,
      liveMode: true,
      batchId: isAlone ? null : hexId(isImport ? 'bat_01' : 'bat_', offset * 8 + part).slice(0, 28),
      receivedAt: firstStart + offset,
      records: records.map(({ location, device, ...record }, position) => {
        const locationId = ownId('loc_', accountId, location)
        const deviceId = device === 0 ? null : ownId('dev_', accountId, location * 2 + device)
        // Most records of a step are later than those of the steps before.
        const [start, end] = [record.start + step * 85 * 900_000, record.end + step * 85 * 900_000]
        const located = { ...record, locationId, deviceId, start, end }
        const recordId = recordIdDigits({ accountId, liveMode: true }, located)
        return { ...located, recordId, recordNumber: position + 1 }
      }),
    }))
    const headers = toHeaders({ generation: 3, chunkId: `chunk ${offset}`, batches: [] })
    return {
      offset,
      key: `${accountId}/${ownId('loc_', accountId, 0)}`,
      timestamp: 0,
      value: codec.encodeMeterMessage({ kind: 'records', parts: chunk }),
      headers: isReplay ? { ...headers, replay: `3:${offset - 9}:0` } : headers,
    }
  })
  const assignment = { topic: 'meter.records.v1', partition: 0 } as FetchedMessages['assignment']
  return [{ assignment, messages: stored }]
}

/**
 * Cost a step, in columns as far as possible or with objects only. The records of the location `excluded` become objects,
 * as those of an erased or a busy location do.
 */
const costBy = async (
  costStep: CostStep,
  fetched: readonly FetchedMessages[],
  inColumns: boolean,
  excluded: string,
) => {
  const step = await completeStep(await readStep(fetched, codec, 0), async records => {
    if (inColumns) return costStep.costPlain(records, ({ locationId }) => locationId === excluded)
    for (const location of records.locations) location.isPlain = false
    return null
  })
  const result = await costStep.run(step, {
    stored: Promise.resolve(),
    store: () => Promise.reject(new Error('A step has few pieces.')),
    canDefer: true,
  })
  const outcomes = partitionOutcomes(step.records, result.poison, step.poison, step.plainPartitions)
  const poison = result.poison.map(({ entry, ...one }) => ({ ...one, recordId: entry.record.recordId }))
  return {
    result,
    others: {
      outcomes: [...outcomes].map(([partition, { seen, failing }]) => [partition, [...seen].sort(), failing]),
      poison,
      counts: step.partitionCounts,
      unreadable: step.poison,
      costed: result.costed,
      corrections: result.corrections,
    },
  }
}

const plainLocations = ({ records, rows }: PlainRows): readonly string[] =>
  rows.map(row => recordInRow(records, row).locationId)

const plainIds = ({ records, rows }: PlainRows): readonly string[] =>
  rows.map(row => recordInRow(records, row).recordId)

/** Encode rows of the way of objects as two blocks with equal columns: first the rows that the other way has in columns. */
const blocksOf = (rows: readonly MeterCostRow[], plain: PlainRows | null): Buffer => {
  const ids = plain === null ? [] : plainIds(plain)
  const rowsById = new Map(rows.map(row => [row.recordId, row]))
  const inColumns = ids.map(id => rowsById.get(id) as MeterCostRow)
  const others = rows.filter(({ recordId }) => !ids.includes(recordId))
  const columns = meterCostBlock(rows).columns as Parameters<typeof encodeBlock<MeterCostRow>>[0]
  const blocks = [inColumns, others].filter(block => block.length > 0)
  return Buffer.concat(blocks.map(block => encodeBlock(columns, block)))
}

useMeterTables()

describe('a step in columns', () => {
  it('has the rows, corrections, poison and counts of a step with objects, to the last byte', {
    timeout: 120_000,
  }, async () => {
    let [plainRows, allRows] = [0, 0]
    await fc.assert(
      fc.asyncProperty(steps, async sentSteps => {
        const { accountId } = nextTenant()
        const [columnStep, objectStep] = [1, 2].map(() => createCostStep(db, pricingCacheOf(accountId))) as [
          CostStep,
          CostStep,
        ]
        for (const [index, messages] of sentSteps.entries()) {
          const fetched = fetchedOf(messages, accountId, index)
          const excluded = ownId('loc_', accountId, 1)
          const actual = await costBy(columnStep, fetched, true, excluded)
          const expected = await costBy(objectStep, fetched, false, excluded)
          expect(actual.others).toEqual(expected.others)
          const { rows, plain } = actual.result
          expect(plain === null ? [] : plainLocations(plain)).not.toContain(excluded)
          const ids = [...(plain === null ? [] : plainIds(plain)), ...rows.map(({ recordId }) => recordId)]
          expect(ids.toSorted()).toEqual(expected.result.rows.map(({ recordId }) => recordId).sort())
          plainRows += plain?.rows.length ?? 0
          allRows += ids.length
          if (ids.length === 0) continue
          const block = runToEnd(meterCostBlockInSteps(rows, plain))
          expect(block.columns.map(({ name, type }) => [name, type])).toEqual(
            meterCostBlock(expected.result.rows).columns.map(({ name, type }) => [name, type]),
          )
          expect(block.bytes.equals(blocksOf(expected.result.rows, plain))).toBe(true)
          await db.insert(block)
        }
      }),
      { numRuns: 15, endOnFailure: true },
    )
    // The comparison has rows of both ways.
    expect(plainRows).toBeGreaterThan(allRows / 100)
    expect(plainRows).toBeLessThan(allRows)
    const [[stored]] = (await db.rows('SELECT count() FROM meter_cost')) as [[unknown]]
    expect(Number(stored)).toBeGreaterThan(0)
  })
})
