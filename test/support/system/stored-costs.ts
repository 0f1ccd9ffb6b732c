import type { Client } from './client.ts'
import { until } from './until.ts'

export type StoredRecord = {
  readonly id: string
  readonly status: string
  readonly batch_id: string | null
  readonly data: {
    readonly start_time: string
    readonly end_time: string
    readonly record_reference_id: string | null
    readonly session_reference_id: string | null
    readonly energy: { readonly value: number }
    readonly tariff: { readonly cost: { readonly value: number | null; readonly confidence: number } }
  }
}

/** Read all records of a location, newest first. */
export const recordsOf = async (client: Client, locationId: string): Promise<readonly StoredRecord[]> => {
  const all: StoredRecord[] = []
  for (let after = ''; ; after = `&starting_after=${all.at(-1)?.id}`) {
    const page = (await client.ask('GET', `/meters/records?location_id=${locationId}&limit=100${after}`)) as {
      has_more: boolean
      data: StoredRecord[]
    }
    all.push(...page.data)
    if (!page.has_more) return all
  }
}

/** Read the cost of each record, by record reference. Null: the record has no price. */
export const costsOf = async (client: Client, locationId: string): Promise<Readonly<Record<string, number | null>>> =>
  Object.fromEntries(
    (await recordsOf(client, locationId)).map(({ data }) => [
      data.record_reference_id ?? data.start_time,
      data.tariff.cost.value,
    ]),
  )

/** Wait until the costs of a location are the expected costs. */
export const costsUntil = (
  client: Client,
  locationId: string,
  wanted: Readonly<Record<string, number | null>>,
  limitMs?: number,
) => {
  const text = (costs: object): string => JSON.stringify(Object.entries(costs).sort(([a], [b]) => (a < b ? -1 : 1)))
  return until(
    () => costsOf(client, locationId),
    costs => text(costs) === text(wanted),
    limitMs,
  )
}
