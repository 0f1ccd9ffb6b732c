/** A member that is absent or null is not given. */
type Given<T> = T | null | undefined

export type BandBody<Rate> = {
  readonly valid_from: string
  readonly valid_to: string
  readonly rate: readonly Rate[]
}

export type ScheduleBody<Rate> = readonly {
  readonly months: readonly string[]
  readonly dates?: Given<readonly number[]>
  readonly days_and_hours: readonly { readonly days: readonly string[]; readonly hours: readonly BandBody<Rate>[] }[]
}[]

export type RateBody = {
  readonly fixed: number
  readonly to_kwh?: Given<number>
  readonly surcharge_fixed?: Given<number>
  readonly surcharge_percentage?: Given<number>
}

export type Direction = 'IMPORT' | 'EXPORT' | 'LOCAL'

/** Body of `POST /tariffs` without location. Market rates are not part of this calculation. */
export type TariffBody = {
  readonly direction: Direction
  readonly type: 'COMMODITY' | 'NON_COMMODITY'
  readonly component?: Given<string>
  readonly contract_start_date?: Given<string>
  readonly contract_end_date?: Given<string>
  readonly schedule: ScheduleBody<RateBody>
}

/** Body of `POST /calendars`. Without a country: public holidays are given in `add`. */
export type CalendarBody = {
  readonly name: string
  readonly add?: Given<readonly { readonly date: string; readonly name: string }[]>
  readonly remove?: Given<readonly string[]>
  readonly day_types?: Given<readonly { readonly name: string; readonly dates: readonly string[] }[]>
}

export type WindowBody = {
  readonly months?: Given<readonly string[]>
  readonly dates?: Given<readonly number[]>
  readonly days?: Given<readonly string[]>
  readonly hours?: Given<readonly { readonly valid_from: string; readonly valid_to: string }[]>
  readonly weight?: Given<number>
}

export type BaseBody = {
  readonly kinds?: Given<readonly string[]>
  readonly components?: Given<readonly string[]>
  readonly directions?: Given<readonly Direction[]>
}

export type ChargeKind = 'FIXED' | 'USAGE' | 'DEMAND' | 'SESSION' | 'MINIMUM' | 'MAXIMUM' | 'PERCENTAGE'
export type Counts = 'IMPORT' | 'EXPORT' | 'GROSS' | 'NET_IMPORT'
export type RoundingMode = 'HALF_UP' | 'HALF_EVEN' | 'UP' | 'DOWN'

/** Body of `POST /charges` without location: the members of all kinds. */
export type ChargeBody = {
  readonly kind: ChargeKind
  readonly name: string
  readonly component?: Given<string>
  readonly start_date?: Given<string>
  readonly end_date?: Given<string>
  readonly sequence?: Given<number>
  readonly price?: Given<number>
  readonly per?: Given<'DAY' | 'MONTH' | 'YEAR' | 'SESSION' | 'MINUTE' | 'PERIOD'>
  readonly quantity?: Given<number>
  readonly unit?: Given<string>
  readonly prorate?: Given<'DAYS' | 'NONE'>
  readonly counts?: Given<Counts>
  readonly device_ids?: Given<readonly string[]>
  readonly schedule?: Given<ScheduleBody<{ readonly fixed: number }>>
  readonly while?: Given<'CONNECTED' | 'IDLE'>
  readonly after_minutes?: Given<number>
  readonly count?: Given<'EXACT' | 'STARTED'>
  readonly max_amount?: Given<number>
  readonly windows?: Given<readonly WindowBody[]>
  readonly amount?: Given<number>
  readonly per_kwh?: Given<number>
  readonly base?: Given<BaseBody>
  readonly rate?: Given<number>
  readonly tax?: Given<boolean>
  readonly interval_minutes?: Given<15 | 30 | 60>
  readonly highest?: Given<number>
  readonly distinct_days?: Given<boolean>
  readonly over?: Given<'PERIOD' | 'DAY' | 'ROLLING'>
  readonly rolling_months?: Given<number>
  readonly rolling?: Given<'MEAN' | 'MAX'>
  readonly month_floor_kw?: Given<number>
  readonly ratchet?: Given<{
    readonly share: number
    readonly months: number
    readonly in_months?: Given<readonly string[]>
  }>
  readonly floor_kw?: Given<number>
  readonly above_kw?: Given<number>
  readonly round_kw?: Given<{ readonly to?: Given<number>; readonly mode?: Given<RoundingMode> }>
  readonly history?: Given<readonly { readonly month: string; readonly kw: number }[]>
  readonly tiers?: Given<readonly { readonly to_kw?: Given<number>; readonly price: number }[]>
  readonly steps?: Given<readonly { readonly from_kw: number; readonly amount: number }[]>
  readonly step_edge?: Given<'LOWER_INCLUSIVE' | 'LOWER_EXCLUSIVE'>
  readonly year_basis?: Given<'MONTHS' | 'DAYS'>
}

type RecordMembers = {
  readonly units?: Given<string>
  readonly device_id?: Given<string>
  readonly energy_flow_direction?: Given<'INBOUND' | 'OUTBOUND'>
  readonly tariff_direction?: Given<Direction>
  readonly confidence?: Given<number>
  readonly session_reference_id?: Given<string>
  readonly record_reference_id?: Given<string>
}

/**
 * Interval record as submitted, in the order of submission. `id` is the id of the service.
 * The id orders records with equal times in the tiers. Without it, the text of the members orders them.
 */
export type RecordBody = RecordMembers & {
  readonly id?: Given<string>
  readonly start_time: string
  readonly end_time: string
  readonly value: number
}

/** Records one after another, each `step_minutes` long. `units` is KWH if it is absent. */
export type SeriesBody = RecordMembers & {
  readonly start_time: string
  readonly step_minutes: number
  readonly values: readonly number[]
}

export type PeriodBody = { readonly start_date: string; readonly end_date: string }
export type RoundingProfile = 'EXACT' | 'LARGEST_REMAINDER' | 'EN16931'

/** Body of `POST /statements/{location}`. */
export type StatementBody = PeriodBody & {
  readonly periods?: Given<'MONTH' | 'ONE' | readonly PeriodBody[]>
  readonly rounding?: Given<{ readonly profile?: Given<RoundingProfile>; readonly decimals?: Given<number> }>
  readonly expect?: Given<'EVERY_INTERVAL' | 'NOTHING'>
  readonly detail?: Given<'PRICE'>
  readonly include_devices?: Given<'auto' | boolean>
}

/** Line of a final statement, as the API answers it. Amounts may be numbers or decimal texts. */
export type FinalLine = {
  readonly kind: string
  readonly component: string
  readonly tax: boolean
  readonly amount_rounded: number | string
  readonly statement_id?: Given<string>
}

/** A final statement of the location, with the request that made it. */
export type FinalStatement = {
  readonly id: string
  readonly request: StatementBody
  readonly periods: readonly { readonly lines: readonly FinalLine[] }[]
}

/** A location with all that its statement depends on. Charges and tariffs have the order of creation. */
export type BillInput = {
  readonly location: { readonly timezone: string; readonly currency_code: string }
  readonly calendar?: Given<CalendarBody>
  readonly tariffs: readonly TariffBody[]
  readonly charges: readonly ChargeBody[]
  readonly records?: Given<readonly RecordBody[]>
  readonly series?: Given<readonly SeriesBody[]>
  readonly finals?: Given<readonly FinalStatement[]>
  readonly statement: StatementBody
  /** Instant of the answer, for example `2026-06-01T00:00:00Z`. */
  readonly now: string
}
