import ipaddr from 'ipaddr.js'

/** Tells whether an address (IPv4 or IPv6, as text) may be dialled. Text that is no address may not. */
export type AddressRule = (address: string) => boolean

type Network = readonly [ipaddr.IPv4 | ipaddr.IPv6, number]

const isWithin = (address: ipaddr.IPv4 | ipaddr.IPv6, [network, bits]: Network): boolean =>
  address.kind() === network.kind() && address.match(network, bits)

/**
 * All addresses that are routed on the internet lie here; what stands for something else in it has a range of its own.
 */
const globalUnicast: Network = ipaddr.parseCIDR('2000::/3')

/** Public by its range, but answered by the platform under the machine. */
const hostPlatforms: readonly Network[] = ['168.63.129.16/32'].map(text => ipaddr.parseCIDR(text))

/** An interface id that holds an IPv4 address, which a router of the network would unwrap. Source: RFC 5214, 6.1. */
const isIsatap = (address: ipaddr.IPv6): boolean => {
  const [high = 0, low = 0] = address.parts.slice(4)
  return (high & 0xfdff) === 0 && low === 0x5efe
}

const isPublicAddress = (address: ipaddr.IPv4 | ipaddr.IPv6): boolean => {
  // Ranges that carry an IPv4 address inside (NAT64, 6to4, Teredo) are no unicast, whatever they carry.
  if (address.range() !== 'unicast' || hostPlatforms.some(network => isWithin(address, network))) return false
  return address instanceof ipaddr.IPv4 || (isWithin(address, globalUnicast) && !isIsatap(address))
}

/**
 * Make the rule by which webhooks are dialled: public addresses, and those of the networks (CIDR) that the operator
 * allows.
 * An IPv4 address
 * that is written as IPv6 is judged as what it is. Throws a `RangeError` for text that is no network.
 */
export const addressRule = (allowedNetworks: readonly string[]): AddressRule => {
  const allowed = allowedNetworks.map((text): Network => {
    if (!ipaddr.isValidCIDR(text)) throw new RangeError(`${text} is no network; write one as 10.1.0.0/16`)
    return ipaddr.parseCIDR(text)
  })
  return text => {
    if (!ipaddr.isValid(text)) return false
    const address = ipaddr.process(text)
    return allowed.some(network => isWithin(address, network)) || isPublicAddress(address)
  }
}
