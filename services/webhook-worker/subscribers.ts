import { concurrencyAfter, initialConcurrency } from '../domain/webhook/delivery-concurrency.ts'

/** How many deliveries may be claimed of an endpoint. */
export type EndpointCapacity = { readonly endpointId: string; readonly capacity: number }

/**
 * What is known of endpoints while this process runs: which may have deliveries due, and how many are under way to each. None takes more
 * than its pace, so one that hangs leaves the others their room.
 */
export type Subscribers = {
  /** Note that endpoints may have deliveries due. */
  readonly note: (endpointIds: readonly string[]) => void
  /** Choose of which endpoints to claim, `most` deliveries in all, those that waited longest first. Until noted again they are not chosen. */
  readonly choose: (maxDeliveries: number) => readonly EndpointCapacity[]
  /** A delivery begins; an endpoint that has been failing begins slowly. */
  readonly begin: (endpointId: string, isFailing: boolean) => void
  readonly end: (endpointId: string, isDelivered: boolean) => void
  readonly inFlight: () => number
}

type EndpointLoad = { pace: number; inFlight: number }

const maxEndpoints = 10_000

export const openSubscribers = (): Subscribers => {
  const ready = new Set<string>()
  const loads = new Map<string, EndpointLoad>()
  let inFlight = 0

  const loadOf = (endpointId: string): EndpointLoad => {
    const known = loads.get(endpointId)
    if (known !== undefined) return known
    const load = { pace: initialConcurrency, inFlight: 0 }
    loads.set(endpointId, load)
    return load
  }

  /** Forget endpoints at rest, oldest first, so that the table stays bounded. */
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
        const pace = load?.pace ?? initialConcurrency
        const free = pace - (load?.inFlight ?? 0)
        // Claims cost a statement each, so those of a quick endpoint are gathered.
        if (free < Math.max(1, Math.floor(pace / 4))) continue
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
      if (isNew && isFailing) load.pace = 1
      load.inFlight += 1
      inFlight += 1
      if (isNew) forget()
    },
    end: (endpointId, isDelivered) => {
      const load = loadOf(endpointId)
      load.pace = concurrencyAfter(load.pace, isDelivered)
      load.inFlight -= 1
      inFlight -= 1
    },
    inFlight: () => inFlight,
  }
}
