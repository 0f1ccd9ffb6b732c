import { z } from 'zod'
import { accepted, type Result } from '../../domain/refusal.ts'
import { isWebUrl, webAddress } from '../connect/connect-url.ts'
import { refuseField } from '../field.ts'
import { readShape } from '../read-shape.ts'

/** Origin that a content security policy can contain: no character ends the source or the directive. */
const originPattern = /^https?:\/\/(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::\d{1,5})?$/

/**
 * Return the origin that a content security policy must allow for an image. Null if the address is not a web address
 * (https, or http on this machine), or if a policy cannot contain its host.
 * Source: Content Security Policy Level 3, 2.3.1, https://www.w3.org/TR/CSP3/#grammardef-host-source.
 */
export const imageOrigin = (address: string): string | null => {
  if (!URL.canParse(address)) return null
  const url = new URL(address)
  return isWebUrl(url) && originPattern.test(url.origin) ? url.origin : null
}

/** Maximum number of origins in a policy. Pages do not show images of other origins. */
const maxOrigins = 60

/** Return the `img-src` directive of a page that shows its own images and the images at some addresses. */
export const imageSources = (addresses: readonly (string | null)[]): string => {
  const origins = new Set<string>()
  for (const address of addresses) {
    const origin = address === null ? null : imageOrigin(address)
    if (origin !== null && origins.size < maxOrigins) origins.add(origin)
  }
  return ["img-src 'self' data:", ...[...origins].sort()].join(' ')
}

/** Web addresses of an account that people see next to its name. */
type AccountPages = {
  readonly privacyUrl: string | null
  readonly termsUrl: string | null
  readonly logoUrl: string | null
}

export const accountPageNames = ['privacy_url', 'terms_url', 'logo_url'] as const

export type AccountPageName = (typeof accountPageNames)[number]

const logoUrl = webAddress.transform((value, context) =>
  imageOrigin(value) === null
    ? refuseField(context, 'field_invalid', 'must have a host of letters, digits, dots and hyphens')
    : value,
)

/**
 * Read an address of an account; null for an empty text. Refuses `field_invalid` and `field_too_long` with the field
 * `name`.
 */
export const readAccountPage = (name: AccountPageName, text: string): Result<string | null> => {
  const trimmed = text.trim()
  if (trimmed === '') return accepted(null)
  const read = readShape(z.object({ [name]: name === 'logo_url' ? logoUrl : webAddress }), { [name]: trimmed }, 'body')
  return read.ok ? accepted(trimmed) : read
}

/** Write the addresses of an account. */
export const accountPagesToWire = ({ privacyUrl, termsUrl, logoUrl }: AccountPages) => ({
  privacy_url: privacyUrl,
  terms_url: termsUrl,
  logo_url: logoUrl,
})
