import type { Client, Reply } from '../system/client.ts'

export type LineAnswer = {
  readonly kind: string
  readonly component: string
  readonly charge_id: string | null
  readonly tariff_id: string | null
  readonly plan_id: string | null
  readonly tariff_direction: string | null
  readonly quantity: number | null
  readonly amount: number
  readonly amount_rounded: number
  readonly tax: boolean
  readonly reason: {
    readonly statement_id?: string
    readonly peaks?: readonly { readonly start_time: string; readonly kw: number }[]
  } | null
}

export type TotalsAnswer = Readonly<
  Record<'net' | 'tax' | 'gross' | 'net_rounded' | 'tax_rounded' | 'gross_rounded', number>
>

/** Statement with numbers as floats. */
export type StatementAnswer = {
  readonly id: string
  readonly status: string
  readonly complete: boolean
  readonly revision: number
  readonly hash: string
  readonly redacted?: boolean
  readonly gaps: readonly { readonly reason: string; readonly start_time: string; readonly end_time: string }[]
  readonly periods: readonly {
    readonly start_date: string
    readonly end_date: string
    readonly lines: readonly LineAnswer[]
    readonly totals: TotalsAnswer
  }[]
  readonly totals: TotalsAnswer
  readonly memo: readonly { readonly quantity: number; readonly amount: number }[]
}

/** Post a statement. Throws if it is refused. */
export const postStatement = async (client: Client, locationId: string, body: object): Promise<StatementAnswer> =>
  (await client.ask('POST', `/statements/${locationId}`, body)) as StatementAnswer

/** Return all lines of a statement. */
export const linesOf = ({ periods }: StatementAnswer): readonly LineAnswer[] => periods.flatMap(({ lines }) => lines)

/** Return the amount of each component, rounded as in the statement. */
export const amountsOf = (statement: StatementAnswer): Readonly<Record<string, number>> => {
  const sums: Record<string, number> = {}
  for (const { component, amount_rounded } of linesOf(statement))
    sums[component] = Math.round(((sums[component] ?? 0) + amount_rounded) * 1e9) / 1e9
  return sums
}

/** Return the status and code of a refusal. */
export const refusalOf = ({ status, json }: Reply): readonly [number, string] => [
  status,
  (json as { readonly code: string }).code,
]
