import { z } from 'zod'
import { refuseField } from './field.ts'

/** Addresses that a browser would run or read instead of going there. */
const refusedSchemes: readonly string[] = [
  'javascript:',
  'data:',
  'file:',
  'blob:',
  'ftp:',
  'vbscript:',
  'about:',
  'view-source:',
  'filesystem:',
]
const longest = 2_048
const controlCharacter = /[\p{Cc}\s]/u

/** An address that a browser is sent to: of the web, or a link into an app. */
export const connectUrl = z
  .string()
  .transform((value, context) => {
    if (value.length > longest) return refuseField(context, 'field_too_long', `must have at most ${longest} characters`)
    if (controlCharacter.test(value) || !URL.canParse(value))
      return refuseField(context, 'field_invalid', 'must be a whole address, such as https://…')
    const { protocol, username, password } = new URL(value)
    if (refusedSchemes.includes(protocol)) return refuseField(context, 'field_invalid', 'must be a web address or a link into an app')
    return username === '' && password === '' ? value : refuseField(context, 'field_invalid', 'must not contain a user name or password')
  })
  .meta({ type: 'string', format: 'uri', maxLength: longest, examples: ['https://app.example.com/done'] })

/** Add the token to an address as `fp_cot`; all else of it stays as it is written, also where its scheme is an app's own. */
export const withToken = (address: string, token: string): string => {
  const [whole = '', ...fragment] = address.split('#')
  const [path = '', ...search] = whole.split('?')
  const others = search.join('?').split('&')
  const kept = others.filter(one => one !== '' && one !== 'fp_cot' && !one.startsWith('fp_cot='))
  const hash = fragment.length === 0 ? '' : `#${fragment.join('#')}`
  return `${path}?${[...kept, `fp_cot=${token}`].join('&')}${hash}`
}
