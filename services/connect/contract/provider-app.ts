import { z } from 'zod'
import { jsonNumber, requestList } from '../../contract/field.ts'
import { numberText } from '../../contract/json/exact-number.ts'
import { isJsonObject } from '../../contract/json/json-path.ts'
import { parseJson } from '../../contract/json/strict-json.ts'
import { readShape } from '../../contract/read-shape.ts'
import type { ScheduleEntryInput } from '../../contract/tariffs/read-tariff-terms.ts'
import { parseInstant } from '../../domain/instant.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'

const numberAsText = jsonNumber.transform(numberText)
const textList = requestList(z.string()).nullish()

/** Tariff in the answer of a provider's app. Unknown members are ignored. */
const planShape = z.object({
  display_name: z.string().max(255).nullish(),
  contract_end_date: z.string().nullish(),
  data: requestList(
    z.object({
      months: textList,
      dates: requestList(numberAsText.transform(Number)).nullish(),
      days_and_hours: requestList(
        z.object({
          days: textList,
          hours: requestList(
            z.object({
              valid_from: z.string(),
              valid_to: z.string(),
              rate: requestList(z.object({ value: numberAsText, to_kwh: numberAsText.nullish() })),
            }),
          ),
        }),
      ),
    }),
  ),
})

const accountsShape = z.object({
  accounts: requestList(z.object({ id: z.string(), name: z.string(), description: z.string().nullish() })),
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
 * Read the parsed answer of a provider's app to a fetch. Refuses an answer without tariff and accounts.
 * Source: docs/rules/connect.md #fetching-tariffs.
 */
export const readPlanAnswer = (body: unknown): Result<ProviderPlanAnswer> => {
  const accounts = readShape(accountsShape, body, 'body')
  if (accounts.ok)
    return accepted({ accounts: accounts.value.accounts.map(one => ({ ...one, description: one.description ?? '' })) })
  const read = readShape(planShape, unwrapTariff(body), 'body')
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

/** Read the message of a provider's app for the person; null without a message. */
export const readProviderMessage = (bytes: Uint8Array): string | null => {
  const parsed = parseJson(bytes)
  const read = parsed.ok ? readShape(z.object({ message: z.string().min(1).max(500) }), parsed.value, 'body') : parsed
  return read.ok ? read.value.message : null
}
