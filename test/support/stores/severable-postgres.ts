import { mkdtempSync, rmSync } from 'node:fs'
import { createConnection, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PostgresAddress } from '../../../services/platform/postgres/database.ts'

type SocketAddress = Extract<PostgresAddress, { host: string }>

/**
 * Fault of the network between clients and a server. It applies to open and new connections.
 * `refuse`: connections end at once. `hang`: connections never pass bytes again. `reset`: connections end at the next byte.
 * `slow`: each answer is `ms` late. `cut`: connections end after this number of bytes from the server.
 */
export type Fault =
  | { readonly kind: 'refuse' | 'hang' | 'reset' }
  | { readonly kind: 'slow'; readonly ms: number }
  | { readonly kind: 'cut'; readonly bytes: number }

/** Connection to the client and connection to the server. `isDead`: the network hung while they were open. */
type Pair = { readonly near: Socket; readonly far: Socket; isDead: boolean; bytesLeft: number }

/** Open a forwarder to a server. It can inject and end network faults. */
export const severablePostgres = async (to: SocketAddress) => {
  const folder = mkdtempSync(join(tmpdir(), 'wattledger-way-'))
  const file = (host: string) => join(host, `.s.PGSQL.${to.port}`)
  const pairs = new Set<Pair>()
  let fault: Fault | null = null

  const end = ({ near, far }: Pair): void => {
    near.destroy()
    far.destroy()
  }
  /** Forward bytes to the other connection, changed by the current fault. */
  const pass = (pair: Pair, to: Socket, bytes: Buffer): void => {
    if (pair.isDead) return
    const isAnswer = to === pair.near
    if (fault?.kind === 'reset') end(pair)
    else if (fault?.kind === 'cut' && isAnswer) {
      to.write(bytes.subarray(0, pair.bytesLeft))
      pair.bytesLeft -= bytes.length
      if (pair.bytesLeft <= 0) to.end(() => end(pair))
    } else if (fault?.kind === 'slow' && isAnswer) {
      setTimeout(() => to.writable && to.write(bytes), fault.ms)
    } else to.write(bytes)
  }
  const applyFault = (pair: Pair): void => {
    if (fault?.kind === 'hang') pair.isDead = true
    if (fault?.kind === 'cut') pair.bytesLeft = fault.bytes
    if (fault?.kind === 'refuse') end(pair)
  }
  const take = (near: Socket): void => {
    const pair: Pair = { near, far: createConnection(file(to.host)), isDead: false, bytesLeft: 0 }
    pairs.add(pair)
    applyFault(pair)
    for (const [one, other] of [
      [near, pair.far],
      [pair.far, near],
    ] as const) {
      one.on('data', bytes => pass(pair, other, bytes))
      // The other side of a dead connection is not informed of the end.
      one.on('close', () => (pair.isDead ? undefined : end(pair)))
      one.on('error', () => undefined)
    }
    near.on('close', () => pairs.delete(pair))
  }

  let server = createServer(take)
  const listen = () => new Promise<void>(resolve => server.listen(file(folder), resolve))
  const inflict = (what: Fault): void => {
    fault = what
    if (what.kind === 'refuse') server.close()
    for (const pair of pairs) applyFault(pair)
  }
  await listen()
  return {
    address: { ...to, host: folder },
    /** Begin a fault; one at a time. */
    inflict,
    /** End it: new connections are as they should be, those that hung stay dead. */
    restore: async (): Promise<void> => {
      fault = null
      if (server.listening) return
      server = createServer(take)
      await listen()
    },
    sever: (): void => inflict({ kind: 'refuse' }),
    [Symbol.dispose]: () => {
      server.close()
      for (const pair of pairs) end(pair)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
