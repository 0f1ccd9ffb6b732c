import type { TariffDirection } from '../../../domain/tariff/tariff.ts'
import type { ConsoleRequest } from '../console-request.ts'
import type { CostWire } from '../costs/cost-view.ts'
import { exactText, sumTexts } from './amount.ts'

/** Number and energy in Wh of records, as decimal texts. */
type Records = { readonly records: string; readonly wattHours: string }

const tenYearsMs = 3_650 * 86_400_000

/**
 * Count the stored records of a location or device in a direction, between two instants; null is open. Zero if the first
 * instant is in the future, null if the API refuses.
 */
export const storedRecords = async (
  { api, at }: Pick<ConsoleRequest, 'api' | 'at'>,
  id: string,
  direction: TariffDirection,
  from: string | null,
  to: string | null,
): Promise<Records | null> => {
  const start = from ?? new Date(at - tenYearsMs + 86_400_000).toISOString()
  const end = to !== null && Date.parse(to) < at ? to : new Date(at).toISOString()
  if (Date.parse(start) >= Date.parse(end)) return { records: '0', wattHours: '0' }
  const costs = await api<CostWire>('POST', `/costs/interval/${id}?tariff_direction=${direction}`, {
    ...{ start_time: start, end_time: end },
  })
  if (!costs.ok) return null
  const { data } = costs.value
  return {
    records: sumTexts(data.map(one => exactText(one.records))),
    wattHours: sumTexts(data.flatMap(one => [one.energy.value, one.unpriced_energy?.value ?? 0].map(exactText))),
  }
}
