import type { intervalCost } from '../../../contract/costs/energy-cost.ts'
import { numberText } from '../../../contract/json/exact-number.ts'
import type { AnswerOf } from '../../../contract/operation.ts'
import { writeInstant } from '../../../domain/instant.ts'
import { formatDecimal } from '../../../domain/quantity.ts'
import { type Answer, callPatiently, type MessageBody } from '../../../platform/call-service.ts'
import type { FileCosts } from '../../domain/green-button/file-costs.ts'
import type { ImportTarget } from './import-target.ts'

/** Cost of a file, and the stored cost of the same object, direction and time. Costs are decimal texts. */
export type ComparedCost = {
  readonly path: string
  readonly object_id: string
  readonly direction: string
  readonly start_time: string
  readonly end_time: string
  readonly readings: number
  readonly readings_without_cost: number
  readonly file: { readonly cost: string; readonly currency_code: string | null }
  /** Null if the service cannot answer, with the reason in `message`. */
  readonly ours: { readonly cost: string; readonly currency_code: string; readonly unpriced_records: number } | null
  readonly message?: string
}

type CostAnswer = AnswerOf<typeof intervalCost> & MessageBody

/** Return the stored cost of an answer, or the reason why there is none. */
const storedCost = ({ status, body }: Answer<CostAnswer>): Pick<ComparedCost, 'ours' | 'message'> => {
  const [element] = status === 200 ? (body?.data ?? []) : []
  const cost = element?.tariff?.cost.value ?? null
  if (element === undefined || body === null || cost === null)
    return { ours: null, message: body?.message ?? `The service answered ${status}.` }
  const unpriced = element.unpriced_records ?? 0
  return { ours: { cost: numberText(cost), currency_code: body.currency_code, unpriced_records: unpriced } }
}

/** Compare the costs of a file with the stored costs. `location` is the name of the location of the file. */
export const compareCosts = async (
  { client }: Pick<ImportTarget, 'client'>,
  location: string,
  costs: readonly FileCosts[],
  signal: AbortSignal,
): Promise<readonly ComparedCost[]> => {
  const compared: ComparedCost[] = []
  for (const { self, device, direction, currencyCode, cost, start, end, readings, withoutCost } of costs) {
    const id = device === null ? location : 'id' in device ? device.id : `device:${device.reference}`
    const path = `/costs/interval/${encodeURIComponent(id)}?tariff_direction=${direction}`
    const times = { start_time: writeInstant(start), end_time: writeInstant(end) }
    // Without the records of devices, because they have their own meters in the file.
    const own = device === null ? `${path}&include_devices=false` : path
    const answer = await callPatiently(() => client.call<CostAnswer>('POST', own, times), signal)
    compared.push({
      path: self,
      object_id: id,
      direction,
      ...times,
      readings,
      readings_without_cost: withoutCost,
      file: { cost: formatDecimal(cost, 9), currency_code: currencyCode },
      ...storedCost(answer),
    })
  }
  return compared
}

/** Write a comparison as a line of the report. */
export const comparedLine = ({ file, ours, direction, start_time, end_time, ...rest }: ComparedCost): string => {
  const fileText = `${file.cost} ${file.currency_code ?? ''}`.trim()
  const oursText = ours === null ? (rest.message ?? '') : `${ours.cost} ${ours.currency_code}`
  const without = rest.readings_without_cost > 0 ? `, ${rest.readings_without_cost} readings without a cost` : ''
  const unpriced = (ours?.unpriced_records ?? 0) > 0 ? `, ${ours?.unpriced_records} stored records without a price` : ''
  return `  ${direction} ${start_time} to ${end_time}: file ${fileText}, stored ${oursText}${without}${unpriced}`
}
