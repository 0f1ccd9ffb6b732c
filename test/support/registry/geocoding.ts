import { expect } from 'vitest'
import type { GeoPlace, PostalAddress } from '../../../services/domain/geocoding/geo-place.ts'
import { geocode } from '../../../services/platform/geocoding/geocode.ts'

/** Place an address that can be placed. */
export function geocodeOrFail(address: PostalAddress): GeoPlace {
  const result = geocode(address)
  return result.ok ? result.value : expect.fail(result.refusal.message)
}

/** Place a city by its text alone: `Portland, ME, US`. */
export function geocodeTextOrFail(text: string): GeoPlace {
  const parts = text.split(', ')
  return geocodeOrFail({
    city: parts[0],
    state: parts.length > 2 ? parts[1] : undefined,
    country_code: parts.at(-1) ?? '',
  })
}
