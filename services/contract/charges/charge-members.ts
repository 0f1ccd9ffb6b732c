import {
  type Charge,
  type ChargeKind,
  type DemandCharge,
  defaultComponents,
  defaultSequences,
  type FixedCharge,
  type LimitCharge,
  type OwnTerms,
  type PercentageCharge,
  type SessionCharge,
  type UsageCharge,
} from '../../domain/charge/charge.ts'
import { writeDate } from '../../domain/civil-date.ts'
import { minuteMs } from '../../domain/interval.ts'
import { dateText, seriesNumber } from '../answer-field.ts'
import { jsonNumber, localDate, refuseField } from '../field.ts'
import { numberText, percentageNumber } from '../json/exact-number.ts'
import { readPercentage } from '../tariffs/rate.ts'
import type { ScheduleEntryInput } from '../tariffs/read-tariff-terms.ts'
import { scheduleFrame, scheduleShape } from '../tariffs/tariff-schedule.ts'
import {
  baseFormat,
  componentFormat,
  deviceIdsFormat,
  energyPriceFormat,
  moneyFormat,
  optionalList,
  positiveMoneyFormat,
  prorationFormat,
  quantityFormat,
  selectionMembers,
  unitFormat,
} from './charge-formats.ts'
import { windowsFormat } from './charge-window.ts'
import { demandMembers } from './demand-members.ts'
import {
  choiceFormat,
  flagFormat,
  type Members,
  mapFormat,
  member,
  nullable,
  one,
  textFormat,
  type WireFormat,
  wholeNumberFormat,
  withDefault,
} from './wire-format.ts'

/** Terms of a USAGE charge whose schedule is not validated. */
type UsageInput = Omit<OwnTerms<UsageCharge>, 'schedule'> & { readonly schedule: readonly ScheduleEntryInput[] | null }

/** Terms of a limit; null for an amount that the request leaves out. */
type LimitInput = Omit<OwnTerms<LimitCharge>, 'amount' | 'perKwh'> &
  Readonly<Record<'amount' | 'perKwh', bigint | null>>

type Common = Pick<Charge, 'name' | 'component' | 'startDay' | 'endDay' | 'sequence'>
type InputOf<Kind, Terms> = Common & Terms & { readonly kind: Kind }

/** Charge of a request. `readChargeTerms` validates its terms. */
export type ChargeInput =
  | InputOf<'FIXED', OwnTerms<FixedCharge>>
  | InputOf<'USAGE', UsageInput>
  | InputOf<'DEMAND', OwnTerms<DemandCharge>>
  | InputOf<'SESSION', OwnTerms<SessionCharge>>
  | InputOf<'MINIMUM' | 'MAXIMUM', LimitInput>
  | InputOf<'PERCENTAGE', OwnTerms<PercentageCharge>>

const dayFormat: WireFormat<number> = { request: localDate, answer: dateText, write: writeDate }

const commonMembers = (kind: ChargeKind): Members<Common> => ({
  name: member('name', textFormat(255), 'Name of the line.'),
  component: member(
    'component',
    withDefault(componentFormat, defaultComponents[kind]),
    `Name that groups lines. Default: ${defaultComponents[kind]}.`,
  ),
  startDay: member('start_date', nullable(dayFormat), 'First local day. Default: open.'),
  endDay: member('end_date', nullable(dayFormat), 'Local day after the last one. Default: open.'),
  sequence: member(
    'sequence',
    withDefault(wholeNumberFormat(0, 999), defaultSequences[kind]),
    `Lines have this order. Limits and percentages read lines of lower sequence. Default: ${defaultSequences[kind]}.`,
  ),
})

const fixed: Members<OwnTerms<FixedCharge>> = {
  price: member('price', moneyFormat),
  per: member('per', withDefault(unitFormat, 'DAY'), 'Unit of time of the price. Default: DAY.'),
  quantity: member('quantity', withDefault(quantityFormat, one), 'Number of units that are paid. Default: 1.'),
  unit: member('unit', nullable(textFormat(64)), 'Name of the unit on the line.'),
  prorate: member(
    'prorate',
    prorationFormat,
    'DAYS bills each day its share. NONE bills the whole price on the first day of each unit. Default: DAYS.',
  ),
}

