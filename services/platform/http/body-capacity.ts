import type { Arrival } from './arrival.ts'

/** A body of an account and mode that asks for room. `weight`: what it announces; `growsTo`: the most it can be; all in bytes, inflated. */
type AnnouncedBody = {
  readonly name: string
  readonly liveMode: boolean
  readonly weight: number
  readonly maxBytes: number
  /** How many times its bytes may grow when they are inflated. */
  readonly inflationFactor: number
  /** Null: nothing tells how far it has come, and it keeps the room that it announces. */
  readonly arrival: Arrival | null
  /** Called if its room went to others. */
  readonly onCapacityLost: () => void
}

type AdmittedBody = {
  /** Change the room to what the body has turned out to be. Returns false if there is none, or if its room went to others. */
  readonly reportBytes: (bytes: number) => boolean
  /** Report that the whole body has come. Returns its room. */
  readonly reportArrival: () => number
  readonly release: () => void
}

type BodyCapacity = {
  /** Give a body the room that it announces; null if there is none. */
  readonly admit: (body: AnnouncedBody) => AdmittedBody | null
}

type BodyCapacityOptions = {
  readonly add: (name: string, liveMode: boolean, bytes: number) => void
  readonly fits: (name: string, liveMode: boolean, bytes: number) => boolean
  /** What any body takes at the least. */
  readonly minBytes: number
  /** The present instant in ms of any clock. */
  readonly now?: () => number
}

/** `seen`: what had come of it when it was last looked at. */
type ArrivingBody = AnnouncedBody & {
  readonly arrival: Arrival
  weight: number
  seen: { readonly at: number; readonly bytes: number }
  isEnded: boolean
}

const completeArrival: Arrival = { bytes: () => 0, isComplete: () => true }

/** A body that brings less than this in a second, or so little that all that it brought would take longer, yields its room to others. */
const minPace = { bytesPerSecond: 8_192, wholeMs: 30_000 }
/** Length of a look at how fast a body comes, in ms. */
const paceIntervalMs = 2_000
/** How often bodies are looked at that have no more room than what has come of them, in ms. */
const checkIntervalMs = 50

/** Tell whether a body that was looked at before has come very slowly since then. */
const isSlow = (body: ArrivingBody, at: number): boolean => {
  const { arrival, seen } = body
  const ms = at - seen.at
  if (ms < paceIntervalMs || arrival.isComplete()) return false
  const bytes = arrival.bytes()
  const minArrivedBytes = Math.max((minPace.bytesPerSecond * ms) / 1_000, (bytes * ms) / minPace.wholeMs)
  if (bytes - seen.bytes < minArrivedBytes) return true
  body.seen = { at, bytes }
  return false
}

/**
 * Create the room for bodies on their way. A body has the room that it announces until another one needs it: then each counts what has come of
 * it, and bodies that come very slowly end. So what is announced and never sent keeps nobody out. Source: docs/promises.md #s6.
 */
export const bodyCapacity = ({
  add,
  fits,
  minBytes,
  now = () => performance.now(),
}: BodyCapacityOptions): BodyCapacity => {
  const arrivingBodies = new Set<ArrivingBody>()
  /** Those that have no more room than what has come of them. */
  const shrunk = new Set<ArrivingBody>()
  let timer: NodeJS.Timeout | undefined

  const resize = (body: ArrivingBody, weight: number): void => {
    add(body.name, body.liveMode, weight - body.weight)
    body.weight = weight
  }

  const forget = (body: ArrivingBody): void => {
    arrivingBodies.delete(body)
    shrunk.delete(body)
    if (shrunk.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  const end = (body: ArrivingBody): void => {
    body.isEnded = true
    resize(body, 0)
    forget(body)
    body.onCapacityLost()
  }

  const arrivedBytesOf = ({ arrival, inflationFactor, maxBytes }: ArrivingBody): number =>
    Math.min(maxBytes, Math.max(minBytes, arrival.bytes() * inflationFactor))

  /** Give a body other room; false, and it has none, if there is too little. */
  const refit = (body: ArrivingBody, size: number): boolean => {
    const before = body.weight
    resize(body, 0)
    const isAdmitted = !body.isEnded && (size <= before || fits(body.name, body.liveMode, size))
    resize(body, isAdmitted ? size : 0)
    return isAdmitted
  }

  const checkShrunk = (): void => {
    for (const body of shrunk) {
      const arrivedBytes = arrivedBytesOf(body)
      if (arrivedBytes > body.weight && !refit(body, arrivedBytes)) end(body)
    }
  }

  /** Take back room that was announced and is not used yet. */
  const shrinkAll = (): void => {
    for (const body of arrivingBodies) {
      const arrivedBytes = arrivedBytesOf(body)
      if (arrivedBytes >= body.weight || body.arrival.isComplete()) continue
      resize(body, arrivedBytes)
      shrunk.add(body)
    }
    if (shrunk.size > 0) timer ??= setInterval(checkShrunk, checkIntervalMs).unref()
  }

  const endSlow = (): void => {
    const at = now()
    for (const body of arrivingBodies) if (isSlow(body, at)) end(body)
  }

  const makeCapacity = ({ name, liveMode, weight }: AnnouncedBody): boolean => {
    for (const step of [() => undefined, shrinkAll, endSlow]) {
      step()
      if (fits(name, liveMode, weight)) return true
    }
    return false
  }

  return {
    admit: announced => {
      if (!makeCapacity(announced)) return null
      const { name, liveMode, weight, arrival } = announced
      add(name, liveMode, weight)
      const body: ArrivingBody = {
        ...announced,
        arrival: arrival ?? completeArrival,
        seen: { at: now(), bytes: 0 },
        isEnded: false,
      }
      if (arrival !== null) arrivingBodies.add(body)
      return {
        reportBytes: bytes => refit(body, bytes),
        reportArrival: () => {
          forget(body)
          return body.weight
        },
        release: () => {
          forget(body)
          resize(body, 0)
        },
      }
    },
  }
}
