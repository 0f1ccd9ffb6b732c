import { z } from 'zod'
import { accepted, type Result } from '../../domain/refusal.ts'
import { webAddress } from '../connect/connect-url.ts'
import { refuseField } from '../field.ts'
import { readShape } from '../read-shape.ts'
import { imageOrigin } from './image-origin.ts'

/** Addresses of an account that people see beside its name; null: none. */
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

/** Return an address of an account; an empty text is none. Refuses `field_invalid` and `field_too_long`, with `name` as the field. */
export const readAccountPage = (name: AccountPageName, text: string): Result<string | null> => {
  const trimmed = text.trim()
  if (trimmed === '') return accepted(null)
  const read = readShape(z.object({ [name]: name === 'logo_url' ? logoUrl : webAddress }), { [name]: trimmed }, 'body')
  return read.ok ? accepted(trimmed) : read
}

/** Write the addresses of an account in the words of the API. */
export const accountPagesToWire = ({ privacyUrl, termsUrl, logoUrl }: AccountPages) => ({
  privacy_url: privacyUrl,
  terms_url: termsUrl,
  logo_url: logoUrl,
})
