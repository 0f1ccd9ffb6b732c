import { Resolver } from 'node:dns/promises'

/** Resolves the addresses of a host. Rejects if there are none or the name servers fail. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>

const localhost = ['127.0.0.1', '::1']

/**
 * Create a resolver that asks the name servers of the machine. It does not read the hosts file.
 * Unlike the look-up of the system it uses no thread, so that dead name servers of one host do not delay others.
 * Names under `localhost` are this machine. Source: RFC 6761, 6.3.
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
