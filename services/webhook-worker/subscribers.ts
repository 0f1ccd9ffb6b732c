import { firstPace, paceAfter } from '../domain/webhook/pace.ts'

/** How many deliveries may be claimed of an endpoint. */
export type Asked = { readonly endpointId: string; readonly room: number }

/**
 * What is known of endpoints while this process runs: which may have deliveries due, and how many are under way to each. None takes more
 * than its pace, so one that hangs leaves the others their room.
 */
export type Subscribers = {
  /** Note that endpoints may have deliveries due. */
  readonly note: (endpointIds: readonly string[]) => void
  /** Choose of which endpoints to claim, `most` deliveries in all, those that waited longest first. Until noted again they are not chosen. */
  readonly choose: (most: number) => readonly Asked[]
  /** A delivery begins; an endpoint that has been failing begins slowly. */
  readonly begin: (endpointId: string, isFailing: boolean) => void
  readonly end: (endpointId: string, succeeded: boolean) => void
  readonly underWay: () => number
}

type Place = { pace: number; underWay: number }

const mostPlaces = 10_000

export const openSubscribers = (): Subscribers => {
  const ready = new Set<string>()
  const places = new Map<string, Place>()
  let underWay = 0

  const placeOf = (endpointId: string): Place => {
    const known = places.get(endpointId)
    if (known !== undefined) return known
    const place = { pace: firstPace, underWay: 0 }
    places.set(endpointId, place)
    return place
  }

  /** Forget endpoints at rest, oldest first, so that the table stays bounded. */
  const forget = (): void => {
    for (const [endpointId, place] of places) {
      if (places.size <= mostPlaces) return
      if (place.underWay === 0) places.delete(endpointId)
    }
  }

  return {
    note: endpointIds => {
      for (const endpointId of endpointIds) ready.add(endpointId)
    },
    choose: most => {
      const asked: Asked[] = []
      let left = most
      for (const endpointId of ready) {
        if (left <= 0) break
        const place = places.get(endpointId)
        const pace = place?.pace ?? firstPace
        const free = pace - (place?.underWay ?? 0)
        // Claims cost a statement each, so those of a quick endpoint are gathered.
        if (free < Math.max(1, Math.floor(pace / 4))) continue
        const room = Math.min(left, free)
        asked.push({ endpointId, room })
        ready.delete(endpointId)
        left -= room
      }
      return asked
    },
    begin: (endpointId, isFailing) => {
      const isNew = !places.has(endpointId)
      const place = placeOf(endpointId)
      if (isNew && isFailing) place.pace = 1
      place.underWay += 1
      underWay += 1
      if (isNew) forget()
    },
    end: (endpointId, succeeded) => {
      const place = placeOf(endpointId)
      place.pace = paceAfter(place.pace, succeeded)
      place.underWay -= 1
      underWay -= 1
    },
    underWay: () => underWay,
  }
}
