import { z } from 'zod'
import { exampleObject, idText, objectShape, objectToWire, orNull } from '../answer-field.ts'
import { oneOf } from '../field.ts'
import { listEnvelope, listParameters } from '../list.ts'
import { defineOperation, sameRoute } from '../operation.ts'
import { countryCode } from './postal-address.ts'

/** Initials of a provider without a logo: the first letters of its first two words, in capitals. */
const initialsOf = (name: string): string => {
  const words = name.match(/[\p{L}\p{N}]+/gu) ?? []
  const letters = words.slice(0, 2).flatMap(word => [...word].slice(0, 1))
  return letters.length === 0 ? '?' : letters.join('').toLocaleUpperCase('en')
}

/** Background colour of the initials, derived from the name. */
const colourOf = (name: string): string => {
  let sum = 0
  for (const letter of name) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 360
  return `hsl(${sum} 35% 38%)`
}

/**
 * Return the logo address of a provider, or a `data:` address of an SVG with its initials, because clients always show
 * an image. Source: docs/rules/connect.md #pages.
 */
export const logoUrlOf = ({
  displayName,
  logoUrl,
}: {
  readonly displayName: string
  readonly logoUrl: string | null
}): string => {
  if (logoUrl !== null) return logoUrl
  const svg = [
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">',
    `<rect width="64" height="64" rx="12" fill="${colourOf(displayName)}"/>`,
    '<text x="32" y="33" dominant-baseline="central" text-anchor="middle" font-family="sans-serif" font-size="26" fill="#fff">',
    `${initialsOf(displayName)}</text></svg>`,
  ].join('')
  return `data:image/svg+xml,${encodeURIComponent(svg)}`
}

const addressTypes = ['RESIDENTIAL', 'COMMERCIAL'] as const

const providerShape = objectShape('prv', 'provider', {
  display_name: z.string(),
  logo_url: orNull(z.string()),
  countries: z.array(z.string()).describe('ISO 3166-1 alpha-2, in capitals.'),
  address_types: z.array(z.enum(addressTypes)).describe('Types of addresses that the provider supplies.'),
  direct: z.boolean().describe('True if people connect by a login at the provider.'),
}).extend({
  account_id: orNull(idText('acc')).describe('Always null, because all accounts share the providers.'),
})

/** Energy provider in one mode. Empty address types mean all types. `createdAt` in ms. */
export type Provider = {
  readonly id: string
  readonly liveMode: boolean
  readonly displayName: string
  readonly logoUrl: string | null
  readonly countries: readonly string[]
  readonly addressTypes: readonly (typeof addressTypes)[number][]
  readonly isDirect: boolean
  readonly createdAt: number
}

/** Write a provider. */
export const providerToWire = (provider: Provider): z.output<typeof providerShape> =>
  objectToWire(
    'provider',
    { ...provider, accountId: null },
    {
      display_name: provider.displayName,
      logo_url: provider.logoUrl,
      countries: [...provider.countries],
      address_types: [...(provider.addressTypes.length === 0 ? addressTypes : provider.addressTypes)],
      direct: provider.isDirect,
    },
  )

export const providerList = defineOperation({
  id: 'provider_list',
  summary: 'List providers',
  description:
    'The energy providers of Connect, ordered by descending id. All accounts and modes have the same providers, which the operator maintains. The provider_id of a tariff is the id of a provider.',
  tag: 'Connect',
  access: 'read',
  routes: sameRoute('GET', '/providers'),
  query: listParameters({
    country_code: countryCode.optional().describe('Only providers of this country.'),
    postal_address_type: oneOf(...addressTypes)
      .optional()
      .describe('Only providers that supply addresses of this type.'),
  }),
  answer: { name: 'ProviderList', shape: listEnvelope(providerShape) },
  status: 200,
  refusals: ['cursor_not_found'],
  examples: {
    answer: {
      object: 'list',
      url: '/providers',
      has_more: false,
      data: [
        providerToWire({
          ...exampleObject('prv'),
          displayName: 'Example Energy',
          logoUrl: 'https://example.com/logo.svg',
          countries: ['DE'],
          addressTypes: [],
          isDirect: false,
        }),
      ],
    },
  },
})
