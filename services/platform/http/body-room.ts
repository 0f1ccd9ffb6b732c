import type { Arrival } from './arrival.ts'

/** A body of an account and mode that asks for room. `weight`: what it announces; `growsTo`: the most it can be; all in bytes, inflated. */
type AnnouncedBody = {
  readonly name: string
  readonly liveMode: boolean
  readonly weight: number
  readonly growsTo: number
  /** How many times its bytes may grow when they are inflated. */
  readonly growth: number
  /** Null: nothing tells how far it has come, and it keeps the room that it announces. */
  readonly arrival: Arrival | null
  /** Called if its room went to others. */
  readonly yieldRoom: () => void
}

type EnteredBody = {
  /** Change the room to what the body has turned out to be. Returns false if there is none, or if its room went to others. */
  readonly weigh: (bytes: number) => boolean
  /** Report that the whole body has come. Returns its room. */
  readonly arrive: () => number
  readonly leave: () => void
}

type BodyRoom = {
  /** Give a body the room that it announces; null if there is none. */
  readonly enter: (body: AnnouncedBody) => EnteredBody | null
}

type BodyRoomOptions = {
  readonly add: (name: string, liveMode: boolean, bytes: number) => void
  readonly fits: (name: string, liveMode: boolean, bytes: number) => boolean
  /** What any body takes at the least. */
  readonly leastBytes: number
  /** The present instant in ms of any clock. */
  readonly now?: () => number
}

/** `seen`: what had come of it when it was last looked at. */
type OnItsWay = AnnouncedBody & {
  readonly arrival: Arrival
  weight: number
  seen: { readonly at: number; readonly bytes: number }
  isEnded: boolean
}

const whole: Arrival = { bytes: () => 0, isComplete: () => true }

/** A body that brings less than this in a second, or so little that all that it brought would take longer, yields its room to others. */
const slowest = { bytesPerSecond: 8_192, wholeMs: 30_000 }
/** Length of a look at how fast a body comes, in ms. */
const paceMs = 2_000
/** How often bodies are looked at that have no more room than what has come of them, in ms. */
const lookMs = 50

/** Tell whether a body that was looked at before has come very slowly since then. */
const isSlow = (body: OnItsWay, at: number): boolean => {
  const { arrival, seen } = body
  const ms = at - seen.at
  if (ms < paceMs || arrival.isComplete()) return false
  const bytes = arrival.bytes()
  const least = Math.max((slowest.bytesPerSecond * ms) / 1_000, (bytes * ms) / slowest.wholeMs)
  if (bytes - seen.bytes < least) return true
  body.seen = { at, bytes }
  return false
}

/**
 * Create the room for bodies on their way. A body has the room that it announces until another one needs it: then each counts what has come of
 * it, and bodies that come very slowly end. So what is announced and never sent keeps nobody out. Source: docs/promises.md #s6.
 */
export const bodyRoom = ({ add, fits, leastBytes, now = () => performance.now() }: BodyRoomOptions): BodyRoom => {
  const onTheirWay = new Set<OnItsWay>()
  /** Those that have no more room than what has come of them. */
  const shrunk = new Set<OnItsWay>()
  let looking: NodeJS.Timeout | undefined

  const resize = (body: OnItsWay, weight: number): void => {
    add(body.name, body.liveMode, weight - body.weight)
    body.weight = weight
  }

  const forget = (body: OnItsWay): void => {
    onTheirWay.delete(body)
    shrunk.delete(body)
    if (shrunk.size > 0) return
    clearInterval(looking)
    looking = undefined
  }

  const end = (body: OnItsWay): void => {
    body.isEnded = true
    resize(body, 0)
    forget(body)
    body.yieldRoom()
  }

  const comeOf = ({ arrival, growth, growsTo }: OnItsWay): number => Math.min(growsTo, Math.max(leastBytes, arrival.bytes() * growth))

  /** Give a body other room; false, and it has none, if there is too little. */
  const refit = (body: OnItsWay, size: number): boolean => {
    const before = body.weight
    resize(body, 0)
    const isIn = !body.isEnded && (size <= before || fits(body.name, body.liveMode, size))
    resize(body, isIn ? size : 0)
    return isIn
  }

  const lookAtShrunk = (): void => {
    for (const body of shrunk) {
      const come = comeOf(body)
      if (come > body.weight && !refit(body, come)) end(body)
    }
  }

  /** Take back room that was announced and is not used yet. */
  const shrinkAll = (): void => {
    for (const body of onTheirWay) {
      const come = comeOf(body)
      if (come >= body.weight || body.arrival.isComplete()) continue
      resize(body, come)
      shrunk.add(body)
    }
    if (shrunk.size > 0) looking ??= setInterval(lookAtShrunk, lookMs).unref()
  }

  const endSlow = (): void => {
    const at = now()
    for (const body of onTheirWay) if (isSlow(body, at)) end(body)
  }

  const makeFit = ({ name, liveMode, weight }: AnnouncedBody): boolean => {
    for (const make of [() => undefined, shrinkAll, endSlow]) {
      make()
      if (fits(name, liveMode, weight)) return true
    }
    return false
  }

  return {
    enter: announced => {
      if (!makeFit(announced)) return null
      const { name, liveMode, weight, arrival } = announced
      add(name, liveMode, weight)
      const body: OnItsWay = { ...announced, arrival: arrival ?? whole, seen: { at: now(), bytes: 0 }, isEnded: false }
      if (arrival !== null) onTheirWay.add(body)
      return {
        weigh: bytes => refit(body, bytes),
        arrive: () => {
          forget(body)
          return body.weight
        },
        leave: () => {
          forget(body)
          resize(body, 0)
        },
      }
    },
  }
}
