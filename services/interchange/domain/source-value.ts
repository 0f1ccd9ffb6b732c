import type { Fraction } from '../../domain/fraction.ts'
import { type RefusalCode, type Result, refused } from '../../domain/refusal.ts'

const numberMark: unique symbol = Symbol('number')

/** Number of a file, with its text. */
export type SourceNumber = { readonly [numberMark]: string }

/** Parsed value of a file. Numbers keep their texts, so that prices stay exact. */
export type SourceValue = null | boolean | string | SourceNumber | readonly SourceValue[] | SourceObject
export type SourceObject = { readonly [name: string]: SourceValue }

/** Value of a file and its JSON pointer. An absent member has the value undefined. */
export type SourceField<Value = SourceValue | undefined> = { readonly path: string; readonly value: Value }

export const sourceNumber = (text: string): SourceNumber => ({ [numberMark]: text })

export const isSourceNumber = (value: SourceValue | undefined): value is SourceNumber =>
  typeof value === 'object' && value !== null && numberMark in value

/** Return the text of a number; null for another value. */
export const numberTextOf = (value: SourceValue): string | null => (isSourceNumber(value) ? value[numberMark] : null)

export const isSourceList = (value: SourceValue | undefined): value is readonly SourceValue[] => Array.isArray(value)

export const isSourceObject = (value: SourceValue | undefined): value is SourceObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isSourceNumber(value)

/** Value that a file must not have. Only the readers of files throw it, and `readTariffFile` returns it as a refusal. */
class SourceFault extends Error {
  readonly code: RefusalCode
  readonly path: string

  constructor(code: RefusalCode, message: string, path: string) {
    super(message)
    this.code = code
    this.path = path
  }
}

/** Create the error that ends the reading of a file. The message names the sourceField. */
export const sourceFault = (path: string, message: string, code: RefusalCode = 'field_invalid'): Error =>
  new SourceFault(code, `${path === '' ? 'The file' : path} ${message}`, path)

/** Return the refusal of a fault. Throws each other error again. */
export const refusalOfFault = (error: unknown): Result<never> => {
  if (error instanceof SourceFault)
    return refused(error.code, error.message, error.path === '' ? undefined : error.path)
  throw error
}

const escapeName = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

export const pointer = (path: string, ...steps: readonly (string | number)[]): string =>
  steps.reduce<string>((written, step) => `${written}/${escapeName(String(step))}`, path)

/** Return the member of an object. Throws a fault if the value is not an object. */
export const memberAt = ({ path, value }: SourceField, name: string): SourceField => {
  if (!isSourceObject(value)) throw sourceFault(path, 'must be an object')
  return { path: pointer(path, name), value: Object.hasOwn(value, name) ? (value as SourceObject)[name] : undefined }
}

/** True if a member is absent or null. */
export const isAbsent = ({ value }: SourceField): boolean => value === undefined || value === null

/** True if a value is an object with a member that is not null. */
export const hasMember = (value: SourceValue, name: string): boolean =>
  isSourceObject(value) && !isAbsent(memberAt({ path: '', value }, name))

/** Return the elements of a list; none if the list is absent. Throws a fault for another value or a longer list. */
export const elementsAt = (sourceField: SourceField, max: number): readonly SourceField<SourceValue>[] => {
  const { path, value } = sourceField
  if (isAbsent(sourceField)) return []
  if (!isSourceList(value)) throw sourceFault(path, 'must be a list')
  if (value.length > max) throw sourceFault(path, `must have at most ${max} elements`, 'too_many_elements')
  return value.map((element, index) => ({ path: pointer(path, index), value: element }))
}

/** Return a text; null if it is absent. Throws a fault for another value. */
export const textAt = (sourceField: SourceField): string | null => {
  if (isAbsent(sourceField)) return null
  if (typeof sourceField.value !== 'string') throw sourceFault(sourceField.path, 'must be a text')
  return sourceField.value
}

/** Return a text that must be present. */
export const requiredText = (sourceField: SourceField): string => {
  const text = textAt(sourceField)
  if (text === null) throw sourceFault(sourceField.path, 'is required', 'field_required')
  return text
}

const numberGrammar = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/
const maxLength = 400

/** Read a number text exactly; null if it is not a decimal number of at most 400 characters. */
export const fractionOfText = (text: string): Fraction | null => {
  const match = text.length > maxLength ? null : numberGrammar.exec(text)
  if (match === null) return null
  const [, sign = '', whole = '', decimals = '', power = '0'] = match
  if (whole === '' && decimals === '') return null
  const digits = BigInt(`${sign === '-' ? '-' : ''}${whole}${decimals}`)
  const exponent = Number(power) - decimals.length
  return exponent >= 0
    ? { dividend: digits * 10n ** BigInt(exponent), divisor: 1n }
    : { dividend: digits, divisor: 10n ** BigInt(-exponent) }
}

/** Return a number exactly; null if it is absent. Throws a fault for another value. */
export const fractionAt = (sourceField: SourceField): Fraction | null => {
  if (isAbsent(sourceField)) return null
  const read = isSourceNumber(sourceField.value) ? fractionOfText(sourceField.value[numberMark]) : null
  if (read === null) throw sourceFault(sourceField.path, 'must be a decimal number')
  return read
}

/** Return a number that must be present. */
export const requiredFraction = (sourceField: SourceField): Fraction => {
  const read = fractionAt(sourceField)
  if (read === null) throw sourceFault(sourceField.path, 'is required', 'field_required')
  return read
}

/** Return a whole number from `min` to `max`; null if it is absent. Throws a fault for another value. */
export const wholeNumberAt = (sourceField: SourceField, min: number, max: number): number | null => {
  const read = fractionAt(sourceField)
  if (read === null) return null
  const { dividend, divisor } = read
  const whole = dividend / divisor
  if (whole * divisor !== dividend || whole < BigInt(min) || whole > BigInt(max))
    throw sourceFault(sourceField.path, `must be a whole number from ${min} to ${max}`)
  return Number(whole)
}

/** True if a value is or contains a number. */
export const hasNumber = (value: SourceValue): boolean => {
  if (isSourceNumber(value)) return true
  if (isSourceList(value)) return value.some(hasNumber)
  return isSourceObject(value) && Object.values(value).some(hasNumber)
}

/** Write a value as JSON. Numbers are written as their texts. */
export const writeSource = (value: SourceValue): string => {
  const number = numberTextOf(value)
  if (number !== null) return number
  if (isSourceList(value)) return `[${value.map(writeSource).join(',')}]`
  if (!isSourceObject(value)) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${writeSource(member)}`)
  return `{${members.join(',')}}`
}
