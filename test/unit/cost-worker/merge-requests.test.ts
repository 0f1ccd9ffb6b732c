import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  mergeRequests,
  orderRequests,
  type ReceivedRequest,
  shareRequests,
  trimRequests,
} from '../../../services/cost-worker/recost/merge-requests.ts'
import { recordTopic } from '../../../services/platform/log/log.ts'
import { leastCpuTimeMs } from '../../support/cpu/cpu-time.ts'

type DrawnRequest = {
  readonly from: number
  readonly length: number
  readonly location: number
  readonly prices: boolean
  readonly kind: 'TIER' | 'RE_PRICE'
}

const requestOf = ({ from, length, location, prices, kind }: DrawnRequest, index: number): ReceivedRequest => ({
  request: {
    kind: 'order',
    orderKind: kind,
    orderId: `${index}`,
    accountId: 'acc',
    liveMode: true,
    from,
    to: from + length,
    locationIds: [`loc_${location}`],
    locationRevision: prices ? 1 : null,
    sourceId: null,
    priceRevision: null,
    objectId: null,
    detail: '',
  },
  version: BigInt(index),
  origin: {
    assignment: { topic: recordTopic, partition: 0 },
    message: { offset: index, key: '', value: Buffer.alloc(0), headers: {}, appendedAt: 0 } as never,
  },
})

const requests = fc.array(
  fc.record({
    from: fc.integer({ min: 0, max: 30 }),
    length: fc.integer({ min: 1, max: 30 }),
    location: fc.integer({ min: 0, max: 1 }),
    prices: fc.boolean(),
    kind: fc.constantFrom('TIER' as const, 'TIER' as const, 'RE_PRICE' as const),
  }),
  { maxLength: 8 },
)

/** For each instant, the number of TIER requests and of other requests whose interval contains it. */
const passes = (
  all: readonly ReceivedRequest[],
  location: string,
): readonly (readonly [tiers: number, others: number])[] =>
  Array.from({ length: 61 }, (_, at) => {
    const over = all.filter(
      ({ request }) => request.locationIds[0] === location && (request.from ?? 0) <= at && at < (request.to ?? 0),
    )
    const tiers = over.filter(({ request }) => request.orderKind === 'TIER')
    return [tiers.length, over.length - tiers.length] as const
  })

it('trimmed requests of a location together cover the same time, and requests with prices stay complete', () => {
  fc.assert(
    fc.property(requests, drawn => {
      const all = drawn.map(requestOf)
      const trimmed = trimRequests(all)
      for (const location of ['loc_0', 'loc_1']) {
        const [before, after] = [passes(all, location), passes(trimmed, location)]
        for (const [at, [tiers, others]] of before.entries()) {
          expect(after[at]?.[1]).toBe(others)
          expect((after[at]?.[0] ?? 0) > 0).toBe(tiers > 0)
          expect(after[at]?.[0]).toBeLessThanOrEqual(tiers)
        }
      }
      const whole = all.filter(({ request }) => request.orderKind !== 'TIER' || request.locationRevision !== null)
      expect(trimmed.filter(one => whole.includes(one))).toEqual(whole)
    }),
    { numRuns: 500 },
  )
})

it('many late records of one month recost its rows once', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 59 }), { minLength: 1, maxLength: 20 }), starts => {
      const all = starts.map((from, index) =>
        requestOf({ from, length: 60 - from, location: 0, prices: false, kind: 'TIER' }, index),
      )
      const first = Math.min(...starts)
      expect(passes(trimRequests(all), 'loc_0').map(([tiers]) => tiers)).toEqual(
        Array.from({ length: 61 }, (_, at) => (at >= first && at < 60 ? 1 : 0)),
      )
    }),
  )
})

type Row = { readonly start: number; readonly end: number }

const rowsOf: readonly Row[] = Array.from({ length: 62 }, (_, start) => start).flatMap(start =>
  [0, 1, 2, 7, 40].map(length => ({ start, end: start + length })),
)

