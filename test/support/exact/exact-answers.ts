import { units } from '../ledger/exact-decimal.ts'
import type { Client } from '../system/client.ts'
import { askExactly } from './exact-json.ts'

/** Cost of an answer. All numbers of an answer are texts with the digits of the JSON. */
export type ExactCost = { readonly value: string | null; readonly confidence: string }

export type ExactElement = {
  readonly start_time: string
  readonly end_time: string
  readonly session_reference_id: string | null
  readonly record_reference_id: string | null
  readonly energy: { readonly value: string }
  readonly estimated_energy: { readonly value: string }
  readonly provisional_energy: { readonly value: string }
  readonly tariff: { readonly cost: ExactCost }
  readonly records: string
  readonly unpriced_records?: string
  readonly unpriced_energy?: { readonly value: string }
}

export type ExactEnergyCost = {
  readonly object_id: string
  readonly location_timezone: string
  readonly currency_code: string
  readonly data: readonly ExactElement[]
}

export type ExactPiece = {
  readonly [Name in 'start_time' | 'end_time' | 'energy' | 'price' | 'tier' | 'cost' | 'confidence']: string
}

export type ExactRecord = {
  readonly id: string
  readonly status: string
  readonly energy_submitted: string
  readonly data: { readonly energy: { readonly value: string }; readonly tariff: { readonly cost: ExactCost } }
  readonly tariff_ids: readonly string[]
  readonly pieces: readonly ExactPiece[]
}

/** Half-open interval as RFC 3339 texts. */
export type TextInterval = readonly [start: string, end: string]

/** Request the cost of an object in an interval. */
export const costOfInterval = (
  client: Client,
  id: string,
  [start, end]: TextInterval,
  query = '',
): Promise<ExactEnergyCost> =>
  askExactly(client, 'POST', `/costs/interval/${id}?${query}`, { start_time: start, end_time: end })

/** Return energy (Wh) and cost of the only element, as texts. Throws if there is more or less than one element. */
export const onlyElement = ({ data }: ExactEnergyCost): readonly [energy: string, cost: string | null] => {
  const [element, other] = data
  if (element === undefined || other !== undefined) throw new Error(`Expected 1 element, received ${data.length}.`)
  return [element.energy.value, element.tariff.cost.value]
}

/** Return the exact sums of the elements: energy in 1e-6 Wh, cost in 1e-9. */
export const sumOf = ({ data }: ExactEnergyCost): { readonly energy: bigint; readonly cost: bigint } => ({
  energy: data.reduce((sum, { energy }) => sum + units(energy.value, 6), 0n),
  cost: data.reduce((sum, { tariff }) => sum + units(tariff.cost.value ?? '0', 9), 0n),
})
