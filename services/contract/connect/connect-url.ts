import { z } from 'zod'
import { refuseField } from '../field.ts'

/**
 * Refused schemes: the browser or system would run a script, read a file or open another program, not the caller's app.
 */
const refusedSchemes: ReadonlySet<string> = new Set(
  [
    ...[
      'javascript',
      'vbscript',
      'livescript',
      'data',
      'file',
      'blob',
      'filesystem',
      'view-source',
      'about',
      'jar',
      'mhtml',
      'res',
    ],
    ...[
      'resource',
      'chrome',
      'chrome-extension',
      'moz-extension',
      'edge',
      'intent',
      'android-app',
      'content',
      'ws',
      'wss',
      'ftp',
      'sftp',
    ],
    ...['ssh', 'telnet', 'gopher', 'ldap', 'smb', 'news', 'nntp', 'mailto', 'tel', 'sms'],
  ].map(name => `${name}:`),
)
const maxUrlLength = 2_048
const controlCharacter = /[\p{Cc}\s]/u

/** True if a host is this machine: localhost and its subdomains, 127.0.0.0/8, ::1. Source: RFC 6761, 6.3. */
const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' ||
  hostname.endsWith('.localhost') ||
  hostname === '[::1]' ||
  /^127(?:\.\d{1,3}){3}$/.test(hostname)

/** True for a web address: https, or http on this machine. */
export const isWebUrl = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))

/** Address for a browser. `faultOf` returns the message for an invalid address, null for a valid one. */
const browserUrl = (faultOf: (url: URL) => string | null) =>
  z.string().transform((value, context) => {
    if (value.length > maxUrlLength)
      return refuseField(context, 'field_too_long', `must have at most ${maxUrlLength} characters`)
    if (controlCharacter.test(value) || !URL.canParse(value))
      return refuseField(context, 'field_invalid', 'must be a complete address, such as https://example.com/page')
    const url = new URL(value)
    const fault = faultOf(url)
    if (fault !== null) return refuseField(context, 'field_invalid', fault)
    return url.username === '' && url.password === ''
      ? value
      : refuseField(context, 'field_invalid', 'must not contain a user name or password')
  })

const urlSchema = { type: 'string', format: 'uri', maxLength: maxUrlLength } as const

/** Web address: https, or http on this machine. */
export const webAddress = browserUrl(url =>
  isWebUrl(url) ? null : 'must begin with https://, or with http:// and a loopback host',
)

/** Address to which the browser returns after a login at a provider. Source: docs/rules/connect.md #token. */
export const connectUrl = webAddress.meta({
  ...urlSchema,
  examples: ['https://app.example.com/connect'],
})

/**
 * Address to which the browser goes at the end: a web address or a link into an app. Source: docs/rules/connect.md
 * #token.
 */
export const callbackUrl = browserUrl(({ protocol }) =>
  refusedSchemes.has(protocol) ? 'must be a web address or a link into an app' : null,
).meta({ ...urlSchema, examples: ['https://app.example.com/done'] })

/** Add the token to an address as `fp_cot`. The rest of the address does not change, also with the scheme of an app. */
export const withToken = (address: string, token: string): string => {
  const [withoutFragment = '', ...fragment] = address.split('#')
  const [path = '', ...search] = withoutFragment.split('?')
  const others = search.join('?').split('&')
  const otherParameters = others.filter(one => one !== '' && one !== 'fp_cot' && !one.startsWith('fp_cot='))
  const hash = fragment.length === 0 ? '' : `#${fragment.join('#')}`
  return `${path}?${[...otherParameters, `fp_cot=${token}`].join('&')}${hash}`
}

/** Return the paths of the Connect flow: `/connect`, and the path that the operator chose. */
export const connectPathsOf = (path: string): readonly string[] => [...new Set(['/connect', path])]
