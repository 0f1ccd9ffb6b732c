import { z } from 'zod'
import { writeInstant } from '../../domain/instant.ts'
import { idText, orNull, storedMembers } from '../answer-field.ts'
import { word } from '../field.ts'
import { listEnvelope, listParameters } from '../list.ts'
import { defineOperation, sameRoute } from '../operation.ts'
import { countryCode } from './postal-address.ts'

const addressTypes = ['RESIDENTIAL', 'COMMERCIAL'] as const

const providerShape = z.object({
  id: idText('prv'),
  object: z.literal('provider'),
  live_mode: storedMembers.live_mode,
  display_name: z.string(),
  logo_url: orNull(z.string()),
  countries: z.array(z.string()).describe('ISO 3166-1 alpha-2, in capitals.'),
  address_types: z.array(z.enum(addressTypes)).describe('The kinds of addresses that it serves.'),
  direct: z.boolean().describe('Whether people connect by logging in at the supplier.'),
  time_created: storedMembers.time_created,
  account_id: orNull(idText('acc')).describe('Null: the operator keeps suppliers for all accounts.'),
})

/** A supplier of energy, seen in one mode. Without address types it serves all. `createdAt` in ms. */
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

/** Write a supplier for the wire. */
export const providerToWire = (provider: Provider): z.output<typeof providerShape> => ({
  id: provider.id,
  object: 'provider',
  live_mode: provider.liveMode,
  display_name: provider.displayName,
  logo_url: provider.logoUrl,
  countries: [...provider.countries],
  address_types: [...(provider.addressTypes.length === 0 ? addressTypes : provider.addressTypes)],
  direct: provider.isDirect,
  time_created: writeInstant(provider.createdAt),
  account_id: null,
})

export const providerList = defineOperation({
  id: 'provider_list',
  summary: 'List providers',
  description:
    'The suppliers of energy that Connect offers, in descending order of their ids. The same for every account and mode; the operator keeps them. Their ids are the provider_id of tariffs.',
  tag: 'Connect',
  access: 'read',
  routes: sameRoute('GET', '/providers'),
  query: listParameters({
    country_code: countryCode.optional().describe('Only suppliers of this country.'),
    postal_address_type: word(...addressTypes)
      .optional()
      .describe('Only suppliers that serve addresses of this kind.'),
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
          id: 'prv_0198c0ffee00112233445566',
          liveMode: false,
          displayName: 'Example Energy',
          logoUrl: 'https://example.com/logo.svg',
          countries: ['DE'],
          addressTypes: [],
          isDirect: false,
          createdAt: 1_757_844_000_000,
        }),
      ],
    },
  },
})
