import { readFileSync } from 'node:fs'
import type { ApiVersion, Client } from '../system/client.ts'

type Rate = {
  readonly fixed: number | null
  readonly to_kwh: number | null
  readonly surcharge_fixed: number
  readonly surcharge_percentage: number
}

type Entry = {
  readonly months: readonly string[]
  readonly days_and_hours: readonly {
    readonly days: readonly string[]
    readonly hours: readonly {
      readonly valid_from: string
      readonly valid_to: string
      readonly rate: readonly Rate[]
    }[]
  }[]
}

export type CaseTariff = {
  readonly direction: 'IMPORT' | 'EXPORT'
  readonly type: 'COMMODITY' | 'NON_COMMODITY'
  readonly timezone: string
  readonly currency_code: string
  readonly market_rates: boolean
  readonly contract_start_date?: string | null
  readonly contract_end_date?: string | null
  readonly schedule: readonly Entry[]
}

export type CaseRecord = {
  readonly start_time: string
  readonly end_time: string
  readonly value: number
  readonly units: string
  readonly direction?: 'IMPORT' | 'EXPORT'
  readonly record_reference_id?: string
}

export type CostCase = {
  readonly id: string
  readonly features: readonly string[]
  readonly tariffs: readonly CaseTariff[]
  readonly records: readonly CaseRecord[]
  readonly expected: {
    readonly total_cost?: number
    readonly derived_total?: number
    readonly import_minus_export?: number
    readonly per_record?: Readonly<Record<string, number>> | readonly number[]
  }
  readonly tolerance: { readonly abs?: number; readonly rel?: number; readonly per_record_abs?: number }
}

/** Read the published cost cases. */
export const costCases = (): readonly CostCase[] =>
  JSON.parse(readFileSync('test/acceptance/cost_cases.json', 'utf8')).cases

/** Convert a percentage of the files to a fraction of the API. The text is shifted, so that no digit changes. */
const fractionOf = (percent: number): number => Number(`${percent}e-2`)

const scheduleOf = (tariff: CaseTariff) =>
  tariff.schedule.map(entry => ({
    months: entry.months,
    days_and_hours: entry.days_and_hours.map(({ days, hours }) => ({
      days,
      hours: hours.map(({ valid_from, valid_to, rate }) => ({
        valid_from,
        valid_to,
        rate: rate.map(one => ({ ...one, surcharge_percentage: fractionOf(one.surcharge_percentage) })),
      })),
    })),
  }))

/** Create the tariffs of a case at a location. */
export const addTariffs = async (
  client: Client,
  locationId: string,
  tariffs: readonly CaseTariff[],
  apiVersion: ApiVersion,
): Promise<void> => {
  const path = apiVersion === 'current' ? '/tariffs' : '/tariffs/elements'
  for (const tariff of tariffs) {
    const { direction, type, market_rates, contract_start_date, contract_end_date } = tariff
    const schedule = scheduleOf(tariff)
    const terms = { direction, type, market_rates, contract_start_date, contract_end_date, schedule }
    await client.ask('POST', path, { location_id: locationId, ...terms })
  }
}

/** Create the location and the tariffs of a case. Return the id of the location. */
export const prepareCase = async (
  client: Client,
  tariffs: readonly CaseTariff[],
  apiVersion: ApiVersion,
): Promise<string> => {
  const [first] = tariffs as [CaseTariff]
  const { id } = (await client.ask('POST', '/locations', {
    timezone: first.timezone,
    currency_code: first.currency_code,
  })) as {
    id: string
  }
  await addTariffs(client, id, tariffs, apiVersion)
  return id
}

/** Return the records of a case in the format of an API version. */
export const recordsOf = ({ records }: Pick<CostCase, 'records'>, locationId: string, apiVersion: ApiVersion) =>
  records.map(({ direction = 'IMPORT', ...record }) => ({
    ...record,
    location_id: locationId,
    ...(apiVersion === 'earlier'
      ? { direction }
      : { energy_flow_direction: direction === 'IMPORT' ? 'INBOUND' : 'OUTBOUND' }),
  }))

/** Maximum difference between a published cost and the calculated cost. */
export const toleranceOf = ({ tolerance, expected }: CostCase): number =>
  tolerance.abs ?? (tolerance.rel ?? 0) * Math.abs(expected.total_cost ?? 0)
