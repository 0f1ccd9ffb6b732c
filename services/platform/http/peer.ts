import { BlockList, isIP } from 'node:net'

/** Find the address that a request comes from, in the form by which peers are counted. */
export type PeerOf = (environment: unknown, headers: Headers) => string

/** Requests that reach the service without a socket, such as those of tests, count as one peer. */
const unknownPeer = 'unknown'

const maxHops = 64

/** Address of the socket, as the HTTP adapter hands it on. */
const socketAddress = (environment: unknown): string | undefined => {
  if (typeof environment !== 'object' || environment === null || !('incoming' in environment)) return undefined
  const { incoming } = environment as {
    readonly incoming?: { readonly socket?: { readonly remoteAddress?: string | undefined } }
  }
  return incoming?.socket?.remoteAddress
}

/** An address as text without zone, port and brackets, an IPv4 address in IPv6 as IPv4; null if it is none. */
const plainAddress = (text: string): string | null => {
  const bare =
    /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ??
    (/^[\d.]{7,15}:\d{1,5}$/.test(text) ? text.slice(0, text.indexOf(':')) : text)
  const address = bare.split('%', 1)[0]?.toLowerCase() ?? ''
  const mapped = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address
  if (isIP(mapped) === 4) return mapped
  return isIP(address) === 0 ? null : address
}

/** Somebody with one address of IPv6 has the whole network of 64 bits, so that network is the peer. */
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
 * Make the finder of peers: the address of the socket, or, if that is a trusted proxy's, the nearest address of `X-Forwarded-For` that is
 * no trusted proxy. An entry that is no address ends the search. An IPv6 peer is its network of 64 bits.
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
