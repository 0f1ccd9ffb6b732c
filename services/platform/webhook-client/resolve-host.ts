import { Resolver } from 'node:dns/promises'

/** Finds the addresses of a host; rejects where there are none, or nobody tells. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>

const localhost = ['127.0.0.1', '::1']

/**
 * Resolve by the name servers of the machine.
 * Unlike the system's look-up it takes no thread, so that a host whose name servers are dead
 * keeps nobody waiting; the hosts file is not read. Names under `localhost` are this machine. Source: RFC 6761, 6.3.
 */
export const systemResolver = (): ResolveHost => {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  return async hostname => {
    if (hostname === 'localhost' || hostname.endsWith('.localhost')) return localhost
    const found = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const addresses = found.flatMap(one => (one.status === 'fulfilled' ? one.value : []))
    const [first] = found
    if (addresses.length === 0)
      throw first?.status === 'rejected' ? first.reason : new Error(`${hostname} has no address`)
    return addresses
  }
}
