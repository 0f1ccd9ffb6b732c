import ipaddr from 'ipaddr.js'

/** Returns whether webhooks may connect to an address (IPv4 or IPv6 text). False for a text that is not an address. */
export type AddressRule = (address: string) => boolean

type Network = readonly [ipaddr.IPv4 | ipaddr.IPv6, number]

const isWithin = (address: ipaddr.IPv4 | ipaddr.IPv6, [network, bits]: Network): boolean =>
  address.kind() === network.kind() && address.match(network, bits)

/** Networks of this machine itself. */
export const loopbackNetworks: readonly string[] = ['127.0.0.0/8', '::1/128']

/** Return whether a host on which a server listens (a name or an IP address) is reachable from this machine only. */
export const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' || (ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback')

/** All public IPv6 addresses are in this network. Special ranges inside it are excluded by `range()`. */
const globalUnicast: Network = ipaddr.parseCIDR('2000::/3')

/** Addresses in public ranges that belong to the cloud platform of the host. */
const hostPlatforms: readonly Network[] = ['168.63.129.16/32'].map(text => ipaddr.parseCIDR(text))

/**
 * Return whether an IPv6 address contains an IPv4 address that a router would extract (ISATAP).
 * Source: RFC 5214, 6.1.
 */
const isIsatap = (address: ipaddr.IPv6): boolean => {
  const [high = 0, low = 0] = address.parts.slice(4)
  return (high & 0xfdff) === 0 && low === 0x5efe
}

const isPublicAddress = (address: ipaddr.IPv4 | ipaddr.IPv6): boolean => {
  // `range()` gives no unicast for addresses that contain an IPv4 address (NAT64, 6to4, Teredo).
  if (address.range() !== 'unicast' || hostPlatforms.some(network => isWithin(address, network))) return false
  return address instanceof ipaddr.IPv4 || (isWithin(address, globalUnicast) && !isIsatap(address))
}

/**
 * Create the rule for webhook addresses: public addresses, and the networks (CIDR) that the operator allows.
 * An IPv4-mapped IPv6 address counts as IPv4. Throws `RangeError` if a text is not a network.
 */
export const addressRule = (allowedNetworks: readonly string[]): AddressRule => {
  const allowed = allowedNetworks.map((text): Network => {
    if (!ipaddr.isValidCIDR(text)) throw new RangeError(`${text} is not a network. Write networks such as 10.1.0.0/16.`)
    return ipaddr.parseCIDR(text)
  })
  return text => {
    if (!ipaddr.isValid(text)) return false
    const address = ipaddr.process(text)
    return allowed.some(network => isWithin(address, network)) || isPublicAddress(address)
  }
}
