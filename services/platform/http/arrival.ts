import { setImmediate as nextTurn } from 'node:timers/promises'

/** How far the body of a request has come: bytes since the look at it began, headers and body that came before left out. */
export type Arrival = { readonly bytes: () => number; readonly isComplete: () => boolean }

type Incoming = { readonly complete?: boolean; readonly socket?: { readonly bytesRead?: number } }

const incomingOf = (environment: unknown): Incoming | undefined =>
  typeof environment === 'object' && environment !== null && 'incoming' in environment
    ? ((environment as { readonly incoming?: Incoming }).incoming ?? undefined)
    : undefined

/** Watch the body of a request; null for a request without a socket, such as those of tests. */
export const arrivalOf = (environment: unknown): Arrival | null => {
  const incoming = incomingOf(environment)
  const first = incoming?.socket?.bytesRead
  if (incoming === undefined || first === undefined) return null
  return { bytes: () => (incoming.socket?.bytesRead ?? first) - first, isComplete: () => incoming.complete === true }
}

/** Turns of the event loop in which what has come for a process is read, at the most: 64 KiB of a connection in each. */
const maxTurns = 1_024

/** Wait while more of a body comes in each turn of the event loop: a process that was busy finds what the client sent long ago. */
export const waitUntilQuiet = async ({ bytes, isComplete }: Arrival): Promise<void> => {
  let seen = -1
  for (let turn = 0; turn < maxTurns && !isComplete() && bytes() !== seen; turn += 1) {
    seen = bytes()
    await nextTurn()
    // The first turn may have begun before the connection was looked at.
    await nextTurn()
  }
}
