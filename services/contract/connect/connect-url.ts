import { z } from 'zod'
import { refuseField } from '../field.ts'

/** Schemes that make a browser or a system run, read or open something of its own instead of an app of the caller. */
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

/** Tell whether a host is this machine: localhost and names under it, 127.0.0.0/8, ::1. Source: RFC 6761, 6.3. */
const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' ||
  hostname.endsWith('.localhost') ||
  hostname === '[::1]' ||
  /^127(?:\.\d{1,3}){3}$/.test(hostname)

/** Tell whether an address is one of the web: https, or http on this machine. */
export const isWebUrl = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))

/** An address that a browser is sent to; `faultOf` says what is wrong with it, null for nothing. */
const browserUrl = (faultOf: (url: URL) => string | null) =>
  z.string().transform((value, context) => {
    if (value.length > maxUrlLength)
      return refuseField(context, 'field_too_long', `must have at most ${maxUrlLength} characters`)
    if (controlCharacter.test(value) || !URL.canParse(value))
      return refuseField(context, 'field_invalid', 'must be a whole address, such as https://example.com/page')
    const url = new URL(value)
    const fault = faultOf(url)
    if (fault !== null) return refuseField(context, 'field_invalid', fault)
    return url.username === '' && url.password === ''
      ? value
      : refuseField(context, 'field_invalid', 'must not contain a user name or password')
  })

const urlSchema = { type: 'string', format: 'uri', maxLength: maxUrlLength } as const

/** An address of the web: https, or http on this machine. */
export const webAddress = browserUrl(url =>
  isWebUrl(url) ? null : 'must begin with https://, or with http:// and a loopback host',
)

/** Where the browser returns after a login at a provider. Source: docs/rules/connect.md #token. */
export const connectUrl = webAddress.meta({
  ...urlSchema,
  examples: ['https://app.example.com/connect'],
})

/** Where the browser goes at the end: an address of the web, or a link into an app. Source: docs/rules/connect.md #token. */
export const callbackUrl = browserUrl(({ protocol }) =>
  refusedSchemes.has(protocol) ? 'must be a web address or a link into an app' : null,
).meta({ ...urlSchema, examples: ['https://app.example.com/done'] })

/** Add the token to an address as `fp_cot`; all else of it stays as it is written, also where its scheme is an app's own. */
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
