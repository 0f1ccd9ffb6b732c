import { type JsonNumber, numberText } from '../../contract/json/exact-number.ts'
import { writeInstant } from '../../domain/instant.ts'
import type { FileCosts } from '../../domain/interchange/green-button/file-costs.ts'
import { formatDecimal } from '../../domain/quantity.ts'
import { callPatiently } from '../../reading-import/call-service.ts'
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

type CostWire = {
  readonly currency_code: string
  readonly message?: string
  readonly data: readonly {
    readonly unpriced_records?: number
    readonly tariff: { readonly cost: { readonly value: JsonNumber } }
  }[]
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
    const answer = await callPatiently(() => client.call<CostWire>('POST', own, times), signal)
    const [element] = answer.status === 200 ? (answer.body?.data ?? []) : []
    compared.push({
      ...{ path: self, object_id: id, direction, ...times, readings, readings_without_cost: withoutCost },
      file: { cost: formatDecimal(cost, 9), currency_code: currencyCode },
      ...(element === undefined || answer.body === null
        ? { ours: null, message: answer.body?.message ?? `The service answered ${answer.status}.` }
        : {
            ours: {
              ...{ cost: numberText(element.tariff.cost.value), currency_code: answer.body.currency_code },
              unpriced_records: element.unpriced_records ?? 0,
            },
          }),
    })
  }
  return compared
}

/** Write a comparison as a line of the report. */
export const comparedLine = ({ file, ours, direction, start_time, end_time, ...rest }: ComparedCost): string => {
  const fileText = `${file.cost} ${file.currency_code ?? ''}`.trim()
  const oursText = ours === null ? (rest.message ?? '') : `${ours.cost} ${ours.currency_code}`
  const without = rest.readings_without_cost > 0 ? `, ${rest.readings_without_cost} readings without a cost` : ''
  return `  ${direction} ${start_time} to ${end_time}: file ${fileText}, stored ${oursText}${without}`
}