/** The schedule is read and written outside of its format. */
const scheduleFormat: WireFormat<readonly ScheduleEntryInput[]> = {
  // An empty list is an absent schedule.
  request: scheduleFrame.meta({ minItems: 0 }),
  answer: scheduleShape,
  write: schedule => schedule,
}

const usage: Members<UsageInput> = {
  ...selectionMembers,
  price: member('price', nullable(energyPriceFormat), 'Price per kWh. Set price or schedule.'),
  schedule: member('schedule', optionalList(scheduleFormat), 'Prices per kWh by time. A rate has fixed only.'),
}

const maxAfterMinutes = 366 * 24 * 60

const session: Members<OwnTerms<SessionCharge>> = {
  price: member('price', moneyFormat),
  per: member('per', withDefault(choiceFormat('SESSION', 'MINUTE'), 'SESSION'), 'Default: SESSION.'),
  while: member(
    'while',
    withDefault(choiceFormat('CONNECTED', 'IDLE'), 'CONNECTED'),
    'Minutes that are paid: of the whole session, or after its last energy. Default: CONNECTED.',
  ),
  afterMs: member(
    'after_minutes',
    withDefault(
      mapFormat(
        wholeNumberFormat(0, maxAfterMinutes),
        minutes => minutes * minuteMs,
        ms => ms / minuteMs,
      ),
      0,
    ),
    'Minutes without price at the start. Default: 0.',
  ),
  count: member(
    'count',
    withDefault(choiceFormat('EXACT', 'STARTED'), 'EXACT'),
    'STARTED bills each started minute as a whole one. Default: EXACT.',
  ),
  maxAmount: member('max_amount', nullable(positiveMoneyFormat), 'Maximum amount of a session.'),
  windows: member('windows', windowsFormat, 'Only minutes in these windows are paid. A weight is 0 or 1.'),
  deviceIds: member('device_ids', deviceIdsFormat, 'Only sessions of these devices. Default: all sessions.'),
}

const limit: Members<LimitInput> = {
  amount: member('amount', nullable(moneyFormat), 'Default with per_kwh: 0.'),
  per: member('per', withDefault(choiceFormat('PERIOD', 'DAY', 'MONTH', 'YEAR'), 'PERIOD'), 'Default: PERIOD.'),
  perKwh: member('per_kwh', nullable(energyPriceFormat), 'Added for each imported kWh. Default with amount: 0.'),
  base: member('base', baseFormat, 'Lines that the limit reads.'),
}

const fractionFormat: WireFormat<bigint> = {
  answer: seriesNumber,
  write: percentageNumber,
  request: jsonNumber
    .transform((value, context) => {
      const read = readPercentage(numberText(value), '')
      return read.ok ? read.value : refuseField(context, read.refusal.code, read.refusal.message.trim())
    })
    .meta({ type: 'number', minimum: -1, maximum: 5 }),
}

const percentage: Members<OwnTerms<PercentageCharge>> = {
  rate: member('rate', fractionFormat, 'A fraction, up to 15 decimals: 0.25 is 25 percent.'),
  base: member('base', baseFormat, 'Lines that the percentage reads.'),
  isTax: member('tax', withDefault(flagFormat, true), 'True: the line is a tax. Default: true.'),
}

const ownMembers = {
  FIXED: fixed,
  USAGE: usage,
  DEMAND: demandMembers,
  SESSION: session,
  MINIMUM: limit,
  MAXIMUM: limit,
  PERCENTAGE: percentage,
} as const satisfies Readonly<Record<ChargeKind, unknown>>

/** Members of the charges of a kind, without the kind, in the order of requests and answers. */
export const membersOf = (kind: ChargeKind): Members<Omit<ChargeInput, 'kind'>> => ({
  ...commonMembers(kind),
  ...ownMembers[kind],
})
