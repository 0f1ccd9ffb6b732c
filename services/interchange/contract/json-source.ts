import { isExactNumber, numberText } from '../../contract/json/exact-number.ts'
import { parseJson } from '../../contract/json/strict-json.ts'
import { accepted, type Result } from '../../domain/refusal.ts'
import { type SourceValue, sourceNumber } from '../domain/source-value.ts'

const toSource = (value: unknown): SourceValue => {
  if (typeof value === 'number' || isExactNumber(value)) return sourceNumber(numberText(value))
  if (Array.isArray(value)) return value.map(toSource)
  if (typeof value !== 'object' || value === null) return value as SourceValue
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, toSource(member)]))
}

/** Parse a JSON file. Numbers keep their texts. Refuses `body_invalid` with line and column. */
export const readJsonSource = (bytes: Uint8Array): Result<SourceValue> => {
  const read = parseJson(bytes)
  return read.ok ? accepted(toSource(read.value)) : read
}

const jsonStart = /^\uFEFF?[ \t\r\n]*[[{]/

/** Return whether a file begins like JSON: with an object or a list. */
export const isJsonText = (bytes: Uint8Array): boolean =>
  jsonStart.test(new TextDecoder().decode(bytes.subarray(0, 1_024)))
