import { setImmediate as nextTurn } from 'node:timers/promises'

/** Progress of a request body: bytes that arrived since `arrivalOf` was called, and whether the body is complete. */
export type Arrival = { readonly bytes: () => number; readonly isComplete: () => boolean }

type Incoming = { readonly complete?: boolean; readonly socket?: { readonly bytesRead?: number } }

const incomingOf = (environment: unknown): Incoming | undefined =>
  typeof environment === 'object' && environment !== null && 'incoming' in environment
    ? ((environment as { readonly incoming?: Incoming }).incoming ?? undefined)
    : undefined

/** Watch the body of a request. Null for a request without a socket, such as those of tests. */
export const arrivalOf = (environment: unknown): Arrival | null => {
  const incoming = incomingOf(environment)
  const first = incoming?.socket?.bytesRead
  if (incoming === undefined || first === undefined) return null
  return { bytes: () => (incoming.socket?.bytesRead ?? first) - first, isComplete: () => incoming.complete === true }
}

/** Max turns of the event loop to wait. In each turn Node reads up to 64 KiB of a connection. */
const maxLoopPasses = 1_024

/**
 * Wait while each turn of the event loop brings more of a body. A busy process so reads bytes that arrived long ago.
 */
export const waitUntilQuiet = async ({ bytes, isComplete }: Arrival): Promise<void> => {
  let seen = -1
  for (let turn = 0; turn < maxLoopPasses && !isComplete() && bytes() !== seen; turn += 1) {
    seen = bytes()
    await nextTurn()
    // The first turn may have started before the last read.
    await nextTurn()
  }
}
