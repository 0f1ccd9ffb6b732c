import { z } from 'zod'
import { writeInstant } from '../domain/instant.ts'
import { type Energy, type Money, moneyScale } from '../domain/quantity.ts'
import type { OwnedObject } from '../domain/tenant.ts'
import { isJsonNumber, type JsonNumber, scaledNumber } from './json/exact-number.ts'

/**
 * Building blocks of answer shapes. Shapes document and type the answers; the service does not parse its own answers.
 */

/** Decimal number with all its digits. */
export const exactDecimal = z.custom<JsonNumber>(isJsonNumber).meta({ type: 'number' })

/** Exact decimal number of a long series. Doubles are used if their text is the same, because they need less memory. */
export const seriesNumber = z.custom<JsonNumber>(isJsonNumber).meta({ type: 'number' })

/** Whole number. */
export const count = z.int().meta({ type: 'integer' })

/** RFC 3339 date and time. */
export const instantText = z
  .string()
  .meta({ type: 'string', format: 'date-time', examples: ['2025-09-14T10:00:00.000Z'] })

/** Write an instant (ms); null stays null. */
export const instantOrNull = (at: number | null): string | null => (at === null ? null : writeInstant(at))

/** Local date of a location. */
export const dateText = z.string().meta({ type: 'string', format: 'date', examples: ['2026-05-01'] })

/** Id with its prefix. */
export const idText = (prefix: string) =>
  z.string().meta({ type: 'string', examples: [`${prefix}_0198c0ffee00112233445566`] })

/** Nullable value. */
export const orNull = <Shape extends z.ZodType>(shape: Shape) => shape.nullable()

/** Members of all stored objects. */
export const storedMembers = { live_mode: z.boolean(), time_created: instantText, account_id: idText('acc') } as const

/** Shape of a stored object: the shared members around its own. */
export const objectShape = <Name extends string, Own extends z.core.$ZodLooseShape>(
  prefix: string,
  object: Name,
  own: Own,
) => {
  const { live_mode, ...created } = storedMembers
  return z.object({ id: idText(prefix), object: z.literal(object), live_mode, ...own, ...created })
}

/** Members of every stored object, in the mode of a caller. */
export type WrittenObject<AccountId> = Omit<OwnedObject, 'accountId'> & { readonly accountId: AccountId }

/** Write a stored object: the shared members around its own. */
export const objectToWire = <Name extends string, AccountId extends string | null, Own extends object>(
  object: Name,
  { id, accountId, liveMode, createdAt }: WrittenObject<AccountId>,
  own: Own,
) => ({ id, object, live_mode: liveMode, ...own, time_created: writeInstant(createdAt), account_id: accountId })

/** Return the shared members of an example. */
export const exampleObject = (prefix: string): OwnedObject => ({
  id: `${prefix}_0198c0ffee00112233445566`,
  accountId: 'acc_0198c0ffee00112233445566',
  liveMode: false,
  createdAt: 1_757_844_000_000,
})

/** Answer to a deletion, which completes later. Source: docs/rules/registry.md #operations. */
export const acceptedMessage = z.object({ message: z.literal('Accepted') })

/** Digits after the point of a confidence in 1e-4. */
export const confidenceScale = 4

/** Energy with its cost; confidence in 1e-4. A null `cost` means without a price. */
export type PricedEnergy = { readonly energy: Energy; readonly cost: Money | null; readonly confidence: number }

export const costShape = z
  .object({
    value: orNull(exactDecimal).describe('Major units of the currency, exact; null without a price.'),
    confidence: exactDecimal.describe('0 to 1.'),
  })
  .meta({ component: 'Cost' })

/** Write a cost with its confidence. */
export const costToWire = ({ cost, confidence }: Pick<PricedEnergy, 'cost' | 'confidence'>) => ({
  value: cost === null ? null : scaledNumber(cost, moneyScale),
  confidence: scaledNumber(BigInt(confidence), confidenceScale),
})
