import { z } from 'zod'
import type { ChargeDay, ChargeWindow, ClockHours } from '../../domain/charge/charge.ts'
import { fullWeight } from '../../domain/charge/charge-window.ts'
import { formatTimeOfDay, parseTimeOfDay } from '../../domain/instant.ts'
import { dayNames, monthNames, secondsPerDay } from '../../domain/tariff/day-pattern.ts'
import type { Month } from '../../domain/tariff/tariff.ts'
import { refuseField } from '../field.ts'
import { dayTypeName } from '../tariffs/read-tariff-terms.ts'
import {
  choiceFormat,
  decimalFormat,
  listFormat,
  mapFormat,
  member,
  objectFormat,
  one,
  setFormat,
  type WireFormat,
  wholeNumberFormat,
  withDefault,
} from './wire-format.ts'

const namesOfDays: readonly string[] = [...dayNames, 'Weekdays', 'Weekend', 'All', 'Holidays']
const isChargeDay = (name: string): name is ChargeDay =>
  namesOfDays.includes(name) || (name.startsWith('#') && dayTypeName.test(name.slice(1)))

const dayFormat: WireFormat<ChargeDay> = {
  request: z
    .string()
    .transform((name, context) =>
      isChargeDay(name)
        ? name
        : refuseField(
            context,
            'charge_invalid',
            `must be one of ${namesOfDays.join(', ')}, or # and a day type of the calendar`,
          ),
    )
    .meta({ type: 'string', examples: ['Weekdays'] }),
  answer: z.string(),
  write: name => name,
}

const months = monthNames as readonly [Month, ...Month[]]

/** Set of months by their English names: Jan … Dec. */
export const monthSetFormat: WireFormat<readonly Month[]> = setFormat(choiceFormat(...months), months.length)

/** Months of a window. All, alone, is the same as no month. */
const windowMonths: WireFormat<readonly Month[]> = mapFormat<readonly (Month | 'All')[], readonly Month[]>(
  setFormat(choiceFormat(...months, 'All'), months.length),
  (names, context) => {
    if (names.includes('All') && names.length > 1)
      return refuseField(context, 'charge_invalid', 'must name All alone, or leave All out')
    return names.filter(name => name !== 'All')
  },
  names => names,
)

const clockFormat = (endOfDay: boolean): WireFormat<number> => ({
  request: z
    .string()
    .transform((text, context) => {
      const second = endOfDay && text === '24:00:00' ? 0 : parseTimeOfDay(text)
      if (second === undefined)
        return refuseField(context, 'charge_invalid', 'must be a time of day of the form HH:MM:SS')
      return endOfDay && second === 0 ? secondsPerDay : second
    })
    .meta({ type: 'string', examples: [endOfDay ? '20:00:00' : '08:00:00'] }),
  answer: z.string(),
  write: formatTimeOfDay,
})

const plainHours: WireFormat<ClockHours> = objectFormat('ChargeHours', {
  validFrom: member('valid_from', clockFormat(false)),
  validTo: member(
    'valid_to',
    clockFormat(true),
    '00:00:00 is the end of the day. A time before valid_from is on the next day.',
  ),
})

const hoursFormat: WireFormat<ClockHours> = mapFormat(
  plainHours,
  (hours, context) =>
    hours.validFrom === hours.validTo
      ? refuseField(context, 'charge_invalid', 'must differ from valid_from: write 00:00:00 twice for the whole day', [
          'valid_to',
        ])
      : hours,
  hours => hours,
)

const maxWindows = 50

const windowFormat: WireFormat<ChargeWindow> = objectFormat('ChargeWindow', {
  months: member('months', withDefault(windowMonths, []), 'Jan … Dec, or All. Default: All.'),
  dates: member(
    'dates',
    withDefault(setFormat(wholeNumberFormat(1, 31), 31), []),
    'Days of the month. Default: all days.',
  ),
  days: member(
    'days',
    withDefault(setFormat(dayFormat, 50), []),
    'Mon … Sun, Weekdays, Weekend, All, Holidays, or # and a day type of the calendar. Default: all days.',
  ),
  hours: member(
    'hours',
    withDefault(listFormat(hoursFormat, 50), []),
    'Hours of the local clock. Default: the whole day.',
  ),
  weight: member(
    'weight',
    withDefault(mapFormat(decimalFormat(0n, one), Number, BigInt), fullWeight),
    'Factor of the power of these times. Default: 1.',
  ),
})

/** Windows of a charge: the first one that contains an instant gives its weight. */
export const windowsFormat: WireFormat<readonly ChargeWindow[]> = withDefault(listFormat(windowFormat, maxWindows), [])
