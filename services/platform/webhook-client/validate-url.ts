import { isIP } from 'node:net'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { AddressRule } from './address-rule.ts'

/** Ports of other protocols that browsers block for HTTP. Source: https://fetch.spec.whatwg.org/#port-blocking. */
const badPorts: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
])

const maxUrlLength = 2_048

/** A URL with a host, without parts that URL parsers repair in different ways. */
const plainUrl = /^https?:\/\/[^\s\\/?#]/i

// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters.
const unsafe = /[\s\\\u0000-\u001f\u007f]/

const refuse = (message: string): Result<never> => refused('webhook_url_refused', message, 'url')

/** Return the host of a URL without the brackets of an IPv6 address and without a trailing dot. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')

export const forbiddenHost = refuse(
  'url must have a host with public addresses; the operator can allow others with WATTLEDGER_WEBHOOK_ALLOW_NETWORKS',
)

/**
 * Return whether a name is not public: of this machine, of a local network, or without a domain.
 * Source: RFC 6761, 6762, 8375.
 */
const isReserved = (host: string): boolean =>
  !host.includes('.') || /\.(?:localhost|local|internal|localdomain|home\.arpa)$/.test(host)

const maxLabelLength = 63

/** Addresses, and host names that are not public, which webhooks of a mode can call. */
export type UrlRule = {
  readonly isAllowedAddress: AddressRule
  readonly allowsReservedName: (host: string) => boolean
}

/** Refuse a host name that cannot be public, unless the rule allows it. */
const validateHostName = (host: string, { allowsReservedName }: UrlRule): Result<null> => {
  if (host.length > 253 || host.split('.').some(label => label === '' || label.length > maxLabelLength)) {
    return refuse(`url must have a host of at most 253 characters, with 1 to ${maxLabelLength} between its dots`)
  }
  return isReserved(host) && !allowsReservedName(host) ? forbiddenHost : accepted(null)
}

/**
 * Validate the text of a webhook URL: https (http in test mode), no credentials, no fragment and no port of another
 * protocol.
 * An IP address in any notation must be allowed. A host name must be public or allowed.
 * Returns the normalised URL. The addresses of a host name are validated at each connection.
 * Source: docs/rules/events-and-webhooks.md #addresses.
 */
export const validateUrlText = (text: string, liveMode: boolean, rule: UrlRule): Result<URL> => {
  if (text.length > maxUrlLength) return refuse(`url must have at most ${maxUrlLength} characters`)
  if (!plainUrl.test(text) || unsafe.test(text) || !URL.canParse(text)) {
    return refuse('url must be an absolute address such as https://example.com/webhooks')
  }
  const url = new URL(text)
  if (liveMode && url.protocol !== 'https:') return refuse('url must begin with https:// in live mode')
  if (url.username !== '' || url.password !== '')
    return refuse('url must not contain credentials; verify the signature of each delivery instead')
  if (url.hash !== '') return refuse('url must not have a fragment')
  if (url.port !== '' && badPorts.has(Number(url.port)))
    return refuse(`url must not name port ${url.port}, which belongs to another protocol`)
  const host = hostOf(url)
  if (host === '' || (isIP(host) !== 0 && !rule.isAllowedAddress(host))) return forbiddenHost
  const named = isIP(host) === 0 ? validateHostName(host, rule) : accepted(null)
  return named.ok ? accepted(url) : named
}
