import { Resolver } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import type { Agent, buildConnector } from 'undici'
import { accepted, type Result } from '../../domain/refusal.ts'
import { Failure } from '../failure.ts'
import { type AddressRule, addressRule, loopbackNetworks } from './address-rule.ts'
import { attemptError, readAnswer } from './answer.ts'
import { forbiddenHost, hostOf, type UrlRule, validateUrlText } from './validate-url.ts'

/** Resolves the addresses of a host. Rejects if there are none or the name servers fail. */
type ResolveHost = (hostname: string) => Promise<readonly string[]>

const localhost = ['127.0.0.1', '::1']

const isLocalhost = (hostname: string): boolean => hostname === 'localhost' || hostname.endsWith('.localhost')

/**
 * Create a resolver that asks the name servers of the machine. It does not read the hosts file.
 * Unlike the look-up of the system it uses no thread, so that dead name servers of one host do not delay others.
 * Names under `localhost` are this machine. Source: RFC 6761, 6.3.
 */
const systemResolver = (): ResolveHost => {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  return async hostname => {
    if (isLocalhost(hostname)) return localhost
    const found = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const addresses = found.flatMap(one => (one.status === 'fulfilled' ? one.value : []))
    const [first] = found
    if (addresses.length === 0)
      throw first?.status === 'rejected' ? first.reason : new Error(`${hostname} has no address`)
    return addresses
  }
}

