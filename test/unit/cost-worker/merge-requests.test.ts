import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type ReceivedRequest, trimRequests } from '../../../services/cost-worker/recost/merge-requests.ts'
import { recordTopic } from '../../../services/platform/log/log.ts'

type DrawnRequest = {
  readonly from: number
  readonly length: number
  readonly location: number
  readonly prices: boolean
  readonly kind: 'TIER' | 'RE_PRICE'
}

const requestOf = ({ from, length, location, prices, kind }: DrawnRequest, index: number): ReceivedRequest => ({
  request: {
    ...{
      kind: 'order',
      orderKind: kind,
      orderId: `${index}`,
      accountId: 'acc',
      liveMode: true,
      from,
      to: from + length,
    },
    ...{ locationIds: [`loc_${location}`], locationRevision: prices ? 1 : null, sourceId: null, priceRevision: null },
    ...{ objectId: null, detail: '' },
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
