import { exactNumber, type JsonNumber, numberText } from '../../contract/json/exact-number.ts'
import type { Outcome } from '../../contract/operation.ts'

/** `JSON.parse` of this engine: the reviver also receives the text of a value. */
const { parse: parseJson } = JSON as unknown as {
  readonly parse: (
    text: string,
    reviver: (name: string, value: unknown, context: { readonly source: string }) => unknown,
  ) => unknown
}

/** Read the JSON of an answer. Numbers keep their text. */
export const jsonOf = async ({
  serialized,
  value,
}: Extract<Outcome<unknown>, { readonly ok: true }>): Promise<unknown> => {
  const text =
    serialized === undefined
      ? JSON.stringify(value)
      : 'bytes' in serialized
        ? Buffer.from(serialized.bytes).toString()
        : Buffer.concat(await Array.fromAsync(serialized.chunks)).toString()
  return parseJson(text, (_, one, { source }) => (typeof one === 'number' ? exactNumber(source) : one))
}

type CostElement = {
  readonly start_time: string
  readonly end_time: string
  readonly energy: { readonly value: JsonNumber }
  readonly estimated_energy: { readonly value: JsonNumber }
  readonly provisional_energy: { readonly value: JsonNumber }
  readonly tariff?: { readonly cost: { readonly value: JsonNumber | null; readonly confidence: JsonNumber } }
  readonly unpriced_records?: JsonNumber
}

const costLine = (element: CostElement): string => {
  const { start_time, end_time, energy, tariff, unpriced_records } = element
  const cost = tariff?.cost.value ?? null
  const row = {
    start_time,
    end_time,
    energy_wh: numberText(energy.value),
    cost: cost === null ? null : numberText(cost),
    confidence: numberText(tariff?.cost.confidence ?? 0),
    unpriced_records: unpriced_records ?? 0,
    estimated_energy_wh: numberText(element.estimated_energy.value),
    provisional_energy_wh: numberText(element.provisional_energy.value),
  }
  return `${JSON.stringify(row)}\n`
}

/** Return the currency of a cost answer, and its elements as lines of JSON that the engine reads without loss. */
export const costLinesOf = (answer: unknown): { readonly currency: string; readonly elements: readonly string[] } => {
  const { data, currency_code: currency } = answer as {
    readonly currency_code: string
    readonly data: readonly CostElement[]
  }
  return { currency, elements: data.map(costLine) }
}
