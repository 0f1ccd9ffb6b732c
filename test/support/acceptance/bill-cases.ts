import { existsSync, readFileSync } from 'node:fs'
import type { ScheduleEntryInput } from '../../../services/contract/tariffs/read-tariff-terms.ts'
import { parseExactly } from '../ledger/exact-decimal.ts'

/** Members of a case as posted. All numbers are texts with the digits of the JSON. */
export type WireObject = { readonly [name: string]: unknown }

export type BillTariff = {
  readonly direction: 'IMPORT' | 'EXPORT' | 'LOCAL'
  readonly type: 'COMMODITY' | 'NON_COMMODITY'
  readonly component?: string
  readonly schedule: readonly ScheduleEntryInput[]
  readonly contract_start_date?: string
  readonly contract_end_date?: string
}

type RecordTerms = {
  readonly units?: 'WH' | 'KWH' | 'W' | 'KW'
  readonly confidence?: string
  readonly device_id?: string
  readonly session_reference_id?: string
  readonly energy_flow_direction?: 'INBOUND' | 'OUTBOUND'
  readonly tariff_direction?: 'IMPORT' | 'EXPORT' | 'LOCAL'
}

export type BillRecord = RecordTerms & {
  readonly value: string
  readonly start_time: string
  readonly end_time: string
}

type BillSeries = RecordTerms & {
  readonly start_time: string
  readonly step_minutes: string
  readonly values: readonly string[]
}

export type ExpectedLine = {
  readonly kind: string
  readonly component: string
  readonly name: string
  readonly amount: string
  readonly amount_rounded: string
  readonly quantity?: string
  readonly bound_by?: string
  readonly measured_kw?: string
  readonly peaks?: readonly { readonly start_time: string; readonly kw: string }[]
  readonly shares?: readonly {
    readonly device_id: string | null
    readonly session_reference_id: string | null
    readonly share: string
  }[]
}

export type ExpectedStatement = {
  readonly complete: boolean
  readonly gaps: readonly { readonly reason: string; readonly start_time: string; readonly end_time: string }[]
  readonly gross: string
  readonly gross_rounded: string
  readonly periods: readonly {
    readonly start_date: string
    readonly end_date: string
    readonly lines: readonly ExpectedLine[]
    readonly totals: Readonly<Record<string, string>>
  }[]
}

type BillCalendar = {
  readonly add: readonly { readonly date: string }[]
  readonly day_types?: readonly { readonly name: string; readonly dates: readonly string[] }[]
}

export type BillCase = {
  readonly id: string
  readonly location: { readonly timezone: string; readonly currency_code: string }
  readonly calendar?: BillCalendar | null
  readonly tariffs: readonly BillTariff[]
  readonly charges: readonly WireObject[]
  readonly records?: readonly BillRecord[]
  readonly series?: readonly BillSeries[]
  readonly statement: WireObject
  /** Instant of the answer; after all records if it is absent. */
  readonly now?: string
  readonly expected: ExpectedStatement
}

const file = new URL('../../../../shared/acceptance/bill_cases.json', import.meta.url)

/** Read the cases of whole bills; null if the file is not present. */
export const billCases = (): readonly BillCase[] | null =>
  existsSync(file) ? (parseExactly(readFileSync(file, 'utf8')) as { readonly cases: readonly BillCase[] }).cases : null

/** Return the records of a case, those of its series included. */
export const billRecords = ({ records = [], series = [] }: BillCase): readonly BillRecord[] => [
  ...records,
  ...series.flatMap(({ start_time, step_minutes, values, ...terms }) => {
    const [start, stepMs] = [Date.parse(start_time), Number(step_minutes) * 60_000]
    const timeOf = (index: number): string => new Date(start + index * stepMs).toISOString()
    return values.map((value, index) => ({
      ...terms,
      value,
      start_time: timeOf(index),
      end_time: timeOf(index + 1),
    }))
  }),
]
