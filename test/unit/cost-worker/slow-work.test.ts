import { describe, expect, it } from 'vitest'
import { pendingStep } from '../../../services/cost-worker/pending-steps.ts'
import type { RecordToCost } from '../../../services/cost-worker/record-to-cost.ts'
import type { ReceivedRequest } from '../../../services/cost-worker/recost/merge-requests.ts'
import { type SlowBatch, slowWork } from '../../../services/cost-worker/slow-work/slow-work.ts'
import { type SlowTask, splitStep } from '../../../services/cost-worker/slow-work/split-step.ts'
import type { Step } from '../../../services/cost-worker/step.ts'
import { noOptions } from '../../../services/domain/record/record.ts'
import { recordTopic } from '../../../services/platform/log/log.ts'
import type { CachedPricing } from '../../../services/platform/pricing-cache/pricing-cache.ts'
import { hexId } from '../../suites/cost-rows.ts'

const dayMs = 86_400_000
const accounts = { a: hexId('acc_', 1), b: hexId('acc_', 2) }

/** Record of some days at a location, identified by its reference. */
const recordOf = (accountId: string, locationId: string, days: number, reference: string): RecordToCost => ({
  record: {
    locationId,
    deviceId: null,
    energyFlowDirection: 'INBOUND',
    tariffDirection: 'IMPORT',
    start: 0,
    end: days * dayMs,
    energy: 1n,
    confidence: 1_000_000,
    ...noOptions,
    recordReferenceId: reference,
    recordId: reference,
  },
  part: { accountId, liveMode: true, batchId: `batch of ${reference}`, receivedAt: 0 },
  version: 1n,
  sourceVersion: 1n,
  origin: {
    assignment: { topic: recordTopic, partition: 3 },
    message: { offset: 0, timestamp: 0, key: '', value: Buffer.of(), headers: { chunk: 'c' } },
  },
})

const stepOf = (records: readonly RecordToCost[]): Step => ({
  records: Map.groupBy(records, ({ record }) => record.locationId),
  chunks: [
    {
      generation: 1,
      chunkId: 'c',
      batches: records.map(({ part: { accountId, liveMode, batchId } }) => ({
        accountId,
        liveMode,
        batchId: batchId ?? '',
        recordNumbers: [1],
        recordCount: 1,
      })),
    },
  ],
  partitionCounts: new Map(),
  submissions: [],
  unreadableChunks: [],
  readings: [],
  requests: [],
  poison: [],
  plain: null,
  plainPartitions: new Map(),
})

const referencesOf = (records: ReadonlyMap<string, readonly RecordToCost[]>): readonly (string | null)[] =>
  [...records.values()].flat().map(({ record }) => record.recordReferenceId)

describe('a step with work that takes long', () => {
  const long = recordOf(accounts.a, 'x', 364, 'long')
  const short = recordOf(accounts.a, 'x', 1, 'other location')
  const other = recordOf(accounts.b, 'y', 1, 'other')

  it('leaves all that concerns its location to it, and the receipts of these records', () => {
    const {
      fast,
      slowTasks: portions,
      slowChunks,
    } = splitStep(stepOf([short, other, long]), () => false, new Set(['x']))
    expect(referencesOf(fast.records)).toEqual(['other'])
    expect(portions.map(({ locationId, partition, records }) => [locationId, partition, records.length])).toEqual([
      ['x', 3, 2],
    ])
    expect(fast.chunks.flatMap(({ batches }) => batches.map(({ batchId }) => batchId))).toEqual(['batch of other'])
    const slow = slowChunks.get(accounts.a)?.flatMap(({ batches }) => batches.map(({ batchId }) => batchId))
    expect([slow, slowChunks.size]).toEqual([['batch of other location', 'batch of long'], 1])
  })

  it('is slow at locations with unfinished work, and fast at others', () => {
    const step = stepOf([short, other])
    expect(splitStep(step, () => false, new Set()).fast).toBe(step)
    expect(referencesOf(splitStep(step, id => id === 'x', new Set()).fast.records)).toEqual(['other'])
  })
})

