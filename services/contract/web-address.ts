import { z } from 'zod'
import { refuseField } from './field.ts'

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

/** Create the shape of an address for a browser. `faultOf` returns the message for an invalid address, null for a valid one. */
export const browserUrl = (faultOf: (url: URL) => string | null) =>
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

export const urlSchema = { type: 'string', format: 'uri', maxLength: maxUrlLength } as const

/** Web address: https, or http on this machine. */
export const webAddress = browserUrl(url =>
  isWebUrl(url) ? null : 'must begin with https://, or with http:// and a loopback host',
)