/** Return whether a request recosts a row: one that starts in its interval, or one that shares time with it. */
const recosts = ({ request }: ReceivedRequest, { start, end }: Row): boolean => {
  const [from, to] = [request.from ?? Number.NEGATIVE_INFINITY, request.to ?? Number.POSITIVE_INFINITY]
  if (request.orderKind === 'TIER') return start >= from && start < to
  return start < to && (end > from || start === from)
}

const summaryOf = (all: readonly ReceivedRequest[]) => ({
  count: all.length,
  revision: all.reduce((highest, { request }) => Math.max(highest, request.locationRevision ?? 0), 0),
  version: all.reduce((highest, { version }) => (version > highest ? version : highest), 0n),
})

const openEnd = (received: ReceivedRequest, isOpen: boolean): ReceivedRequest =>
  isOpen ? { ...received, request: { ...received.request, to: null } } : received

const newPrices = fc.array(
  fc.record({ drawn: requests.map(all => all[0]), revision: fc.integer({ min: 1, max: 5 }), isOpen: fc.boolean() }),
  { maxLength: 8 },
)

it('shared requests recost the same rows with the newest prices and version of all requests for them', () => {
  fc.assert(
    fc.property(newPrices, drawn => {
      const all = drawn.flatMap(({ drawn: one, revision, isOpen }, index) => {
        if (one === undefined) return []
        const received = openEnd(requestOf(one, index), isOpen)
        return [{ ...received, request: { ...received.request, locationRevision: revision } }]
      })
      const shared = shareRequests(all)
      expect(shared.length).toBeLessThanOrEqual(all.length)
      const faults = ['loc_0', 'loc_1'].flatMap(location => {
        const [before, after] = [all, shared].map(list =>
          list.filter(({ request }) => request.locationIds[0] === location),
        )
        return rowsOf.filter(row => {
          const [wanted, found] = [before, after].map(list => summaryOf(list?.filter(one => recosts(one, row)) ?? []))
          if (wanted === undefined || found === undefined) return true
          const isSame = found.count <= wanted.count && found.count > 0 === wanted.count > 0
          return !isSame || found.revision < wanted.revision || found.version < wanted.version
        })
      })
      expect(faults).toEqual([])
    }),
    { numRuns: 500 },
  )
})

it('requests with prices of two sources stay as they are', () => {
  const drawn = { from: 0, length: 60, location: 0, prices: false, kind: 'TIER' as const }
  const all = ['src_1', 'src_2'].map((sourceId, index) => {
    const received = requestOf(drawn, index)
    return { ...received, request: { ...received.request, sourceId, priceRevision: 1 } }
  })
  expect(shareRequests(all)).toEqual(all)
})

it.each(['TIER', 'RE_PRICE'] as const)(
  'new prices that arrive before each recost of one row reach every row in one round: %s',
  kind => {
    const count = 40
    const request = (index: number): ReceivedRequest =>
      openEnd(requestOf({ from: 0, length: 1, location: 0, prices: true, kind: 'RE_PRICE' }, index), true)
    const lastRecost = new Array<number>(count).fill(-1)
    let waiting: readonly ReceivedRequest[] = []
    for (let step = 0; step < 10 * count; step += 1) {
      // New prices arrive while a step runs, so their request comes before the rest of the step.
      const [first, ...others] = orderRequests([request(step), ...waiting])
      if (first === undefined) continue
      const at = first.request.from ?? 0
      expect(step - (lastRecost[at] ?? 0), `row ${at}`).toBeLessThanOrEqual(count + 1)
      lastRecost[at] = step
      const isLast = at + 1 >= Math.min(count, first.request.to ?? count)
      const rest: ReceivedRequest = { ...first, request: { ...first.request, orderKind: kind, from: at + 1 } }
      waiting = shareRequests([...(isLast ? [] : [rest]), ...others])
      expect(waiting.length).toBeLessThanOrEqual(2)
    }
    expect(Math.min(...lastRecost)).toBeGreaterThanOrEqual(9 * count - 2)
  },
)

