import { z } from 'zod'
import { parseInstant } from '../domain/instant.ts'
import { type Refusal, refused } from '../domain/refusal.ts'
import { isJsonNumber, numberText } from './json/exact-number.ts'
import { isJsonObject, type JsonObject } from './json/json-path.ts'

const fixedMember = z.unknown().optional().meta({ readOnly: true })

/**
 * Members of an object that a PATCH may contain unchanged, so that a client can send back the object that it read.
 * Add the members that the PATCH can change after these.
 * Source: docs/rules/versions-and-transport.md #members-that-cannot-change.
 */
export const fixedMembers = (shape: z.ZodObject): Readonly<Record<string, typeof fixedMember>> =>
  Object.fromEntries(Object.keys(shape.shape).map(name => [name, fixedMember]))

const isSameValue = (sent: unknown, stored: unknown): boolean => {
  if (sent === stored) return true
  if (isJsonNumber(sent) && isJsonNumber(stored)) return Number(numberText(sent)) === Number(numberText(stored))
  if (typeof sent === 'string' && typeof stored === 'string') {
    const at = parseInstant(sent)
    return at !== undefined && at === parseInstant(stored)
  }
  if (Array.isArray(sent) && Array.isArray(stored)) {
    return sent.length === stored.length && sent.every((one, index) => isSameValue(one, stored[index]))
  }
  if (!isJsonObject(sent) || !isJsonObject(stored)) return false
  const names = new Set([...Object.keys(sent), ...Object.keys(stored)])
  return [...names].every(name => isSameValue(sent[name] ?? null, stored[name] ?? null))
}

/**
 * Refuse a PATCH that changes a fixed member (`field_immutable`). Returns null if all fixed members equal those of
 * `stored`. `changeable` are the names that the PATCH may change. `advice` ends the message. Instants and numbers are
 * compared by value.
 */
export const refuseFixedChange = (
  body: JsonObject,
  stored: JsonObject,
  changeable: readonly string[],
  advice = 'leave it out',
): Refusal | null => {
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined || changeable.includes(name) || isSameValue(value, stored[name] ?? null)) continue
    return refused('field_immutable', `${name} cannot be changed: ${advice}`, name).refusal
  }
  return null
}
