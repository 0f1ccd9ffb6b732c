import { z } from 'zod'
import { contrastOnPage, minContrast, readColor, shadeOnLight, writeColor } from '../../domain/brand-color.ts'
import { comparedDecimals } from '../../domain/compared-decimals.ts'
import { accepted, type Result } from '../../domain/refusal.ts'
import type { AccountBrand } from '../../domain/registry/account.ts'
import { orNull, storedMembers } from '../answer-field.ts'
import { clearable, fields, refuseField, text } from '../field.ts'
import { fixedMembers } from '../fixed-member.ts'
import { currentRoute, defineOperation, retrieval } from '../operation.ts'
import { readShape } from '../read-shape.ts'
import { isWebUrl, webAddress } from '../web-address.ts'

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

export const accountBrandNames = ['privacy_url', 'terms_url', 'logo_url', 'brand_color'] as const

export type AccountBrandName = (typeof accountBrandNames)[number]

const logoUrl = webAddress.transform((value, context) =>
  imageOrigin(value) === null
    ? refuseField(context, 'field_invalid', 'must have a host of letters, digits, dots and hyphens')
    : value,
)

/** Colour in lower case. A colour that people cannot read on the page is refused with the nearest one that they can. */
const brandColor = z.string().transform((value, context) => {
  const color = readColor(value)
  if (color === null) return refuseField(context, 'field_invalid', 'must be a colour such as #0a5c3e')
  const contrast = contrastOnPage(color)
  if (contrast >= minContrast) return writeColor(color)
  const [needed, found] = [minContrast, contrast].map(ratio => BigInt(Math.floor(ratio * 1e6))) as [bigint, bigint]
  const texts = comparedDecimals(needed, found, { scale: 6, decimals: 1 })
  return refuseField(
    context,
    'field_invalid',
    `must be darker: its contrast with the page is ${texts.found}, and at least ${texts.stated} is needed. Use ${writeColor(shadeOnLight(color))}`,
  )
})

/** Shapes of the members, by name. */
const brandMembers = { privacy_url: webAddress, terms_url: webAddress, logo_url: logoUrl, brand_color: brandColor }

/**
 * Read a member of the brand; null for an empty text. Refuses `field_invalid` and `field_too_long` with the field
 * `name`.
 */
export const readAccountBrand = (name: AccountBrandName, text: string): Result<string | null> => {
  const trimmed = text.trim()
  if (trimmed === '') return accepted(null)
  const read = readShape(z.object({ [name]: brandMembers[name] }), { [name]: trimmed }, 'body')
  return read.ok ? accepted(read.value[name] ?? null) : read
}

/** Write the brand of an account. */
export const accountBrandToWire = ({ privacyUrl, termsUrl, logoUrl, brandColor: color }: AccountBrand) => ({
  privacy_url: privacyUrl,
  terms_url: termsUrl,
  logo_url: logoUrl,
  brand_color: color,
})

const brandShape = z.object({
  object: z.literal('account_brand'),
  account_id: storedMembers.account_id,
  display_name: z.string().describe('Name of the account.'),
  privacy_url: orNull(z.string()).describe('Address of the privacy notice.'),
  terms_url: orNull(z.string()).describe('Address of the terms of use.'),
  logo_url: orNull(z.string()).describe('Address of the logo. The browser of the person loads it.'),
  brand_color: orNull(z.string()).describe('Colour of buttons and links. Dark pages use a lighter shade.'),
})

export type AccountBrandWire = z.output<typeof brandShape>

/** Write the brand of a stored account with its name. */
export const namedBrandToWire = (
  account: AccountBrand & { readonly id: string; readonly displayName: string },
): AccountBrandWire => ({
  object: 'account_brand',
  account_id: account.id,
  display_name: account.displayName,
  ...accountBrandToWire(account),
})

const example: AccountBrandWire = {
  object: 'account_brand',
  account_id: 'acc_0198c0ffee00112233445566',
  display_name: 'Volt Energy',
  privacy_url: 'https://volt.example/privacy',
  terms_url: 'https://volt.example/terms',
  logo_url: 'https://cdn.volt.example/logo.svg',
  brand_color: '#0a5c3e',
}

const answer = { name: 'AccountBrand', shape: brandShape }
export const accountBrandRetrieve = defineOperation({
  id: 'account_brand_retrieve',
  summary: 'Retrieve the brand of your account',
  description:
    'Returns the name, logo, colour and links that the pages of Connect show. Both modes have the same brand.',
  tag: 'Account',
  ...retrieval(answer, example),
  routes: currentRoute('GET', '/account/brand'),
})

export const accountBrandUpdate = defineOperation({
  id: 'account_brand_update',
  auditAction: 'account.update',
  summary: 'Change the brand of your account',
  description:
    'Changes what the pages of Connect show. Absent members stay; null removes a value. Only live mode may change the brand, because both modes have the same.',
  tag: 'Account',
  access: 'all',
  routes: currentRoute('PATCH', '/account/brand'),
  body: fields({
    ...fixedMembers(brandShape),
    display_name: text().optional(),
    privacy_url: clearable(webAddress),
    terms_url: clearable(webAddress),
    logo_url: clearable(logoUrl),
    brand_color: clearable(brandColor).describe(
      `Colour such as #0a5c3e, with a contrast of at least ${minContrast} to the page.`,
    ),
  }),
  answer,
  status: 200,
  refusals: ['field_immutable', 'insufficient_scope'],
  examples: { body: { brand_color: '#0a5c3e' }, answer: example },
})