it('the rest of a month with tiers, the months after it and new prices share no row', () => {
  const rest = requestOf({ from: 10, length: 20, location: 0, prices: true, kind: 'TIER' }, 0)
  const monthsAfter = openEnd(requestOf({ from: 30, length: 1, location: 0, prices: true, kind: 'RE_PRICE' }, 1), true)
  const newest = openEnd(requestOf({ from: 0, length: 1, location: 0, prices: true, kind: 'RE_PRICE' }, 2), true)
  const shared = shareRequests(orderRequests([newest, rest, monthsAfter]))
  expect(shared.map(({ request: { orderKind, from, to } }) => [orderKind, from, to])).toEqual([
    ['TIER', 10, 30],
    ['RE_PRICE', 30, null],
    ['RE_PRICE', 0, 10],
  ])
  expect(shared.map(({ version }) => version)).toEqual([2n, 2n, 2n])
})

it('the order of requests keeps the places of each location', () => {
  const draw = (from: number, location: number, kind: DrawnRequest['kind'], index: number): ReceivedRequest =>
    requestOf({ from, length: 9, location, prices: true, kind }, index)
  const all = [draw(0, 0, 'RE_PRICE', 0), draw(0, 1, 'RE_PRICE', 1), draw(5, 0, 'TIER', 2), draw(7, 1, 'RE_PRICE', 3)]
  expect(orderRequests(all).map(({ version }) => version)).toEqual([2n, 3n, 0n, 1n])
})

it.each([100, 101])('new prices share the rows of up to 100 waiting requests of a location: %i waiting', count => {
  const one = (from: number, length: number, index: number): ReceivedRequest =>
    requestOf({ from, length, location: 0, prices: true, kind: 'RE_PRICE' }, index)
  const waiting = Array.from({ length: count }, (_, index) => one(10 * (index + 1), 5, index))
  const shared = shareRequests([...waiting, one(0, 10 * count + 7, count)])
  const last = shared.at(-1)?.request
  // The last compared request takes the rows after its start.
  expect([last?.from, last?.to]).toEqual([0, 10])
  expect(shared[99]?.request.to).toBe(10 * count + 7)
  expect(shared[100]?.request.to ?? null).toBe(count === 100 ? 10 : 1015)
})

it('shares many requests of one location in a time that grows in proportion to them', async () => {
  const all = Array.from({ length: 20_000 }, (_, index) =>
    requestOf({ from: 2 * index, length: 1, location: 0, prices: true, kind: 'RE_PRICE' }, index),
  )
  const share = () => expect(shareRequests(orderRequests(all))).toHaveLength(20_000)
  expect(await leastCpuTimeMs(5_000, share)).toBeLessThan(5_000)
})

it('merged requests name each location of equal requests once, however often a step is deferred again', () => {
  const drawn = fc.record({
    from: fc.constantFrom(0, 1),
    locations: fc.uniqueArray(fc.integer({ min: 0, max: 900 }), { minLength: 1, maxLength: 400 }),
  })
  const namesOf = (all: readonly ReceivedRequest[]): readonly string[] =>
    all.flatMap(({ request: { from, locationIds } }) => locationIds.map(id => `${from} ${id}`))
  fc.assert(
    fc.property(fc.array(drawn, { maxLength: 8 }), requestsOfStep => {
      const all = requestsOfStep.map(({ from, locations }, index) => {
        const { request, ...received } = requestOf(
          { from, length: 5, location: 0, prices: false, kind: 'RE_PRICE' },
          index,
        )
        return { ...received, request: { ...request, locationIds: locations.map(one => `loc_${one}`) } }
      })
      const merged = mergeRequests(all)
      expect(namesOf(merged).toSorted()).toEqual([...new Set(namesOf(all))].sort())
      expect(merged.every(({ request }) => request.locationIds.length <= 500)).toBe(true)
      // A process that ended deferred these requests already.
      expect(mergeRequests([...merged, ...merged])).toEqual(merged)
    }),
  )
})
