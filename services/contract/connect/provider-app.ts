import { z } from 'zod'
import { parseInstant } from '../../domain/instant.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { jsonNumber } from '../field.ts'
import { numberText } from '../json/exact-number.ts'
import { isJsonObject } from '../json/json-path.ts'
import { readJson } from '../json/strict-json.ts'
import { readShape, readShapeInSteps } from '../read-shape.ts'
import type { ScheduleEntryInput } from '../tariffs/read-tariff-terms.ts'

const numberAsText = jsonNumber.transform(numberText)
const textList = z.array(z.string()).nullish()

/** Tariff in the answer of a provider's app. Unknown members are ignored. */
const planShape = z.object({
  display_name: z.string().max(255).nullish(),
  contract_end_date: z.string().nullish(),
  data: z.array(
    z.object({
      months: textList,
      dates: z.array(numberAsText.transform(Number)).nullish(),
      days_and_hours: z.array(
        z.object({
          days: textList,
          hours: z.array(
            z.object({
              valid_from: z.string(),
              valid_to: z.string(),
              rate: z.array(z.object({ value: numberAsText, to_kwh: numberAsText.nullish() })),
            }),
          ),
        }),
      ),
    }),
  ),
})

const accountsShape = z.object({
  accounts: z.array(z.object({ id: z.string(), name: z.string(), description: z.string().nullish() })),
})

/** Tariff of a provider; `contractEnd` in ms. */
export type TariffPlan = {
  readonly displayName: string | null
  readonly contractEnd: number | null
  readonly schedule: readonly ScheduleEntryInput[]
}

export type ProviderAppAccount = { readonly id: string; readonly name: string; readonly description: string }

/** Several accounts, from which the person must choose, or the tariff. */
export type ProviderPlanAnswer = { readonly accounts: readonly ProviderAppAccount[] } | { readonly plan: TariffPlan }

/** Apps send the tariff as the body or as its member `tariff`. */
const unwrapTariff = (body: unknown): unknown =>
  isJsonObject(body) && isJsonObject(body['tariff']) ? body['tariff'] : body

/**
 * Read the answer of a provider's app to a fetch, in steps. Refuses an answer without tariff and accounts.
 * Source: docs/rules/connect.md #fetching-tariffs.
 */
export function* readPlanAnswer(bytes: Uint8Array): Generator<void, Result<ProviderPlanAnswer>> {
  const parsed = yield* readJson(bytes)
  yield
  if (!parsed.ok) return parsed
  const accounts = yield* readShapeInSteps(accountsShape, parsed.value, 'body')
  if (accounts.ok)
    return accepted({ accounts: accounts.value.accounts.map(one => ({ ...one, description: one.description ?? '' })) })
  const read = yield* readShapeInSteps(planShape, unwrapTariff(parsed.value), 'body')
  if (!read.ok) return read
  const { display_name: displayName = null, contract_end_date: end = null, data } = read.value
  const contractEnd = end === null ? null : parseInstant(end)
  if (contractEnd === undefined)
    return refused('date_format_invalid', 'contract_end_date must be an RFC 3339 date and time')
  const schedule = data.map(({ months = null, dates = null, days_and_hours }) => ({
    months,
    dates,
    days_and_hours: days_and_hours.map(({ days = null, hours }) => ({
      days,
      hours: hours.map(({ rate, ...band }) => ({
        ...band,
        rate: rate.map(({ value, to_kwh }) => ({ fixed: value, to_kwh: to_kwh ?? null })),
      })),
    })),
  }))
  return accepted({ plan: { displayName, contractEnd, schedule } })
}

/** Read the message of a provider's app for the person, in steps; null without a message. */
export function* readProviderMessage(bytes: Uint8Array): Generator<void, string | null> {
  const parsed = yield* readJson(bytes)
  const read = parsed.ok ? readShape(z.object({ message: z.string().min(1).max(500) }), parsed.value, 'body') : parsed
  return read.ok ? read.value.message : null
}
