import type { RateInput } from '../../../services/contract/tariffs/rate.ts'
import {
  type DaysAndHoursInput,
  type HoursInput,
  readTariffTerms,
  type ScheduleEntryInput,
  type TariffTermsInput,
} from '../../../services/contract/tariffs/read-tariff-terms.ts'

export const hours = (from: string, to: string, rate: readonly RateInput[] = [{ fixed: '0.3' }]): HoursInput => ({
  valid_from: from,
  valid_to: to,
  rate,
})
export const wholeDay = (rate?: readonly RateInput[]): HoursInput => hours('00:00:00', '00:00:00', rate)
export const days = (names: readonly string[] | undefined, ...bands: HoursInput[]): DaysAndHoursInput =>
  names === undefined ? { hours: bands } : { days: names, hours: bands }
export const entry = (
  blocks: readonly DaysAndHoursInput[],
  more: Partial<ScheduleEntryInput> = {},
): ScheduleEntryInput => ({
  days_and_hours: blocks,
  ...more,
})
export const terms = (
  schedule: readonly ScheduleEntryInput[],
  more: Partial<TariffTermsInput> = {},
): TariffTermsInput => ({
  direction: 'IMPORT',
  type: 'COMMODITY',
  marketRates: false,
  contractStart: null,
  contractEnd: null,
  schedule,
  ...more,
})
export const flat = (rate?: readonly RateInput[]) => [entry([days(['All'], wholeDay(rate))])]
export const refusalOf = (input: TariffTermsInput) => {
  const read = readTariffTerms(input)
  return read.ok ? null : read.refusal
}
