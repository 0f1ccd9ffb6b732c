import type { Arrival } from '../arrival.ts'

/** A body that asks for capacity. All sizes are in bytes after inflation. */
type AnnouncedBody = {
  /** Account and mode. */
  readonly name: string
  readonly liveMode: boolean
  /** Announced size. */
  readonly weight: number
  readonly maxBytes: number
  /** Max ratio of inflated and received bytes. */
  readonly inflationFactor: number
  /** Progress of the body. If it is null, the body keeps its announced capacity. */
  readonly arrival: Arrival | null
  /** Called if other bodies take its capacity. */
  readonly onCapacityLost: () => void
}

type AdmittedBody = {
  /**
   * Change the capacity to the real size of the body. Returns false without capacity, or if other bodies have taken it.
   */
  readonly reportBytes: (bytes: number) => boolean
  /** Report that the whole body has arrived. Returns its capacity. */
  readonly reportArrival: () => number
  readonly release: () => void
}

export type BodyCapacity = {
  /** Reserve the announced size of a body. Null without capacity. */
  readonly admit: (body: AnnouncedBody) => AdmittedBody | null
}

type BodyCapacityOptions = {
  readonly add: (name: string, liveMode: boolean, bytes: number) => void
  readonly fits: (name: string, liveMode: boolean, bytes: number) => boolean
  /** Min size of each body. */
  readonly minBytes: number
  /** Monotonic clock in ms. */
  readonly now?: () => number
}

/** `seen`: progress at the last check. */
type ArrivingBody = AnnouncedBody & {
  readonly arrival: Arrival
  weight: number
  seen: { readonly at: number; readonly bytes: number }
  isEnded: boolean
}

type CapacityState = Required<BodyCapacityOptions> & {
  readonly arriving: Set<ArrivingBody>
  /** Bodies whose capacity was reduced to the bytes that have arrived. */
  readonly shrunk: Set<ArrivingBody>
  timer: NodeJS.Timeout | undefined
}

const completeArrival: Arrival = { bytes: () => 0, isComplete: () => true }

/**
 * Min speed of a body: bytes per second, and the time in ms in which it must bring all its bytes so far.
 * Slower bodies are ended.
 */
const minPace = { bytesPerSecond: 8_192, wholeMs: 30_000 }
/** Interval in ms over which the speed of a body is measured. */
const paceIntervalMs = 2_000
/** Interval in ms between two checks of shrunk bodies. */
const checkIntervalMs = 50

/** Return whether a body was very slow since the last check. */
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

const resize = ({ add }: CapacityState, body: ArrivingBody, weight: number): void => {
  add(body.name, body.liveMode, weight - body.weight)
  body.weight = weight
}

const forget = (state: CapacityState, body: ArrivingBody): void => {
  state.arriving.delete(body)
  state.shrunk.delete(body)
  if (state.shrunk.size > 0) return
  clearInterval(state.timer)
  state.timer = undefined
}

const end = (state: CapacityState, body: ArrivingBody): void => {
  body.isEnded = true
  resize(state, body, 0)
  forget(state, body)
  body.onCapacityLost()
}

const arrivedBytesOf = ({ minBytes }: CapacityState, { arrival, inflationFactor, maxBytes }: ArrivingBody): number =>
  Math.min(maxBytes, Math.max(minBytes, arrival.bytes() * inflationFactor))

/** Change the capacity of a body. If the new size does not fit, return false and release its capacity. */
const refit = (state: CapacityState, body: ArrivingBody, size: number): boolean => {
  const before = body.weight
  resize(state, body, 0)
  const isAdmitted = !body.isEnded && (size <= before || state.fits(body.name, body.liveMode, size))
  resize(state, body, isAdmitted ? size : 0)
  return isAdmitted
}

const checkShrunk = (state: CapacityState): void => {
  for (const body of state.shrunk) {
    const arrivedBytes = arrivedBytesOf(state, body)
    if (arrivedBytes > body.weight && !refit(state, body, arrivedBytes)) end(state, body)
  }
}

/** Reduce each body to the bytes that have arrived. */
const shrinkAll = (state: CapacityState): void => {
  for (const body of state.arriving) {
    const arrivedBytes = arrivedBytesOf(state, body)
    if (arrivedBytes >= body.weight || body.arrival.isComplete()) continue
    resize(state, body, arrivedBytes)
    state.shrunk.add(body)
  }
  if (state.shrunk.size > 0) state.timer ??= setInterval(checkShrunk, checkIntervalMs, state).unref()
}

const endSlow = (state: CapacityState): void => {
  const at = state.now()
  for (const body of state.arriving) if (isSlow(body, at)) end(state, body)
}

const makeCapacity = (state: CapacityState, { name, liveMode, weight }: AnnouncedBody): boolean => {
  if (state.fits(name, liveMode, weight)) return true
  shrinkAll(state)
  if (state.fits(name, liveMode, weight)) return true
  endSlow(state)
  return state.fits(name, liveMode, weight)
}

/**
 * Create the capacity of bodies that are arriving. A body has its announced size until another body needs capacity.
 * Then each body is reduced to the bytes that have arrived, and very slow bodies are ended.
 * Announced bytes that are never sent therefore block no other request. Source: docs/promises.md #s6.
 */
export const bodyCapacity = (options: BodyCapacityOptions): BodyCapacity => {
  const state: CapacityState = {
    now: () => performance.now(),
    ...options,
    arriving: new Set(),
    shrunk: new Set(),
    timer: undefined,
  }
  return {
    admit: announced => {
      if (!makeCapacity(state, announced)) return null
      const { name, liveMode, weight, arrival } = announced
      state.add(name, liveMode, weight)
      const body: ArrivingBody = {
        ...announced,
        arrival: arrival ?? completeArrival,
        seen: { at: state.now(), bytes: 0 },
        isEnded: false,
      }
      if (arrival !== null) state.arriving.add(body)
      return {
        reportBytes: bytes => refit(state, body, bytes),
        reportArrival: () => {
          forget(state, body)
          return body.weight
        },
        release: () => {
          forget(state, body)
          resize(state, body, 0)
        },
      }
    },
  }
}