/** POST request to a subscriber. */
export type Post = {
  readonly url: string
  readonly liveMode: boolean
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

/**
 * Result of a POST: a status, or an `error` without a status. `body` has the first 16 KiB of the answer.
 * `isCut`: the answer was longer.
 */
export type PostOutcome = {
  readonly status: number | null
  readonly error: string | null
  readonly retryAfter: string | null
  readonly body: string
  readonly isCut: boolean
  readonly durationMs: number
}

export type WebhookHttpClient = AsyncDisposable & {
  /** Load the HTTP package. Otherwise the first POST loads it and blocks the process for 50 ms. */
  readonly prepare: () => Promise<void>
  /**
   * Validate a URL and all current addresses of its host.
   * A host without an address now is validated at each connection only.
   */
  readonly validateUrl: (url: string, liveMode: boolean) => Promise<Result<string>>
  /** Validate the URL again and send a POST. Redirects are not followed. Never rejects. */
  readonly post: (request: Post) => Promise<PostOutcome>
}

export type WebhookHttpClientOptions = {
  /** Networks (CIDR) that are allowed in addition to public addresses. */
  readonly allowedNetworks: readonly string[]
  /** True if test mode may call this machine: its loopback addresses, and names under `localhost`. */
  readonly allowsLoopbackInTest?: boolean
  readonly resolve?: ResolveHost
  /** Called with a host that is refused because its addresses are not public. */
  readonly onForbidden?: (host: string) => void
  /** Time limit of a POST in ms, from the DNS look-up to the end of the answer. */
  readonly timeoutMs?: number
}

const defaultTimeoutMs = 15_000
const connectTimeoutMs = 10_000
const resolveTimeoutMs = 2_000

const forbidden = (host: string): Failure =>
  new Failure('address_forbidden', `${host} has no allowed address. Use a host with public addresses.`)

/** Create a DNS look-up that returns only allowed addresses. */
const guardedLookup =
  (resolve: ResolveHost, isAllowedAddress: AddressRule): LookupFunction =>
  (hostname, options, callback) => {
    resolve(hostname.replace(/\.$/, ''))
      .then(found => {
        const addresses = found.filter(isAllowedAddress).map(address => ({ address, family: isIP(address) }))
        const [first] = addresses
        if (first === undefined) throw forbidden(hostname)
        if (options.all === true) callback(null, addresses)
        else callback(null, first.address, first.family)
      })
      .catch((error: Error) => callback(error, ''))
  }

const guardedConnector =
  (connect: buildConnector.connector, isAllowedAddress: AddressRule): buildConnector.connector =>
  (options, callback) => {
    // An IP address in the URL is used without a look-up.
    if (isIP(options.hostname) !== 0 && !isAllowedAddress(options.hostname)) {
      callback(forbidden(options.hostname), null)
      return
    }
    connect(options, (...outcome) => {
      const [error, socket] = outcome
      if (error === null && !isAllowedAddress(socket.remoteAddress ?? '')) {
        socket.destroy()
        callback(forbidden(options.hostname), null)
        return
      }
      callback(...outcome)
    })
  }

/** Create the HTTP agent. Its package is imported on demand, because it takes 5 % of the start time. */
const createAgent = async (resolve: ResolveHost, isAllowedAddress: AddressRule, timeoutMs: number): Promise<Agent> => {
  const { Agent, buildConnector } = await import('undici')
  const connect = buildConnector({
    lookup: guardedLookup(resolve, isAllowedAddress),
    timeout: connectTimeoutMs,
    rejectUnauthorized: true,
    allowH2: false,
  } as buildConnector.BuildOptions)
  return new Agent({
    connect: guardedConnector(connect, isAllowedAddress),
    connections: null,
    pipelining: 1,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxHeaderSize: 16_384,
  })
}

/** Rule and agent of a mode. Modes share no connection, because one mode may call addresses that the other may not. */
type ModeClient = { readonly rule: UrlRule; readonly agent: () => Promise<Agent>; readonly close: () => Promise<void> }

const openModeClient = (rule: UrlRule, resolve: ResolveHost, timeoutMs: number): ModeClient => {
  let agent: Promise<Agent> | null = null
  return {
    rule,
    agent: () => {
      agent ??= createAgent(resolve, rule.isAllowedAddress, timeoutMs)
      return agent
    },
    close: async () => (await agent)?.destroy(),
  }
}

/** Create the rule of a mode. With networks of the operator, names of private networks are validated by their addresses. */
const modeRule = (networks: readonly string[], allowsLoopback: boolean): UrlRule => ({
  isAllowedAddress: addressRule(allowsLoopback ? [...networks, ...loopbackNetworks] : networks),
  allowsReservedName: host => networks.length > 0 || (allowsLoopback && isLocalhost(host)),
})

/**
 * Open the HTTP client for subscribers. It validates the address of each connection and reuses connections.
 * It verifies certificates, does not follow redirects, and ignores proxy settings of the environment.
 * Source: docs/rules/events-and-webhooks.md #addresses.
 */
export const openWebhookHttpClient = (options: WebhookHttpClientOptions): WebhookHttpClient => {
  const { resolve = systemResolver(), timeoutMs = defaultTimeoutMs, onForbidden = () => undefined } = options
  const { allowedNetworks, allowsLoopbackInTest = false } = options
  const live = openModeClient(modeRule(allowedNetworks, false), resolve, timeoutMs)
  const test = openModeClient(modeRule(allowedNetworks, allowsLoopbackInTest), resolve, timeoutMs)
  const modeClient = (liveMode: boolean): ModeClient => (liveMode ? live : test)
  const send = async (request: Post): Promise<Omit<PostOutcome, 'durationMs'>> => {
    const { rule, agent } = modeClient(request.liveMode)
    const validated = validateUrlText(request.url, request.liveMode, rule)
    if (!validated.ok) throw new Failure('address_forbidden', validated.refusal.message)
    const { origin, pathname, search } = validated.value
    const open = await agent()
    const signal = AbortSignal.timeout(timeoutMs)
    const { headers, body } = request
    const answer = await open.request({ origin, path: pathname + search, method: 'POST', headers, body, signal })
    return readAnswer(answer)
  }
  return {
    prepare: async () => void (await Promise.all([live.agent(), test.agent()])),
    validateUrl: async (text, liveMode) => {
      const { rule } = modeClient(liveMode)
      const validated = validateUrlText(text, liveMode, rule)
      if (validated === forbiddenHost) onForbidden(hostOf(new URL(text)))
      if (!validated.ok) return validated
      const host = hostOf(validated.value)
      const known = isIP(host) === 0 ? await waitUpTo(resolve(host), resolveTimeoutMs) : null
      if (known === null || known.every(rule.isAllowedAddress)) return accepted(validated.value.href)
      onForbidden(host)
      return forbiddenHost
    },
    post: async request => {
      const startedAt = performance.now()
      const outcome = await send(request).catch(error => ({
        status: null,
        error: attemptError(error),
        retryAfter: null,
        body: '',
        isCut: false,
      }))
      return { ...outcome, durationMs: Math.round(performance.now() - startedAt) }
    },
    [Symbol.asyncDispose]: async () => void (await Promise.all([live.close(), test.close()])),
  }
}

/** Return the value of a promise. Null if it rejects or exceeds the time limit. */
const waitUpTo = async <T>(promise: Promise<T>, ms: number): Promise<T | null> => {
  const { promise: late, resolve } = Promise.withResolvers<null>()
  const timer = setTimeout(resolve, ms, null)
  try {
    return await Promise.race([promise.catch(() => null), late])
  } finally {
    clearTimeout(timer)
  }
}
