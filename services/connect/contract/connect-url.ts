import { browserUrl, urlSchema, webAddress } from '../../contract/web-address.ts'

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
