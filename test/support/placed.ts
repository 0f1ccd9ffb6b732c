import { expect } from 'vitest'
import { type Place, type PostalAddress, placeOf } from '../../services/platform/place/place.ts'

/** Place an address that can be placed. */
export function placed(address: PostalAddress): Place {
  const result = placeOf(address)
  return result.ok ? result.value : expect.fail(result.refusal.message)
}

/** Place a city by its text alone: `Portland, ME, US`. */
export function placedText(text: string): Place {
  const parts = text.split(', ')
  return placed({ city: parts[0], state: parts.length > 2 ? parts[1] : undefined, country_code: parts.at(-1) ?? '' })
}
