import type { Charge } from '../../../services/domain/charge/charge.ts'
import { parseDate } from '../../../services/domain/civil-date.ts'
import type { Refusal } from '../../../services/domain/refusal.ts'
import { acceptedValue } from '../accepted-value.ts'
import { readChargeText } from '../charges/read-charge-text.ts'
import type { WireObject } from './bill-cases.ts'

/** Return the day number of a date text. */
export const dayOf = (text: string): number => parseDate(text) ?? Number.NaN

const textMembers = ['name', 'component', 'unit']

/** Write the members of a case as JSON: all numbers of a case are texts with their digits. */
const jsonText = (value: unknown, name = ''): string => {
  if (Array.isArray(value)) return `[${value.map(one => jsonText(one)).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined)
    return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${jsonText(member, key)}`).join(',')}}`
  }
  const isNumber = typeof value === 'string' && /^-?\d+(?:\.\d+)?$/.test(value) && !textMembers.includes(name)
  return isNumber ? value : JSON.stringify(value)
}

/** Read a posted charge as the service does. `id` is its id. Throws the message of a refusal. */
export const chargeOf = (wire: WireObject, id: string): Charge => ({
  ...acceptedValue(readChargeText(jsonText(wire))),
  id,
  planId: null,
})

/** Return the refusal of a posted charge; null if it is valid. */
export const chargeRefusal = (wire: WireObject): Refusal | null => {
  const read = readChargeText(jsonText(wire))
  return read.ok ? null : read.refusal
}