describe('slow work', () => {
  const slowTaskOf = (accountId: string, locationId: string, records: readonly RecordToCost[]): SlowTask => ({
    accountId,
    locationId,
    partition: 0,
    records,
    readings: [],
    requests: [],
  })
  const open = (cached: () => CachedPricing | undefined = () => undefined) => {
    const work = slowWork({ cached })
    const add = (...portions: readonly SlowTask[]): void =>
      work.add(
        { slowTasks: portions, slowChunks: new Map() },
        pendingStep({ ...stepOf([]), chunks: [] }, []),
        Promise.resolve(),
      )
    const take = (): readonly (string | null)[] | null => {
      const batch: SlowBatch | null = work.next()
      if (batch !== null) work.end(batch)
      return batch === null ? null : referencesOf(batch.input.records)
    }
    return { work, add, take }
  }

  it('takes accounts in turn, locations in order, and a limited amount at a time', () => {
    const { work, add, take } = open()
    const records = (name: string, count: number) =>
      Array.from({ length: count }, (_, index) => recordOf(accounts.a, 'x', 9, `${name}${index}`))
    // With unknown prices, a record counts as 1,001 pieces. A batch has 50 such records.
    add(slowTaskOf(accounts.a, 'x', records('x', 120)))
    add(
      slowTaskOf(accounts.a, 'x', records('later', 1)),
      slowTaskOf(accounts.a, 'z', [recordOf(accounts.a, 'z', 9, 'z')]),
    )
    expect(take()).toEqual(Array.from({ length: 50 }, (_, index) => `x${index}`))
    add(slowTaskOf(accounts.b, 'y', [recordOf(accounts.b, 'y', 9, 'y')]))
    const second = take()
    expect(second?.slice(0, 2)).toEqual(['z', 'y'])
    expect(second?.slice(2)).toEqual(Array.from({ length: 48 }, (_, index) => `x${index + 50}`))
    expect([work.isBusy('x'), work.isBusy('y'), work.isBusy('z')]).toEqual([true, false, false])
    expect(take()).toEqual([...Array.from({ length: 22 }, (_, index) => `x${index + 98}`), 'later0'])
    expect([work.isBusy('x'), take()]).toEqual([false, null])
  })

  it('takes three times more of a tiered location per batch: each batch can recost all earlier ones', () => {
    const plan = { commodity: { timeBandCount: 24 }, nonCommodity: null, market: null }
    const pricePeriods = [{ start: 0, end: 365 * dayMs, plan }]
    const cachedPricing = (isTiered: boolean) => () =>
      ({
        snapshot: { directions: { IMPORT: { isTiered: { COMMODITY: isTiered, NON_COMMODITY: false }, pricePeriods } } },
      }) as unknown as CachedPricing
    // A record of 9 days counts as 9 × 24 + 1 = 217 pieces: 231 are a batch of 50,000.
    const sizesOf = (isTiered: boolean): readonly number[] => {
      const { add, take } = open(cachedPricing(isTiered))
      add(
        slowTaskOf(
          accounts.a,
          'x',
          Array.from({ length: 1_000 }, (_, index) => recordOf(accounts.a, 'x', 9, `x${index}`)),
        ),
      )
      const sizes: number[] = []
      for (let batch = take(); batch !== null; batch = take()) sizes.push(batch.length)
      return sizes
    }
    expect(sizesOf(false)).toEqual([231, 231, 231, 231, 76])
    expect(sizesOf(true)).toEqual([231, 693, 76])
  })

  it('takes the requests of a location together, so that they become one', () => {
    const { work, add } = open()
    const order = (id: string) => ({ request: { orderId: id } }) as ReceivedRequest
    for (const id of ['one', 'two', 'three']) add({ ...slowTaskOf(accounts.a, 'x', []), requests: [order(id)] })
    expect(work.next()?.input.requests.map(one => one.request.orderId)).toEqual(['one', 'two', 'three'])
    expect(work.next()).toBeNull()
  })

  it('takes each identity once', () => {
    const { add, take } = open()
    for (const _ of [1, 2]) add(slowTaskOf(accounts.a, 'x', [recordOf(accounts.a, 'x', 9, 'same')]))
    expect([take(), take(), take()]).toEqual([['same'], ['same'], null])
  })

  it.each([
    ['records', { maxRecords: 1_000, maxRecordsPerAccount: 3, maxPiecesPerAccount: 1_000 }],
    ['pieces of records', { maxRecords: 1_000, maxRecordsPerAccount: 1_000, maxPiecesPerAccount: 3 }],
  ])('reports accounts with too many %s, until they are stored', (_, bounds) => {
    const work = slowWork({ cached: () => undefined }, bounds)
    const add = (accountId: string, count: number): void => {
      const records = Array.from({ length: count }, (_, index) => recordOf(accountId, 'x', 9, `${accountId}${index}`))
      work.add(
        { slowTasks: [slowTaskOf(accountId, `x of ${accountId}`, records)], slowChunks: new Map() },
        pendingStep({ ...stepOf([]), chunks: [] }, []),
        Promise.resolve(),
      )
    }
    const full = () => [accounts.a, accounts.b].map(work.isAccountFull)
    add(accounts.a, 2)
    add(accounts.b, 1)
    expect(full()).toEqual([false, false])
    add(accounts.a, 1)
    expect([full(), work.isFull(), work.isPartitionBusy(0), work.isPartitionBusy(1)]).toEqual([
      [true, false],
      false,
      true,
      false,
    ])
    for (let batch = work.next(); batch !== null; batch = work.next()) work.end(batch)
    expect([full(), work.isPartitionBusy(0)]).toEqual([[false, false], false])
  })
})
