import { isIPv6 } from 'node:net'
import type { Config } from './config.ts'

/** Hosts that mean "all interfaces". No client can connect to them everywhere. */
const loopbackOf: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' }

/** Return the address at which programs on this machine reach a server that listens on a host and port. */
export const localAddress = (host: string, port: number): string => {
  const address = `http://${isIPv6(host) ? `[${host}]` : host}:${port}`
  if (!URL.canParse(address)) return address
  const { hostname } = new URL(address)
  return `http://${loopbackOf[hostname] ?? hostname}:${port}`
}

/** Return the address of the service for users and commands: its public address if it is set, else the local one. */
export const serviceAddress = ({ publicUrl, host }: Config, port: number): string =>
  publicUrl ?? localAddress(host, port)
