import type { Client } from '../system/client.ts'

type MonthAnswer = {
  readonly month: string
  readonly total: number
  readonly difference?: number
  readonly standing_days: number | null
}

export type BillAnswer = {
  readonly name?: string
  readonly energy: number
  readonly charges: number
  readonly tax: number
  readonly total: number
  readonly difference?: number
  readonly complete: boolean
  readonly standing_days: number | null
  readonly standing_days_difference?: number | null
  readonly months: readonly MonthAnswer[]
  readonly lines?: readonly {
    readonly name: string
    readonly quantity: number | null
    readonly amount: number
    readonly standing_days: number | null
  }[]
}

type ComparisonAnswer = { readonly baseline: BillAnswer | null; readonly data: readonly BillAnswer[] }

/** Simulation with numbers as floats. */
export type SimulationAnswer = ComparisonAnswer & {
  readonly id: string | null
  readonly status: string
  readonly progress: { readonly locations: number; readonly done: number }
  readonly locations?: readonly (ComparisonAnswer & { readonly location_id: string })[]
  readonly error: { readonly code: string; readonly message: string } | null
}

/** Post a simulation that is answered at once. Throws if it is refused. */
export const simulate = async (client: Client, body: object): Promise<SimulationAnswer> =>
  (await client.ask('POST', '/simulations', body)) as SimulationAnswer
