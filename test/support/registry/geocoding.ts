import { expect } from 'vitest'
import type { GeoPlace, PostalAddress } from '../../../services/domain/geocoding/geo-place.ts'
import { geocode } from '../../../services/platform/geocoding/geocode.ts'

/** Geocode an address. Fails the test if the address is refused. */
export function geocodeOrFail(address: PostalAddress): GeoPlace {
  const result = geocode(address)
  return result.ok ? result.value : expect.fail(result.refusal.message)
}

/** Geocode a city from a text: `Portland, ME, US`. */
export function geocodeTextOrFail(text: string): GeoPlace {
  const parts = text.split(', ')
  return geocodeOrFail({
    city: parts[0],
    state: parts.length > 2 ? parts[1] : undefined,
    country_code: parts.at(-1) ?? '',
  })
}
