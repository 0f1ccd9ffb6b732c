import { BlockList, isIP } from 'node:net'
import type { RequestHeaders } from './request-body.ts'

/** Return the address of the client of a request, as used for counting. */
export type PeerOf = (environment: unknown, headers: RequestHeaders) => string

/** All requests without a socket, such as those of tests, count as one peer. */
const unknownPeer = 'unknown'

const maxHops = 64

/** Return the address of the socket from the environment of the HTTP adapter. */
const socketAddress = (environment: unknown): string | undefined => {
  if (typeof environment !== 'object' || environment === null || !('incoming' in environment)) return undefined
  const { incoming } = environment as {
    readonly incoming?: { readonly socket?: { readonly remoteAddress?: string | undefined } }
  }
  return incoming?.socket?.remoteAddress
}

/**
 * Normalise an address: no zone, port or brackets, and an IPv4-mapped address as IPv4. Null if it is not an address.
 */
const plainAddress = (text: string): string | null => {
  const bare =
    /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ??
    (/^[\d.]{7,15}:\d{1,5}$/.test(text) ? text.slice(0, text.indexOf(':')) : text)
  const address = bare.split('%', 1)[0]?.toLowerCase() ?? ''
  const mapped = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address
  if (isIP(mapped) === 4) return mapped
  return isIP(address) === 0 ? null : address
}

/** Return the peer of an address. A client with one IPv6 address owns its /64 network, so that network is the peer. */
const peerOfAddress = (address: string): string => {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.split('::', 2)
  const groups = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - after.length)
  const all = [...groups, ...Array.from({ length: zeros }, () => '0'), ...after]
  return `${all
    .slice(0, 4)
    .map(group => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}

/**
 * Create the function that returns the peer of a request: the address of the socket.
 * If the socket belongs to a trusted proxy, the peer is the last address in `X-Forwarded-For` that is not a trusted
 * proxy.
 * An entry that is not an address ends the search. An IPv6 peer is its /64 network.
 * `trusted`: networks in CIDR notation. Source: docs/rules/authentication.md #peers.
 */
export const peerFinder = (trusted: readonly string[]): PeerOf => {
  const proxies = new BlockList()
  for (const network of trusted) {
    const [address = '', bits] = network.split('/')
    proxies.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }
  const isProxy = (address: string): boolean => proxies.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
  return (environment, headers) => {
    const direct = plainAddress(socketAddress(environment) ?? '')
    if (direct === null) return unknownPeer
    let peer: string = direct
    const forwarded = (headers.get('x-forwarded-for') ?? '').split(',').slice(-maxHops)
    for (const hop of forwarded.toReversed()) {
      const address: string | null = isProxy(peer) ? plainAddress(hop.trim()) : null
      if (address === null) break
      peer = address
    }
    return peerOfAddress(peer)
  }
}
