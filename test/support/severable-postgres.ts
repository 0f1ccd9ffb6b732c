import { mkdtempSync, rmSync } from 'node:fs'
import { createConnection, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { PostgresAddress } from '../../services/platform/postgres/database.ts'

type SocketAddress = Extract<PostgresAddress, { host: string }>

/** A way to a server that can be cut: connections break, and new ones are refused. */
export const severablePostgres = async (to: SocketAddress) => {
  const folder = mkdtempSync('/var/tmp/wattledger-way-')
  const sockets = new Set<Socket>()
  const file = (host: string) => join(host, `.s.PGSQL.${to.port}`)
  const server = createServer(near => {
    const far = createConnection(file(to.host))
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  })
  await new Promise<void>(resolve => server.listen(file(folder), resolve))
  const sever = (): void => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  return {
    address: { ...to, host: folder },
    sever,
    [Symbol.dispose]: () => {
      sever()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
