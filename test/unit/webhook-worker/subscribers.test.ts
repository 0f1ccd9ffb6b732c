import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { matchesAnyFilter } from '../../../services/domain/event-types.ts'
import type { EndpointSubscription } from '../../../services/platform/postgres/webhooks/webhook-queue.ts'
import { deliveriesOf, type NumberedEvent } from '../../../services/webhook-worker/fan-out.ts'
import { openSubscribers } from '../../../services/webhook-worker/subscribers.ts'

describe('the fan-out', () => {
  const event = fc.record({
    eventId: fc.string(),
    type: fc.constantFrom('customer.create', 'customer.create.failed', 'device.delete', 'tariff.expired'),
    accountId: fc.constantFrom('acc_1', 'acc_2'),
    liveMode: fc.boolean(),
    objectId: fc.constant(null),
    timeCreated: fc.integer({ min: 0, max: 20_000 }),
    data: fc.constant('{}'),
    outboxId: fc.option(fc.integer({ min: 1, max: 10 })),
  })
  const subscription = fc.record({
    accountId: fc.constantFrom('acc_1', 'acc_2'),
    liveMode: fc.boolean(),
    endpointId: fc.string(),
    eventTypes: fc.array(fc.constantFrom('*', 'customer.*', 'device.delete'), { minLength: 1 }),
    outboxId: fc.integer({ min: 0, max: 10 }),
    createdAt: fc.integer({ min: 0, max: 20_000 }),
  })

  it('creates one delivery per event and matching endpoint that existed before, in order', () => {
    fc.assert(
      fc.property(
        fc.array(event),
        fc.array(subscription),
        (events: readonly NumberedEvent[], subscriptions: readonly EndpointSubscription[]) => {
          const pendingDeliveries = events.flatMap(({ accountId, liveMode, type, timeCreated, eventId, outboxId }) =>
            subscriptions
              .filter(one => one.accountId === accountId && one.liveMode === liveMode)
              .filter(one => (outboxId === null ? one.createdAt <= timeCreated + 5_000 : one.outboxId < outboxId))
              .filter(one => matchesAnyFilter(one.eventTypes, type))
              .map(({ endpointId }) => [eventId, endpointId]),
          )
          expect(deliveriesOf(events, subscriptions).map(({ eventId, endpointId }) => [eventId, endpointId])).toEqual(
            pendingDeliveries,
          )
        },
      ),
    )
  })
})

describe('deliveries in flight', () => {
  it('is never more than an endpoint may have, nor than is asked for in all', () => {
    const subscribers = openSubscribers()
    subscribers.note(['a', 'b'])
    const first = subscribers.choose(1_000)
    expect(first).toEqual([
      { endpointId: 'a', capacity: 8 },
      { endpointId: 'b', capacity: 8 },
    ])
    for (const { endpointId, capacity } of first)
      for (let count = 0; count < capacity; count += 1) subscribers.begin(endpointId, false)
    subscribers.note(['a', 'b', 'c', 'd'])
    expect(subscribers.choose(10)).toEqual([
      { endpointId: 'c', capacity: 8 },
      { endpointId: 'd', capacity: 2 },
    ])
    // A failing endpoint keeps one connection. A successful endpoint gets more.
    for (let count = 0; count < 8; count += 1) {
      subscribers.end('a', false)
      subscribers.end('b', true)
    }
    expect(subscribers.inFlight()).toBe(0)
    expect(subscribers.choose(1_000)).toEqual([
      { endpointId: 'a', capacity: 1 },
      { endpointId: 'b', capacity: 16 },
    ])
  })

  it('begins with one for an endpoint that has been failing', () => {
    const subscribers = openSubscribers()
    subscribers.begin('a', true)
    subscribers.note(['a'])
    expect(subscribers.choose(100)).toEqual([])
    subscribers.end('a', true)
    expect(subscribers.choose(100)).toEqual([{ endpointId: 'a', capacity: 2 }])
  })
})
