import { concurrencyAfter, initialConcurrency } from '../domain/webhook/delivery-attempt.ts'

/** Number of deliveries of an endpoint that may be claimed. */
export type EndpointCapacity = { readonly endpointId: string; readonly capacity: number }

/**
 * Endpoints with due deliveries, and the deliveries in flight of each, while this process runs. The concurrency of an
 * endpoint is limited, so a slow endpoint does not use the capacity of others.
 */
export type Subscribers = {
  /** Note that endpoints can have due deliveries. */
  readonly note: (endpointIds: readonly string[]) => void
  /**
   * Choose endpoints for up to `maxDeliveries` deliveries, the longest waiting first. A chosen endpoint must be noted
   * again.
   */
  readonly choose: (maxDeliveries: number) => readonly EndpointCapacity[]
  /** Begin a delivery. An endpoint that was failing starts with a concurrency of 1. */
  readonly begin: (endpointId: string, isFailing: boolean) => void
  readonly end: (endpointId: string, isDelivered: boolean) => void
  readonly inFlight: () => number
}

type EndpointLoad = { concurrency: number; inFlight: number }

const maxEndpoints = 10_000

export const openSubscribers = (): Subscribers => {
  const ready = new Set<string>()
  const loads = new Map<string, EndpointLoad>()
  let inFlight = 0

  const loadOf = (endpointId: string): EndpointLoad => {
    const known = loads.get(endpointId)
    if (known !== undefined) return known
    const load = { concurrency: initialConcurrency, inFlight: 0 }
    loads.set(endpointId, load)
    return load
  }

  /** Drop endpoints without deliveries in flight, oldest first, while the table is too large. */
  const forget = (): void => {
    for (const [endpointId, load] of loads) {
      if (loads.size <= maxEndpoints) return
      if (load.inFlight === 0) loads.delete(endpointId)
    }
  }

  return {
    note: endpointIds => {
      for (const endpointId of endpointIds) ready.add(endpointId)
    },
    choose: maxDeliveries => {
      const capacities: EndpointCapacity[] = []
      let remaining = maxDeliveries
      for (const endpointId of ready) {
        if (remaining <= 0) break
        const load = loads.get(endpointId)
        const concurrency = load?.concurrency ?? initialConcurrency
        const free = concurrency - (load?.inFlight ?? 0)
        // Each claim costs a statement, so a fast endpoint waits for several free slots.
        if (free < Math.max(1, Math.floor(concurrency / 4))) continue
        const capacity = Math.min(remaining, free)
        capacities.push({ endpointId, capacity })
        ready.delete(endpointId)
        remaining -= capacity
      }
      return capacities
    },
    begin: (endpointId, isFailing) => {
      const isNew = !loads.has(endpointId)
      const load = loadOf(endpointId)
      if (isNew && isFailing) load.concurrency = 1
      load.inFlight += 1
      inFlight += 1
      if (isNew) forget()
    },
    end: (endpointId, isDelivered) => {
      const load = loadOf(endpointId)
      load.concurrency = concurrencyAfter(load.concurrency, isDelivered)
      load.inFlight -= 1
      inFlight -= 1
    },
    inFlight: () => inFlight,
  }
}
