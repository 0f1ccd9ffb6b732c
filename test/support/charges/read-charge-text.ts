import { chargeBody, readChargeTerms } from '../../../services/contract/charges/read-charge.ts'
import { parseJson } from '../../../services/contract/json/strict-json.ts'
import { readShape } from '../../../services/contract/read-shape.ts'
import type { ChargeTerms } from '../../../services/domain/charge/charge.ts'
import type { Result } from '../../../services/domain/refusal.ts'

/** Read a charge without location from the JSON text of its body, as the service does. */
export const readChargeText = (text: string): Result<ChargeTerms> => {
  const parsed: Result<unknown> = parseJson(new TextEncoder().encode(text))
  if (!parsed.ok) return parsed
  const shaped = readShape(chargeBody, parsed.value, 'body')
  return shaped.ok ? readChargeTerms(shaped.value) : shaped
}
